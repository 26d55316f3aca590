package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"
)

// A frame is four bytes of length, big endian, and as many bytes of one
// protobuf message: pb.Up towards the coordinator, pb.Down towards the executor.
const head = 4

// trusted is how much memory a length alone may cost before its bytes arrive.
const trusted = 64 << 10

// encode gives m as a frame, or ErrTooLarge.
func encode(m proto.Message, limit int) ([]byte, error) {
	size := proto.Size(m)
	if size > limit {
		return nil, fmt.Errorf("frame: %d bytes, the limit is %d: %w", size, limit, ErrTooLarge)
	}
	frame := make([]byte, head, head+size)
	frame, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(frame, m)
	if err != nil {
		return nil, fmt.Errorf("frame: %w", err)
	}
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-head)) // bounded by limit above
	return frame, nil
}

// decode reads one frame into m. io.EOF means that the peer ended between two
// frames, which is the orderly way. A peer that announces much and sends little
// costs little: beyond trusted, memory grows with what has arrived.
func decode(r io.Reader, m proto.Message, limit int) error {
	var length [head]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return err
	}
	size := int64(binary.BigEndian.Uint32(length[:]))
	if size > int64(limit) {
		return fmt.Errorf("frame: %d bytes announced, the limit is %d: %w", size, limit, ErrTooLarge)
	}
	body, err := take(r, size)
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(body, m); err != nil {
		return fmt.Errorf("frame: %w: %w", ErrGarbage, err)
	}
	return nil
}

func take(r io.Reader, size int64) ([]byte, error) {
	if size <= trusted {
		body := make([]byte, size)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, torn(err)
		}
		return body, nil
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r, size); err != nil {
		return nil, torn(err)
	}
	return b.Bytes(), nil
}

// torn says that an end inside a frame is not an orderly one.
func torn(err error) error {
	if err == io.EOF { //nolint:errorlint // readers return io.EOF itself
		return io.ErrUnexpectedEOF
	}
	return err
}
