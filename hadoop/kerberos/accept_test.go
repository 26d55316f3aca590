package kerberos

import (
	"errors"
	"testing"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/iana"
	"github.com/jcmturner/gokrb5/v8/iana/asnAppTag"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	gokeytab "github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/muster-project/muster/hadoop/sasl"
)

const home = "LAB.TEST"

// host plays a service: the server's half of a context, with gokrb5's reading of
// what arrives.
type host struct {
	name   name
	keys   *gokeytab.Keytab
	subkey bool // it makes a key of its own
	// spoil changes the reply before it is sealed.
	spoil func(*messages.EncAPRepPart)
}

func newHost(t testing.TB, kind int32, service ...string) *host {
	t.Helper()
	h := &host{name: name{parts: service, realm: home}, keys: gokeytab.New()}
	if err := h.keys.AddEntry(h.name.short(), home, "a password", time.Unix(1, 0), 1, kind); err != nil {
		t.Fatal(err)
	}
	return h
}

// admit gives alice a ticket for the service, as a KDC does.
func (h *host) admit(t testing.TB, l *Login, kind int32) {
	t.Helper()
	now := l.now()
	raw, key, err := messages.NewTicket(l.client.wire(), l.client.realm, h.name.wire(), home, types.NewKrbFlags(), h.keys, kind, 1, now, now, now.Add(time.Hour), now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if len(key.KeyValue) != keySizes[kind] { // gokrb5 makes too short a key at aes256-sha2
		t.Fatalf("a key of %d bytes", len(key.KeyValue))
	}
	l.services[h.name.String()] = &ticket{client: l.client, server: h.name, raw: raw, key: key, begin: now, end: now.Add(time.Hour)}
}

// stranger is a login that knows no KDC.
func stranger(t testing.TB) *Login {
	t.Helper()
	conf := &config{path: "krb5.conf", realm: home, tgt: etypes, service: etypes, kdcs: map[string][]string{}}
	l := &Login{conf: conf, keys: &keytab{path: "alice.keytab", entries: []keyEntry{entry("alice", 1, 18)}}, client: name{parts: []string{"alice"}, realm: home}, now: time.Now, turn: make(chan struct{}, 1), services: map[string]*ticket{}, doubted: map[string]bool{}}
	t.Cleanup(func() { l.Close() })
	return l
}

// accept reads a request and answers it.
func (h *host) accept(token []byte) (*securityContext, []byte, error) {
	kind, body, err := openToken(token)
	if err != nil || kind != tokenRequest {
		return nil, nil, errors.Join(err, errors.New("no request"))
	}
	var ap messages.APReq
	if err := ap.Unmarshal(body); err != nil {
		return nil, nil, err
	}
	sname := h.name.wire()
	if err := ap.Ticket.DecryptEncPart(h.keys, &sname); err != nil {
		return nil, nil, err
	}
	session := ap.Ticket.DecryptedEncPart.Key
	if err := ap.DecryptAuthenticator(session); err != nil {
		return nil, nil, err
	}
	a := ap.Authenticator
	c := &securityContext{key: a.SubKey, out: 99, in: uint64(a.SeqNumber)}
	part := messages.EncAPRepPart{CTime: a.CTime, Cusec: a.Cusec, SequenceNumber: 99}
	if h.subkey {
		part.Subkey = newKey(session.KeyType)
		c.key, c.byServer = part.Subkey, true
	}
	if h.spoil != nil {
		h.spoil(&part)
	}
	reply, err := sealReply(part, session)
	return c, reply, err
}

func sealReply(part messages.EncAPRepPart, session types.EncryptionKey) ([]byte, error) {
	plain, err := asn1.Marshal(part)
	if err != nil {
		return nil, err
	}
	sealed, err := encrypt(session, keyusage.AP_REP_ENCPART, asn1tools.AddASNAppTag(plain, asnAppTag.EncAPRepPart))
	if err != nil {
		return nil, err
	}
	rep, err := asn1.Marshal(messages.APRep{PVNO: iana.PVNO, MsgType: msgtype.KRB_AP_REP, EncPart: types.EncryptedData{EType: session.KeyType, Cipher: sealed}})
	return frameToken(tokenReply, asn1tools.AddASNAppTag(rep, asnAppTag.APREP)), err
}

// layer is the server's end of what was agreed.
func (c *securityContext) layer(level sasl.Protection) (*layer, error) {
	l, err := newLayer(c, level)
	if err == nil {
		l.acceptor = true
		err = l.limit(65536)
	}
	return l, err
}
