package kerberos

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"

	"github.com/muster-project/muster/hadoop/sasl"
)

// exchangeWith runs a whole exchange with a service that offers a mask of layers.
func exchangeWith(t *testing.T, h *host, kind int32, offer byte) (client sasl.Layer, server *layer, err error) {
	t.Helper()
	l := stranger(t)
	h.admit(t, l, kind)
	m, err := l.Service("nn/_HOST@"+home).Start(t.Context(), "Localhost:8020", "nn", "localhost")
	if err != nil {
		return nil, nil, err
	}
	request, err := m.Step(nil)
	if err != nil {
		return nil, nil, err
	}
	c, reply, err := h.accept(request)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := m.Step(reply)
	if err != nil {
		return nil, nil, err
	}
	if turn == nil || len(turn) != 0 {
		t.Errorf("the answer to the proof is %v, want an empty one", turn)
	}
	if _, err := m.Layer(); !errors.Is(err, ErrPeer) {
		t.Errorf("an exchange cut short: %v", err)
	}
	if server, err = c.layer(sasl.Integrity); err != nil {
		t.Fatal(err)
	}
	challenge, err := server.Wrap([]byte{offer, 1, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := m.Step(challenge)
	if err != nil {
		return nil, nil, err
	}
	pick, err := server.Unwrap(answer)
	if err != nil || len(pick) != 4 {
		t.Fatalf("%v, %v", pick, err)
	}
	for level, bit := range layers {
		if pick[0] == bit {
			server.level = level
		}
	}
	if _, err := m.Step(challenge); err == nil {
		t.Error("a challenge behind the end is answered")
	}
	client, err = m.Layer()
	return client, server, err
}

func TestMechanism(t *testing.T) {
	want := map[byte]sasl.Protection{1: sasl.Authentication, 2: sasl.Integrity, 3: sasl.Integrity, 4: sasl.Privacy, 7: sasl.Privacy}
	for _, kind := range []int32{17, 18, 19} {
		for offer, level := range want {
			for _, subkey := range []bool{false, true} {
				h := newHost(t, kind, "nn", "localhost")
				h.subkey = subkey
				client, server, err := exchangeWith(t, h, kind, offer)
				if err != nil {
					t.Fatal(err)
				}
				if client.Protection() != level || server.level != level {
					t.Errorf("offer %d: %v and %v, want %v", offer, client.Protection(), server.level, level)
				}
				if level == sasl.Authentication {
					continue
				}
				for _, text := range []string{"one", "two"} {
					token, err := client.Wrap([]byte(text))
					if err != nil {
						t.Fatal(err)
					}
					if got, err := server.Unwrap(token); err != nil || string(got) != text {
						t.Errorf("%q, %v", got, err)
					}
					token, _ = server.Wrap([]byte(text))
					if got, err := client.Unwrap(token); err != nil || string(got) != text {
						t.Errorf("%q, %v", got, err)
					}
				}
			}
		}
	}
}

func TestMechanismRefuses(t *testing.T) {
	if _, _, err := exchangeWith(t, newHost(t, 18, "nn", "localhost"), 18, 0); !errors.Is(err, sasl.ErrProtection) {
		t.Errorf("no layer at all: %v", err)
	}
	h := newHost(t, 18, "nn", "localhost")
	h.spoil = func(p *messages.EncAPRepPart) { p.Cusec++ }
	if _, _, err := exchangeWith(t, h, 18, 4); !errors.Is(err, ErrPeer) {
		t.Errorf("an answer to another request: %v", err)
	}
	h.spoil = func(p *messages.EncAPRepPart) { p.Subkey = newKey(17); p.Subkey.KeyValue = p.Subkey.KeyValue[:5] }
	if _, _, err := exchangeWith(t, h, 18, 4); !errors.Is(err, ErrPeer) {
		t.Errorf("a key of five bytes: %v", err)
	}
	h.spoil = func(p *messages.EncAPRepPart) { p.Subkey = newKey(17); p.Subkey.KeyType = 23 }
	if _, _, err := exchangeWith(t, h, 18, 4); !errors.Is(err, ErrEtype) {
		t.Errorf("a key of rc4: %v", err)
	}
}

// reply is what a server says in place of a proof.
func TestReply(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	c := &securityContext{service: name{parts: []string{"nn", "h"}, realm: home}, session: newKey(18), now: func() time.Time { return now }}
	for what, b := range map[string][]byte{
		"nothing": nil, "noise": []byte("noise"), "cut": {0x60, 0x7f}, "another mechanism": der(0x60, []byte{6, 3, 1, 2, 3}, []byte{2, 0}),
		"no message": frameToken(tokenReply, nil), "a request": frameToken(tokenRequest, nil), "an error that is none": frameToken(tokenError, []byte{1}),
		"another key": mustSeal(t, messages.EncAPRepPart{CTime: now}),
	} {
		if err := c.reply(b, "alice"); !errors.Is(err, ErrPeer) {
			t.Errorf("%s: %v", what, err)
		}
	}
	e := messages.NewKRBError(c.service.wire(), home, errorcode.KRB_AP_ERR_SKEW, "")
	e.STime = now.Add(-10 * time.Minute)
	b, err := e.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	err = c.reply(frameToken(tokenError, b), "alice@"+home)
	if !errors.Is(err, ErrSkew) || !strings.Contains(err.Error(), "this machine's clock is 10m0s ahead") {
		t.Errorf("skew: %v", err)
	}
}

func mustSeal(t *testing.T, p messages.EncAPRepPart) []byte {
	t.Helper()
	b, err := sealReply(p, newKey(18))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDER(t *testing.T) {
	for _, n := range []int{0, 1, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x10000} {
		body := bytes.Repeat([]byte{7}, n)
		kind, got, err := openToken(frameToken(0x1234, body))
		if err != nil || kind != 0x1234 || !bytes.Equal(got, body) {
			t.Errorf("%d bytes come back as %d, kind %x, %v", n, len(got), kind, err)
		}
	}
}
