package rpc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"net"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
	"github.com/muster-project/muster/hadoop/sasl"
)

// pipe carries frames over a connection, wrapped once a layer is on. One
// goroutine may write while another reads.
type pipe struct {
	nc      net.Conn
	in      *bufio.Reader
	out     *bufio.Writer
	address string
	layer   sasl.Layer // nil: frames go as they are
	plain   bytes.Buffer
}

func newPipe(nc net.Conn, address string) *pipe {
	return &pipe{nc: nc, in: bufio.NewReader(nc), out: bufio.NewWriter(nc), address: address}
}

// protect turns a layer on for everything that follows.
func (p *pipe) protect(l sasl.Layer) {
	if l != nil && l.Protection() > sasl.Authentication {
		p.layer = l
	}
}

// write buffers one frame, in as many wrapped pieces as the server's buffer asks
// for.
func (p *pipe) write(b []byte) error {
	if p.layer == nil {
		_, err := p.out.Write(b)
		return err
	}
	for len(b) > 0 {
		piece := b[:min(len(b), p.layer.Max())]
		b = b[len(piece):]
		wrapped, err := p.layer.Wrap(piece)
		if err != nil {
			return err
		}
		f, err := frame(header(callSasl, nil, -1), &ipcpb.RpcSasl{State: ipcpb.RpcSasl_WRAP.Enum(), Token: wrapped})
		if err != nil {
			return err
		}
		if _, err := p.out.Write(f); err != nil {
			return err
		}
	}
	return nil
}

func (p *pipe) flush() error { return p.out.Flush() }

// send writes one frame at once.
func (p *pipe) send(messages ...proto.Message) error {
	b, err := frame(messages...)
	if err != nil {
		return err
	}
	if err := p.write(b); err != nil {
		return err
	}
	return p.flush()
}

// read returns the body of the next frame.
func (p *pipe) read() ([]byte, error) {
	if p.layer == nil {
		return readFrame(p.in)
	}
	for {
		if b := p.plain.Bytes(); len(b) >= 4 {
			n := int64(binary.BigEndian.Uint32(b))
			if n > MaxFrame {
				return nil, protocolError("a frame of %d bytes", n)
			}
			if int64(len(b)) >= 4+n {
				return p.take()
			}
		}
		if err := p.unwrap(); err != nil {
			return nil, err
		}
	}
}

// take returns the first frame of the unwrapped bytes. Memory that a large answer
// needed is let go.
func (p *pipe) take() ([]byte, error) {
	b, err := readFrame(&p.plain)
	if p.plain.Len() == 0 && p.plain.Cap() > 1<<20 {
		p.plain = bytes.Buffer{}
	}
	return b, err
}

// unwrap takes one wrapped piece in; anything else is refused.
func (p *pipe) unwrap() error {
	s, err := p.readSasl()
	if err != nil {
		return err
	}
	if s.GetState() != ipcpb.RpcSasl_WRAP {
		return fmt.Errorf("%w: the server sent %v outside the agreed protection", sasl.ErrProtection, s.GetState())
	}
	b, err := p.layer.Unwrap(s.GetToken())
	if err != nil {
		return err
	}
	p.plain.Write(b)
	return nil
}

// readSasl reads an answer of the SASL exchange, or a wrapped piece.
func (p *pipe) readSasl() (*ipcpb.RpcSasl, error) {
	b, err := readFrame(p.in)
	if err != nil {
		return nil, err
	}
	var h ipcpb.RpcResponseHeader
	if b, err = pop(b, &h); err != nil {
		return nil, err
	}
	call := int32(h.GetCallId())
	if p.layer != nil && call != callSasl {
		return nil, fmt.Errorf("%w: the server sent an answer to call %d outside the agreed protection", sasl.ErrProtection, call)
	}
	if err := remote(&h, p.address); err != nil {
		return nil, err
	}
	if call != callSasl {
		return nil, protocolError("an answer to call %d inside the negotiation", call)
	}
	var s ipcpb.RpcSasl
	_, err = pop(b, &s)
	return &s, err
}
