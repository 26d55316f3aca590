package kerberos

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/sasl"
)

// daemon is a server of Hadoop's RPC for one connection: it takes callers by
// Kerberos and answers each call with a token of kind "hi".
type daemon struct {
	t     *testing.T
	host  *host
	offer byte
	bare  bool // it answers outside of what was agreed
	in    *bufio.Reader
	out   net.Conn
	layer *layer
}

func (d *daemon) serve(nc net.Conn) {
	defer nc.Close()
	d.in, d.out = bufio.NewReader(nc), nc
	if err := d.run(); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.ErrUnexpectedEOF) {
		d.t.Logf("the daemon ends: %v", err)
	}
}

// frame reads one frame's messages.
func (d *daemon) frame(from io.Reader, messages ...proto.Message) error {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return err
	}
	body := bufio.NewReader(io.LimitReader(from, int64(binary.BigEndian.Uint32(size[:]))))
	for _, m := range messages {
		if err := protodelim.UnmarshalFrom(body, m); err != nil {
			return err
		}
	}
	_, err := io.Copy(io.Discard, body)
	return err
}

func bytesOf(messages ...proto.Message) []byte {
	var b []byte
	for _, m := range messages {
		x, _ := proto.Marshal(m)
		b = append(binary.AppendUvarint(b, uint64(len(x))), x...)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

func (d *daemon) sasl(state ipcpb.RpcSasl_State, token []byte, auths ...*ipcpb.RpcSasl_Auth) error {
	id := int32(-33)
	_, err := d.out.Write(bytesOf(
		&ipcpb.RpcResponseHeader{CallId: proto.Uint32(uint32(id)), Status: ipcpb.RpcResponseHeader_SUCCESS.Enum()},
		&ipcpb.RpcSasl{State: state.Enum(), Token: token, Auths: auths}))
	return err
}

// step reads what the client says inside the exchange.
func (d *daemon) step() (*ipcpb.RpcSasl, error) {
	var h ipcpb.RpcRequestHeader
	var s ipcpb.RpcSasl
	err := d.frame(d.in, &h, &s)
	return &s, err
}

func (d *daemon) run() error {
	if _, err := io.ReadFull(d.in, make([]byte, 7)); err != nil {
		return err
	}
	if _, err := d.step(); err != nil {
		return err
	}
	auth := &ipcpb.RpcSasl_Auth{Method: proto.String("KERBEROS"), Mechanism: proto.String("GSSAPI"), Protocol: proto.String("nn"), ServerId: proto.String("localhost")}
	if err := d.sasl(ipcpb.RpcSasl_NEGOTIATE, nil, auth); err != nil {
		return err
	}
	s, err := d.step()
	if err != nil {
		return err
	}
	c, reply, err := d.host.accept(s.GetToken())
	if err != nil {
		return err
	}
	if err := d.sasl(ipcpb.RpcSasl_CHALLENGE, reply); err != nil {
		return err
	}
	if s, err = d.step(); err != nil || s.Token == nil {
		return errors.Join(err, errors.New("the client sent no token"))
	}
	if d.layer, err = c.layer(sasl.Integrity); err != nil {
		return err
	}
	challenge, err := d.layer.Wrap([]byte{d.offer, 1, 0, 0})
	if err != nil {
		return err
	}
	if err := d.sasl(ipcpb.RpcSasl_CHALLENGE, challenge); err != nil {
		return err
	}
	if s, err = d.step(); err != nil {
		return err
	}
	pick, err := d.layer.Unwrap(s.GetToken())
	if err != nil {
		return err
	}
	for level, bit := range layers {
		if pick[0] == bit {
			d.layer.level = level
		}
	}
	if err := d.sasl(ipcpb.RpcSasl_SUCCESS, nil); err != nil {
		return err
	}
	return d.calls()
}

// calls answers; the first frame is the connection's context.
func (d *daemon) calls() error {
	pr, pw := io.Pipe()
	defer pr.Close()
	var from io.Reader = d.in
	if d.layer.level > sasl.Authentication {
		from = pr
		d.t.Cleanup(func() { pw.Close() })
		go func() { pw.CloseWithError(d.unwrap(pw)) }()
	}
	if err := d.frame(from); err != nil {
		return err
	}
	for {
		var h ipcpb.RpcRequestHeader
		if err := d.frame(from, &h); err != nil {
			return err
		}
		answer := bytesOf(
			&ipcpb.RpcResponseHeader{CallId: proto.Uint32(uint32(h.GetCallId())), Status: ipcpb.RpcResponseHeader_SUCCESS.Enum()},
			&ipcpb.GetDelegationTokenResponse{Token: &ipcpb.Token{Identifier: []byte{}, Password: []byte{}, Kind: proto.String("hi"), Service: proto.String("")}})
		if d.layer.level == sasl.Authentication || d.bare {
			if _, err := d.out.Write(answer); err != nil {
				return err
			}
			continue
		}
		wrapped, err := d.layer.Wrap(answer)
		if err != nil {
			return err
		}
		if err := d.sasl(ipcpb.RpcSasl_WRAP, wrapped); err != nil {
			return err
		}
	}
}

func (d *daemon) unwrap(into io.Writer) error {
	for {
		s, err := d.step()
		if err != nil {
			return err
		}
		plain, err := d.layer.Unwrap(s.GetToken())
		if err != nil {
			return err
		}
		if _, err := into.Write(plain); err != nil {
			return err
		}
	}
}

// caller calls a daemon once over a connection of its own.
func caller(t *testing.T, d *daemon, least sasl.Protection) (string, error) {
	t.Helper()
	d.t, d.host = t, newHost(t, 18, "nn", "localhost")
	l := stranger(t)
	d.host.admit(t, l, 18)
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	go func() { defer close(done); d.serve(theirs) }()
	c := rpc.New(rpc.Config{
		Addresses: []string{"localhost:8020"}, Protocol: "x", Least: least, Retry: rpc.Never,
		Auth: func(context.Context) (rpc.Auth, error) {
			return rpc.Auth{Kerberos: l.Service("nn/_HOST@" + home)}, nil
		},
		Dial: func(context.Context, string, string) (net.Conn, error) { return ours, nil },
	})
	var out ipcpb.GetDelegationTokenResponse
	err := c.Call(t.Context(), "getDelegationToken", &ipcpb.GetDelegationTokenRequest{Renewer: proto.String("x")}, &out)
	c.Close()
	<-done
	return out.GetToken().GetKind(), err
}

// A call goes through at each level; a server that answers outside of what was
// agreed, or offers less than is wanted, is refused.
func TestCallsByKerberos(t *testing.T) {
	for offer, level := range map[byte]sasl.Protection{1: sasl.Authentication, 2: sasl.Integrity, 7: sasl.Privacy} {
		d := &daemon{offer: offer}
		if got, err := caller(t, d, level); got != "hi" || err != nil || d.layer.level != level {
			t.Errorf("%v: %q, %v, agreed on %v", level, got, err, d.layer.level)
		}
		if level == sasl.Authentication {
			continue
		}
		if got, err := caller(t, &daemon{offer: offer, bare: true}, level); !errors.Is(err, sasl.ErrProtection) {
			t.Errorf("%v: an unwrapped answer: %q, %v", level, got, err)
		}
		if got, err := caller(t, &daemon{offer: offer >> 1 & 3}, level); !errors.Is(err, sasl.ErrProtection) {
			t.Errorf("%v: less is offered: %q, %v", level, got, err)
		}
	}
}
