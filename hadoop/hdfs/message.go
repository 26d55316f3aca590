package hdfs

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// maxMessage is the longest message that a DataNode may send: the answers to an
// operation and the acknowledgements of packets are some hundred bytes.
const maxMessage = 1 << 20

// appendMessage adds a message behind its length.
func appendMessage(b []byte, m proto.Message) ([]byte, error) {
	p, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	return protowire.AppendBytes(b, p), nil
}

// readMessage reads a message behind its length.
func readMessage(r *bufio.Reader, m proto.Message) error {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return err
	}
	if n > maxMessage {
		return fmt.Errorf("a message of %d bytes is too long: this is no DataNode, or it wants SASL", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return unexpected(err)
	}
	return proto.Unmarshal(b, m)
}

// unexpected is an end of the stream inside a message.
func unexpected(err error) error {
	if err == io.EOF { //nolint:errorlint // io.ReadFull gives the bare one
		return io.ErrUnexpectedEOF
	}
	return err
}
