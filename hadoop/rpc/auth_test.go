package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/muster-project/muster/hadoop/sasl"
	"github.com/muster-project/muster/hadoop/token"
)

var (
	bobs   = &token.Token{Identifier: []byte("bob's"), Password: []byte("secret"), Kind: "RM_DELEGATION_TOKEN"}
	stolen = &token.Token{Identifier: []byte("bob's"), Password: []byte("guess"), Kind: "RM_DELEGATION_TOKEN"}
)

const allCiphers = "3des,rc4,des,rc4-56,rc4-40"

func TestToken(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 4600) // 72 KiB: more than one piece
	tests := []struct {
		name, qop, cipher string
		want              sasl.Protection
	}{
		{"auth", "auth", "", sasl.Authentication},
		{"no qop at all", "", "", sasl.Authentication},
		{"auth-int", "auth-int", "", sasl.Integrity},
		{"auth-conf by rc4", "auth-conf", allCiphers, sasl.Privacy},
		{"auth-conf by 3des", "auth-conf", "3des,des", sasl.Privacy},
		{"the strongest of all", "auth,auth-int,auth-conf", allCiphers, sasl.Privacy},
		{"the strongest that has a cipher", "auth,auth-int,auth-conf", "des", sasl.Integrity},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNetwork(t)
			s := n.set("a:1", &server{auths: []string{"TOKEN DIGEST-MD5", "KERBEROS GSSAPI"}, token: bobs, qop: tt.qop, cipher: tt.cipher})
			c := client(t, n, Config{Addresses: []string{"a:1"}, Retry: Never, Auth: as(Auth{User: "bob", Token: bobs})})
			for _, text := range []string{"hello", "", long} {
				if got, err := ask(t.Context(), c.Call, text); err != nil || got != "echo "+text {
					t.Fatalf("%d bytes: got %d, %v", len(text), len(got), err)
				}
			}
			if x := s.contexts[0]; x.UserInfo != nil {
				t.Errorf("a token's connection claims to be %v", x.UserInfo)
			}
			got := sasl.Authentication
			if l := c.live.p.layer; l != nil {
				got = l.Protection()
			}
			if got != tt.want {
				t.Errorf("protection %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAuthentication(t *testing.T) {
	digest := []string{"TOKEN DIGEST-MD5"}
	tests := []struct {
		name   string
		server *server
		auth   Auth
		least  sasl.Protection
		is     error // nil: it must work
		says   string
	}{
		{name: "simple", server: &server{simple: true}, auth: Auth{User: "bob"}},
		{name: "nobody", server: &server{simple: true}, says: "neither user nor token"},
		{name: "simple where a token is wanted", server: &server{auths: digest, token: bobs}, auth: Auth{User: "bob"}, is: AccessControl, says: "Available:[TOKEN]"},
		{name: "wrong password", server: &server{auths: digest, token: bobs, qop: "auth"}, auth: Auth{Token: stolen}, is: InvalidToken, says: "can't be found"},
		{name: "a server that does not know the password", server: &server{auths: digest, token: bobs, qop: "auth", liar: true}, auth: Auth{Token: bobs}, is: sasl.ErrDigest, says: "does not know"},
		{name: "another mechanism", server: &server{auths: []string{"TOKEN SCRAM-SHA-256", "KERBEROS GSSAPI"}}, auth: Auth{Token: bobs}, is: ErrNoMethod, says: "the server offers TOKEN by SCRAM-SHA-256, KERBEROS by GSSAPI; there is a token of kind RM_DELEGATION_TOKEN"},
		{name: "a server that wants no proof", server: &server{}, auth: Auth{User: "bob", Token: bobs}, is: ErrNoMethod, says: "not allowed"},
		{name: "a server that wants no proof, allowed", server: &server{}, auth: Auth{User: "bob", Token: bobs, Fallback: true}},
		{name: "simple among others", server: &server{auths: []string{"KERBEROS GSSAPI", "SIMPLE "}}, auth: Auth{User: "bob", Token: bobs}, is: ErrNoMethod, says: "KERBEROS by GSSAPI, SIMPLE"},
		{name: "simple among others, allowed", server: &server{auths: []string{"KERBEROS GSSAPI", "SIMPLE "}}, auth: Auth{User: "bob", Token: bobs, Fallback: true}},
		{name: "too weak", server: &server{auths: digest, token: bobs, qop: "auth-int"}, auth: Auth{Token: bobs}, least: sasl.Privacy, is: sasl.ErrProtection, says: "offers auth-int"},
		{name: "just enough", server: &server{auths: digest, token: bobs, qop: "auth-int"}, auth: Auth{Token: bobs}, least: sasl.Integrity},
		{name: "an answer outside integrity", server: &server{auths: digest, token: bobs, qop: "auth-int", bare: true}, auth: Auth{Token: bobs}, is: sasl.ErrProtection, says: "outside the agreed protection"},
		{name: "an answer outside privacy", server: &server{auths: digest, token: bobs, qop: "auth-conf", cipher: "rc4", bare: true}, auth: Auth{Token: bobs}, is: sasl.ErrProtection, says: "outside the agreed protection"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNetwork(t)
			s := n.set("a:1", tt.server)
			c := client(t, n, Config{Addresses: []string{"a:1"}, Least: tt.least, Auth: as(tt.auth)})
			got, err := ask(t.Context(), c.Call, "x")
			if tt.is == nil && tt.says == "" {
				if err != nil || got != "echo x" {
					t.Errorf("got %q, %v", got, err)
				}
				return
			}
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %v with %q", err, tt.is, tt.says)
			}
			if conns, _ := s.counts(); conns > 1 {
				t.Errorf("%d connections: what cannot work was repeated", conns)
			}
		})
	}
}

