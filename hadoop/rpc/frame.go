package rpc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
)

// A frame is four bytes of big-endian length and then messages, each with its
// length as a varint in front.

// MaxFrame is the largest frame that is read or sent, in bytes: Hadoop's own
// default (ipc.maximum.data.length, ipc.maximum.response.length).
const MaxFrame = 128 << 20

// Call ids below zero are out of band.
const (
	callContext = -3
	callPing    = -4
	callSasl    = -33
)

// ErrProtocol is the identity of answers that break the protocol.
var ErrProtocol = errors.New("not Hadoop RPC")

// errTooLarge is told before anything of the request is sent.
var errTooLarge = errors.New("request larger than a server accepts")

// header makes the header in front of every request; outside ordinary calls the
// client id is empty and the retry count -1.
func header(call int32, client []byte, retry int32) *ipcpb.RpcRequestHeader {
	if client == nil {
		client = []byte{} // a required field
	}
	return &ipcpb.RpcRequestHeader{
		RpcKind: ipcpb.RpcKind_RPC_PROTOCOL_BUFFER.Enum(),
		RpcOp:   ipcpb.RpcRequestHeader_RPC_FINAL_PACKET.Enum(),
		CallId:  &call, ClientId: client, RetryCount: &retry,
	}
}

// frame puts messages into one frame.
func frame(messages ...proto.Message) ([]byte, error) {
	size := 4
	for _, m := range messages {
		size += protowire.SizeBytes(proto.Size(m))
	}
	if size > MaxFrame {
		return nil, errTooLarge
	}
	b := make([]byte, 4, size)
	for _, m := range messages {
		b = protowire.AppendVarint(b, uint64(proto.Size(m)))
		var err error
		if b, err = (proto.MarshalOptions{}).MarshalAppend(b, m); err != nil {
			return nil, err
		}
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b, nil
}

// readFrame reads one frame's body. Memory grows with what has arrived, not with
// what the length claims.
func readFrame(r io.Reader) ([]byte, error) {
	var n [4]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(n[:]))
	if size > MaxFrame {
		return nil, protocolError("a frame of %d bytes", size)
	}
	const trusted = 64 << 10
	if size <= trusted {
		b := make([]byte, size)
		_, err := io.ReadFull(r, b)
		return b, unexpected(err)
	}
	var b bytes.Buffer
	b.Grow(trusted)
	if _, err := io.CopyN(&b, r, size); err != nil {
		return nil, unexpected(err)
	}
	return b.Bytes(), nil
}

// unexpected is what an end inside a frame means.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// pop reads one message off the front of a frame's body.
func pop(b []byte, m proto.Message) ([]byte, error) {
	v, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return nil, protocolError("%w", protowire.ParseError(n))
	}
	if err := proto.Unmarshal(v, m); err != nil {
		return nil, protocolError("%w", err)
	}
	return b[n:], nil
}
