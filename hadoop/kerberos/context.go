package kerberos

import (
	"bytes"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// mechOID is Kerberos 5 as GSSAPI names it, in DER.
var mechOID = []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02}

// Kinds of tokens, which follow the name of the mechanism.
const (
	tokenRequest = 0x0100
	tokenReply   = 0x0200
	tokenError   = 0x0300
)

// What we ask of a context (RFC 4121, 4.1.1.1): each side proves itself, and
// what is wrapped cannot be repeated, reordered, changed or read.
const contextFlags = 2 | 4 | 8 | 16 | 32

// securityContext is the client's half of a GSSAPI context (RFC 4121): a request
// goes out, the server's reply is checked, keys and numbers are left.
type securityContext struct {
	service name
	session types.EncryptionKey // of the ticket
	stamp   time.Time           // which the server must repeat
	now     func() time.Time
	proven  func() // is told that the server has proven itself; may be nil

	key      types.EncryptionKey // what is wrapped with: ours, made for this context, or the server's
	byServer bool                // it is the server's
	out, in  uint64              // numbers of the next token each way
}

// request begins a context. A key of its own makes tokens of other contexts,
// even with the same ticket, worthless here.
func (x *exchange) request(t *ticket) (*securityContext, []byte, error) {
	auth := x.authenticator()
	auth.SubKey = newKey(t.key.KeyType)
	sum := binary.LittleEndian.AppendUint32(nil, 16)
	sum = append(sum, make([]byte, 16)...) // bindings to a channel: none
	sum = binary.LittleEndian.AppendUint32(sum, contextFlags)
	auth.Cksum = types.Checksum{CksumType: chksumtype.GSSAPI, Checksum: sum}
	ap, err := messages.NewAPReq(t.raw, t.key, auth)
	if err != nil {
		return nil, nil, err
	}
	types.SetFlag(&ap.APOptions, flags.APOptionMutualRequired)
	b, err := ap.Marshal()
	if err != nil {
		return nil, nil, err
	}
	c := &securityContext{service: t.server, session: t.key, key: auth.SubKey, now: x.now,
		stamp: auth.CTime.Truncate(time.Second).Add(time.Duration(auth.Cusec) * time.Microsecond), out: uint64(auth.SeqNumber)}
	return c, frameToken(tokenRequest, b), nil
}

// reply checks the server's proof.
func (c *securityContext) reply(token []byte, client string) error {
	bad := func(err error) error { return &Problem{Thing: c.service.String(), Kind: ErrPeer, Cause: err} }
	kind, body, err := openToken(token)
	if err != nil {
		return bad(err)
	}
	if kind == tokenError {
		var e messages.KRBError
		if err := e.Unmarshal(body); err != nil {
			return bad(err)
		}
		return refusal(e, client, c.service.String(), "the server", c.now())
	}
	var rep messages.APRep
	if kind != tokenReply {
		return bad(fmt.Errorf("a token of kind %#04x", kind))
	}
	if err := rep.Unmarshal(body); err != nil {
		return bad(err)
	}
	plain, err := decrypt(c.session, keyusage.AP_REP_ENCPART, rep.EncPart.Cipher)
	if err != nil {
		return bad(err)
	}
	var part messages.EncAPRepPart
	if err := part.Unmarshal(plain); err != nil {
		return bad(err)
	}
	if !part.CTime.Add(time.Duration(part.Cusec) * time.Microsecond).Equal(c.stamp) {
		return bad(errors.New("its answer is to another request"))
	}
	if part.Subkey.KeyType != 0 {
		if _, err := cipher(part.Subkey); err != nil {
			return bad(err)
		}
		c.key, c.byServer = part.Subkey, true
	}
	c.in = uint64(uint32(part.SequenceNumber))
	if c.proven != nil {
		c.proven()
	}
	return nil
}

// frameToken puts a message into the form that RFC 2743, 3.1, asks for.
func frameToken(kind uint16, body []byte) []byte {
	inner := binary.BigEndian.AppendUint16(bytes.Clone(mechOID), kind)
	return der(0x60, append(inner, body...))
}

// openToken takes it apart again.
func openToken(b []byte) (kind uint16, body []byte, err error) {
	var v asn1.RawValue
	rest, err := asn1.Unmarshal(b, &v)
	if err != nil || len(rest) > 0 || len(v.FullBytes) == 0 || v.FullBytes[0] != 0x60 {
		return 0, nil, errors.New("not a GSSAPI token")
	}
	body, ok := bytes.CutPrefix(v.Bytes, mechOID)
	if !ok || len(body) < 2 {
		return 0, nil, errors.New("a GSSAPI token that is not Kerberos")
	}
	return binary.BigEndian.Uint16(body), body[2:], nil
}

// der is one value of DER: tag, length, content.
func der(tag byte, parts ...[]byte) []byte {
	content := bytes.Join(parts, nil)
	out := []byte{tag}
	switch n := len(content); {
	case n < 0x80:
		out = append(out, byte(n))
	case n < 0x100:
		out = append(out, 0x81, byte(n))
	case n < 0x10000:
		out = append(out, 0x82, byte(n>>8), byte(n))
	default:
		out = append(out, 0x83, byte(n>>16), byte(n>>8), byte(n))
	}
	return append(out, content...)
}
