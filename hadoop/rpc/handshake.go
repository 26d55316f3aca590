package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
	"github.com/muster-project/muster/hadoop/sasl"
)

// The seven bytes that a connection begins with: magic, version, service class,
// and whether SASL follows.
const (
	authNone = 0x00
	authSasl = 0xdf // -33
)

func preamble(auth byte) []byte { return []byte{'h', 'r', 'p', 'c', 9, 0, auth} }

// handshake proves who calls and sends the connection context. It ends early
// when ctx does.
func handshake(ctx context.Context, nc net.Conn, address, protocol string, clientID []byte, a Auth, least sasl.Protection) (*pipe, error) {
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	p, err := shake(ctx, nc, address, protocol, clientID, a, least)
	if !stop() && err == nil {
		err = ctx.Err() // the deadline may be set by now
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return p, err
}

func shake(ctx context.Context, nc net.Conn, address, protocol string, clientID []byte, a Auth, least sasl.Protection) (*pipe, error) {
	if a.Token == nil && a.Kerberos == nil && a.User == "" {
		return nil, &setupError{errors.New("there is neither user nor token to call with")}
	}
	p := newPipe(nc, address)
	method, proof := methodSimple, byte(authNone)
	if a.Token != nil || a.Kerberos != nil {
		proof = authSasl
	}
	if _, err := p.out.Write(preamble(proof)); err != nil {
		return nil, err
	}
	if proof == authSasl {
		x := &exchange{
			address: address, auth: a, least: least,
			send:    func(s *ipcpb.RpcSasl) error { return p.send(header(callSasl, nil, -1), s) },
			receive: p.readSasl,
		}
		var layer sasl.Layer
		var err error
		if method, layer, err = x.run(ctx); err != nil {
			return nil, fmt.Errorf("authentication: %w", err)
		}
		p.protect(layer)
	}
	return p, p.send(header(callContext, clientID, -1), connectionContext(method, protocol, a))
}

// connectionContext tells for whom calls are made. A token names its own owner,
// and claiming another is refused, so there the user is left out.
func connectionContext(method, protocol string, a Auth) proto.Message {
	c := &ipcpb.IpcConnectionContext{Protocol: &protocol}
	if method == methodToken {
		return c
	}
	user := a.User
	if user == "" && a.Kerberos != nil {
		user = a.Kerberos.Principal()
	}
	c.UserInfo = &ipcpb.UserInformation{EffectiveUser: &user}
	if a.RealUser != "" {
		c.UserInfo.RealUser = &a.RealUser
	}
	return c
}
