package yarn

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/kerberos"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/sasl"
)

// What a service says of who calls is told with what can be done about it.
func TestDenied(t *testing.T) {
	read := func(values ...string) *conf.Conf {
		var b strings.Builder
		b.WriteString("<configuration>")
		for i := 0; i < len(values); i += 2 {
			fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", values[i], values[i+1])
		}
		b.WriteString("</configuration>")
		c, err := conf.Read("core-site.xml", strings.NewReader(b.String()), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	simple, proven := read(), read(keyAuth, "kerberos", keyProtection, "privacy")
	said := func(class rpc.Exception, text string) error {
		return &rpc.RemoteError{Class: string(class), Message: text, Address: "rm:8032"}
	}
	var out strings.Builder
	for _, c := range []struct {
		name string
		conf *conf.Conf
		err  error
		is   error
	}{
		{"no proxy", proven, said(rpc.Authorization, "User: gateway/edge@LAB.TEST is not allowed to impersonate alice"), ErrProxy},
		{"no proxy from here", proven, said(rpc.Authorization, "Unauthorized connection for super-user: gateway@LAB.TEST from IP 10.0.0.7"), ErrProxy},
		{"simple here, Kerberos there", simple, said(rpc.AccessControl, "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]"), rpc.AccessControl},
		{"simple here, Kerberos there, before a word is said", simple, fmt.Errorf("authentication: %w: the server offers TOKEN by DIGEST-MD5, KERBEROS by GSSAPI; there is neither token nor Kerberos", rpc.ErrNoMethod), rpc.ErrNoMethod},
		{"Kerberos here, simple there", proven, fmt.Errorf("authentication: %w: the server offers SIMPLE alone; there is Kerberos, and going without proof is not allowed", rpc.ErrNoMethod), rpc.ErrNoMethod},
		{"less protection there", proven, fmt.Errorf("%w: authentication was agreed, privacy is the least allowed", sasl.ErrProtection), sasl.ErrProtection},
		{"a token that was cancelled", proven, said("org.apache.hadoop.security.token.SecretManager$InvalidToken", "Token for real user: , can't be found in cache"), nil},
		{"another protection of data", proven, fmt.Errorf("datanode dn:9866: handshake: %w: the server offers auth-conf", sasl.ErrProtection), sasl.ErrProtection},
		{"more protection there", simple, said(rpc.SaslFailed, "No common protection layer between client and server"), rpc.SaslFailed},
		{"what has a hint keeps it", proven, fmt.Errorf("%w\nhint: kinit", kerberos.ErrNoTicket), kerberos.ErrNoTicket},
		{"anything else", proven, errors.New("read: connection reset"), nil},
	} {
		got := denied(c.err, c.conf, "alice")
		if c.is != nil && !errors.Is(got, c.is) {
			t.Errorf("%s: not %v any more: %v", c.name, c.is, got)
		}
		fmt.Fprintf(&out, "== %s\n%v\n", c.name, got)
	}
	golden(t, "denied", out.String())
}

// Who has no proof of who he is reads nothing of a job, and is told so in the same
// words as elsewhere.
func TestFilesOfAClusterThatCannotBeCalled(t *testing.T) {
	why := fmt.Errorf("FILE:/tmp/krb5cc_1000: %w\nhint: kinit", kerberos.ErrExpired)
	_, err := New(Config{Conf: conf.New(nil), Denied: why}).FS().Stat(t.Context(), "/")
	if !errors.Is(err, backend.ErrUnusable) || !errors.Is(err, kerberos.ErrExpired) || err.Error() != why.Error() {
		t.Errorf("%v, want %v", err, why)
	}
}