// mute is a Kerberos without a ticket.
type mute struct{}

func (mute) Start(_ context.Context, address, protocol, id string) (sasl.Mechanism, error) {
	if address != "a:1" || protocol != "" || id != "default" {
		return nil, errors.New("not as the server says")
	}
	return nil, errors.New("no ticket")
}
func (mute) Principal() string { return "bob@REALM" }

func TestKerberosHasItsPlace(t *testing.T) {
	n := newNetwork(t)
	n.set("a:1", &server{auths: []string{"TOKEN DIGEST-MD5", "KERBEROS GSSAPI"}})
	c := client(t, n, Config{Addresses: []string{"a:1"}, Retry: Never, Auth: as(Auth{Kerberos: mute{}})})
	if _, err := ask(t.Context(), c.Call, "x"); err == nil || !strings.Contains(err.Error(), "no ticket") {
		t.Errorf("got %v", err)
	}
}

// What is not Hadoop RPC is told as such, and not repeated for a minute.
func TestNonsense(t *testing.T) {
	tests := []struct {
		name  string
		greet func(io.Writer)
	}{
		{"http", func(w io.Writer) { io.WriteString(w, "HTTP/1.1 400 Bad Request\r\n\r\n") }},
		{"an endless frame", func(w io.Writer) { w.Write([]byte{0xff, 0xff, 0xff, 0xff}) }},
		{"an empty frame", func(w io.Writer) { w.Write([]byte{0, 0, 0, 0}) }},
		{"a message cut short", func(w io.Writer) { w.Write([]byte{0, 0, 0, 2, 9, 8}) }},
		{"no message", func(w io.Writer) { w.Write(binary.BigEndian.AppendUint32(nil, 1)); w.Write([]byte{0}) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNetwork(t)
			n.set("a:1", &server{simple: true, greet: tt.greet, answer: func(call) (string, error) { return "", errSilence }})
			c := client(t, n, Config{Addresses: []string{"a:1"}})
			if _, err := ask(t.Context(), c.Call, "x"); !errors.Is(err, ErrProtocol) {
				t.Errorf("got %v, want %v", err, ErrProtocol)
			}
		})
	}
}
