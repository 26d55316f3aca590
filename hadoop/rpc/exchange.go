package rpc

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
	"github.com/muster-project/muster/hadoop/sasl"
	"github.com/muster-project/muster/hadoop/token"
)

// The methods of Hadoop's SASL exchange.
const (
	methodSimple   = "SIMPLE"
	methodToken    = "TOKEN"
	methodKerberos = "KERBEROS"
)

// ErrNoMethod says that a server takes none of the proofs that there are.
var ErrNoMethod = errors.New("no common way to prove who calls")

// maxRounds bounds an exchange; real ones have two or three.
const maxRounds = 16

// exchange is one SASL negotiation over a fresh connection.
type exchange struct {
	address string
	auth    Auth
	least   sasl.Protection
	send    func(*ipcpb.RpcSasl) error
	receive func() (*ipcpb.RpcSasl, error)
}

// run negotiates and returns the method that was agreed and the layer, nil for
// SIMPLE.
func (x *exchange) run(ctx context.Context) (method string, layer sasl.Layer, err error) {
	if err := x.send(&ipcpb.RpcSasl{State: ipcpb.RpcSasl_NEGOTIATE.Enum()}); err != nil {
		return "", nil, err
	}
	s, err := x.receive()
	if err != nil {
		return "", nil, err
	}
	switch s.GetState() {
	case ipcpb.RpcSasl_SUCCESS: // the server wants no proof
		return methodSimple, nil, x.fallback("SIMPLE alone")
	case ipcpb.RpcSasl_NEGOTIATE:
	default:
		return "", nil, protocolError("%v where an offer is wanted", s.GetState())
	}
	offer, mech, err := x.choose(ctx, s.GetAuths())
	if err != nil {
		return "", nil, err
	}
	var answer []byte
	if mech != nil {
		if answer, err = mech.Step(offer.GetChallenge()); err != nil {
			return "", nil, &proofError{err}
		}
	}
	// The server compares the echo with what it offered, less the challenge.
	echo := &ipcpb.RpcSasl_Auth{Method: offer.Method, Mechanism: offer.Mechanism, Protocol: offer.Protocol, ServerId: offer.ServerId}
	if err := x.send(&ipcpb.RpcSasl{State: ipcpb.RpcSasl_INITIATE.Enum(), Token: answer, Auths: []*ipcpb.RpcSasl_Auth{echo}}); err != nil {
		return "", nil, err
	}
	if mech == nil {
		return methodSimple, nil, nil // nothing more is sent for SIMPLE
	}
	layer, err = x.finish(mech)
	return offer.GetMethod(), layer, err
}

// choose picks a method: token, then Kerberos, then nothing where that is
// allowed. A nil mechanism is SIMPLE.
func (x *exchange) choose(ctx context.Context, offers []*ipcpb.RpcSasl_Auth) (*ipcpb.RpcSasl_Auth, sasl.Mechanism, error) {
	find := func(method, mechanism string) *ipcpb.RpcSasl_Auth {
		for _, o := range offers {
			if o.GetMethod() == method && (mechanism == "" || o.GetMechanism() == mechanism) {
				return o
			}
		}
		return nil
	}
	if o := find(methodToken, sasl.DigestMD5); o != nil && x.auth.Token != nil {
		return o, digest(x.auth.Token, o, x.least).Start(), nil
	}
	if o := find(methodKerberos, "GSSAPI"); o != nil && x.auth.Kerberos != nil {
		m, err := x.auth.Kerberos.Start(ctx, x.address, o.GetProtocol(), o.GetServerId())
		if err != nil {
			return nil, nil, &proofError{err}
		}
		return o, m, nil
	}
	if o := find(methodSimple, ""); o != nil {
		if err := x.fallback(offered(offers)); err != nil {
			return nil, nil, err
		}
		return o, nil, nil
	}
	return nil, nil, fmt.Errorf("%w: the server offers %s; there is %s", ErrNoMethod, offered(offers), x.have())
}

// fallback tells whether it may go without proof.
func (x *exchange) fallback(offers string) error {
	if x.auth.Fallback || x.auth.Token == nil && x.auth.Kerberos == nil {
		return nil
	}
	return fmt.Errorf("%w: the server offers %s; there is %s, and going without proof is not allowed", ErrNoMethod, offers, x.have())
}

// digest is how a token is proven: its identifier is the user's name and its
// password the user's, both in base64.
func digest(t *token.Token, o *ipcpb.RpcSasl_Auth, least sasl.Protection) sasl.Digest {
	return sasl.Digest{
		User:     base64.StdEncoding.EncodeToString(t.Identifier),
		Password: base64.StdEncoding.EncodeToString(t.Password),
		URI:      o.GetProtocol() + "/" + o.GetServerId(),
		Least:    least,
	}
}

func (x *exchange) have() string {
	var parts []string
	if x.auth.Token != nil {
		parts = append(parts, "a token of kind "+x.auth.Token.Kind)
	}
	if x.auth.Kerberos != nil {
		parts = append(parts, "Kerberos")
	}
	if len(parts) == 0 {
		return "neither token nor Kerberos"
	}
	return strings.Join(parts, " and ")
}

func offered(offers []*ipcpb.RpcSasl_Auth) string {
	var parts []string
	for _, o := range offers {
		name := o.GetMethod()
		if o.GetMechanism() != "" && o.GetMechanism() != name {
			name += " by " + o.GetMechanism()
		}
		parts = append(parts, name)
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// finish answers challenges until the server is content and so are we.
func (x *exchange) finish(mech sasl.Mechanism) (sasl.Layer, error) {
	for range maxRounds {
		s, err := x.receive()
		if err != nil {
			return nil, err
		}
		switch s.GetState() {
		case ipcpb.RpcSasl_CHALLENGE:
			answer, err := mech.Step(s.GetToken())
			if err != nil {
				return nil, &proofError{err}
			}
			if err := x.send(&ipcpb.RpcSasl{State: ipcpb.RpcSasl_RESPONSE.Enum(), Token: answer}); err != nil {
				return nil, err
			}
		case ipcpb.RpcSasl_SUCCESS:
			return x.agreed(mech, s.Token)
		default:
			return nil, protocolError("%v inside an exchange", s.GetState())
		}
	}
	return nil, protocolError("an exchange of more than %d rounds", maxRounds)
}

// agreed checks the server's last word, which may carry its own proof.
func (x *exchange) agreed(mech sasl.Mechanism, last []byte) (sasl.Layer, error) {
	if last != nil {
		if _, err := mech.Step(last); err != nil {
			return nil, &proofError{err}
		}
	}
	layer, err := mech.Layer()
	if err != nil {
		return nil, &proofError{err}
	}
	if layer.Protection() < x.least {
		return nil, fmt.Errorf("%w: %v was agreed, %v is the least allowed", sasl.ErrProtection, layer.Protection(), x.least)
	}
	return layer, nil
}
