//go:build hadoop

package kerberos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	gokeytab "github.com/jcmturner/gokrb5/v8/keytab"

	"github.com/muster-project/muster/hadoop/sasl"
	mit "github.com/muster-project/muster/test/cluster/kdc"
)

// These tests speak to an MIT KDC of their own; no Hadoop is needed.

// realm runs a KDC with alice, who proves herself beforehand, bob, who need not,
// and a service.
func realm(t *testing.T, change ...string) *mit.KDC {
	t.Helper()
	k, err := mit.New(t.Context(), filepath.Join(t.TempDir(), "kdc"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(change) > 0 {
		rewrite(t, k.Config(), change...)
		rewrite(t, filepath.Join(k.Dir, "kdc.conf"), change...)
		if err := k.Admin(t.Context(), "cpw -randkey krbtgt/"+home); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(k.Add(t.Context(), "alice", "bob", "ghost", "nn/localhost"),
		k.Admin(t.Context(), "modprinc +requires_preauth alice", "delprinc -force ghost"), k.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	})
	return k
}

func rewrite(t *testing.T, path string, change ...string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.NewReplacer(change...).Replace(string(b))), 0o600); err != nil {
		t.Fatal(err)
	}
}

// fast is a clock that is ahead by as much.
func fast(by time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(by) }
}

func enter(t *testing.T, s Source, now func() time.Time) *Login {
	t.Helper()
	l, err := open(s, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func (l *Login) nn(ctx context.Context, host string) (*ticket, error) {
	return l.ticket(ctx, name{parts: []string{"nn", host}, realm: home})
}

// served runs an exchange with a service that has the realm's own keytab.
func served(t *testing.T, l *Login, file string) error {
	t.Helper()
	keys, err := gokeytab.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	h := &host{name: name{parts: []string{"nn", "localhost"}, realm: home}, keys: keys}
	m, err := l.Service("nn/_HOST@"+home).Start(t.Context(), "localhost:8020", "nn", "localhost")
	if err != nil {
		return err
	}
	request, err := m.Step(nil)
	if err != nil {
		return err
	}
	_, reply, err := h.accept(request)
	if err != nil {
		return err
	}
	_, err = m.Step(reply)
	return err
}

func TestLiveKDC(t *testing.T) {
	k := realm(t)
	keytab := func(who string) Source {
		return Source{Keytab: k.Keytab(who), Principal: who + "@" + home, Config: k.Config()}
	}
	for _, who := range []string{"alice", "bob"} {
		t.Run("keytab of "+who, func(t *testing.T) {
			l := enter(t, keytab(who), time.Now)
			if err := l.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := served(t, l, k.Keytab("nn/localhost")); err != nil {
				t.Error(err)
			}
			if l.Principal() != who+"@"+home || l.Realm() != home || !l.Expires().IsZero() {
				t.Errorf("%s in %s until %v", l.Principal(), l.Realm(), l.Expires())
			}
		})
	}
	t.Run("many at once", func(t *testing.T) {
		l := enter(t, keytab("alice"), time.Now)
		var group sync.WaitGroup
		for range 16 {
			group.Go(func() {
				if _, err := l.nn(t.Context(), "localhost"); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	})
	t.Run("a service with a new key", func(t *testing.T) {
		if err := k.Add(t.Context(), "nn/moved"); err != nil {
			t.Fatal(err)
		}
		l := enter(t, keytab("bob"), time.Now)
		to := name{parts: []string{"nn", "moved"}, realm: home}
		shown := func() *ticket {
			t.Helper()
			c, request, err := l.begin(t.Context(), to)
			if err != nil {
				t.Fatal(err)
			}
			keys, err := gokeytab.Load(k.Keytab("nn/moved"))
			if err != nil {
				t.Fatal(err)
			}
			h := &host{name: to, keys: keys}
			if _, reply, err := h.accept(request); err == nil {
				if err := c.reply(reply, l.Principal()); err != nil {
					t.Error(err)
				}
			}
			return l.services[to.String()]
		}
		first := shown()
		if shown() != first {
			t.Error("a good ticket was thrown away")
		}
		if err := k.Admin(t.Context(), "cpw -randkey nn/moved", "ktrem -k "+k.Keytab("nn/moved")+" nn/moved all", "ktadd -norandkey -k "+k.Keytab("nn/moved")+" nn/moved"); err != nil {
			t.Fatal(err)
		}
		if shown() != first || shown() == first {
			t.Error("a ticket that the service did not take is not replaced")
		}
		if l.doubt(to.String()) {
			t.Error("the service took the new one, and is still in doubt")
		}
	})
	t.Run("renewed from the keytab", func(t *testing.T) {
		ahead := time.Duration(0)
		l := enter(t, keytab("bob"), func() time.Time { return time.Now().Add(ahead) })
		first, err := l.nn(t.Context(), "localhost")
		if err != nil {
			t.Fatal(err)
		}
		granting := l.tgt
		l.tgt.end = time.Now().Add(time.Minute) // most of its life is over
		l.services[first.server.String()].end = l.tgt.end
		ahead = 50 * time.Second
		second, err := l.nn(t.Context(), "localhost")
		if err != nil || second == first || l.tgt == granting {
			t.Errorf("%v: the same tickets: %v, %v", err, second == first, l.tgt == granting)
		}
	})
	t.Run("cache", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "cc")
		if err := k.Ticket(t.Context(), "alice", file, time.Hour); err != nil {
			t.Fatal(err)
		}
		env := func(key string) string {
			return map[string]string{"KRB5_CONFIG": k.Config(), "KRB5CCNAME": "FILE:" + file}[key]
		}
		l := enter(t, Source{Getenv: env}, time.Now)
		if err := served(t, l, k.Keytab("nn/localhost")); err != nil {
			t.Error(err)
		}
		if left := time.Until(l.Expires()); l.Principal() != "alice@"+home || l.From() != "FILE:"+file || left < 50*time.Minute || left > time.Hour {
			t.Errorf("%s in %s: %v left", l.Principal(), l.From(), left)
		}
		dir := t.TempDir()
		if err := k.Ticket(t.Context(), "bob", filepath.Join(dir, "tkt"), 0); err != nil {
			t.Fatal(err)
		}
		if l := enter(t, Source{Config: k.Config(), Cache: "DIR:" + dir}, time.Now); l.Principal() != "bob@"+home {
			t.Errorf("the directory's is %s", l.Principal())
		}
		_, err := Open(Source{Getenv: env, Principal: "bob"})
		wants(t, err, ErrPrincipal, file+": ", "its tickets are for alice@LAB.TEST, not bob@LAB.TEST\nhint: kinit bob@LAB.TEST")
	})
	t.Run("expired, and seen again after kinit", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "cc")
		s := Source{Config: k.Config(), Cache: file}
		if err := kinit(t, k, "-l", "60s", "-r", "2h", "-c", file, "-k", "-t", k.Keytab("alice"), "alice"); err != nil {
			t.Fatal(err)
		}
		_, err := open(s, fast(10*time.Minute))
		wants(t, err, ErrExpired, "alice@LAB.TEST's ended at ", "hint: kinit; it could be renewed until ", "but only before its end")
		if _, err = open(s, fast(3*time.Hour)); !strings.HasSuffix(err.Error(), "\nhint: kinit") {
			t.Errorf("got %v", err)
		}
		ahead := time.Duration(0)
		l := enter(t, s, func() time.Time { return time.Now().Add(ahead) })
		if l.Renewable().IsZero() {
			t.Error("it is not renewable")
		}
		// Near its end it is renewed, in memory.
		before := l.Expires()
		ahead = 55 * time.Second
		if err := l.Check(t.Context()); err != nil || !l.Expires().After(before) && !l.Expires().Equal(before) || l.tgt.begin.Before(before.Add(-time.Minute)) {
			t.Errorf("renewed: %v, from %v to %v", err, before, l.Expires())
		}
		ahead = 5 * time.Minute
		wants(t, l.Check(t.Context()), ErrExpired)
		ahead = 0
		l.tgt.end = time.Now().Add(-time.Second)
		if err := k.Ticket(t.Context(), "alice", file, time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := l.Check(t.Context()); err != nil {
			t.Errorf("after kinit: %v", err)
		}
	})
	t.Run("clock", func(t *testing.T) {
		for by, says := range map[time.Duration]string{10 * time.Minute: "this machine's clock is 10m0s ahead", -20 * time.Minute: "this machine's clock is 20m0s behind"} {
			err := enter(t, keytab("alice"), fast(by)).Check(t.Context())
			wants(t, err, ErrSkew, says)
			// Somebody who need not prove himself finds out at the second step.
			_, err = enter(t, keytab("bob"), fast(by)).nn(t.Context(), "localhost")
			wants(t, err, ErrSkew, says)
		}
	})
	t.Run("nobody", func(t *testing.T) {
		wants(t, enter(t, keytab("ghost"), time.Now).Check(t.Context()), ErrPrincipal, "ghost@LAB.TEST: ", "the KDC does not know ghost@LAB.TEST")
		if err := k.Admin(t.Context(), "addprinc -clearpolicy -randkey locked", "ktadd -norandkey -k "+k.Keytab("locked")+" locked", "modprinc -allow_tix locked"); err != nil {
			t.Fatal(err)
		}
		wants(t, enter(t, keytab("locked"), time.Now).Check(t.Context()), ErrPrincipal, "has expired or is locked")
	})
	t.Run("unknown service", func(t *testing.T) {
		l := enter(t, keytab("alice"), time.Now)
		_, err := l.nn(t.Context(), "nowhere")
		wants(t, err, ErrService, "nn/nowhere@LAB.TEST: ", "the KDC does not know this service", "_HOST")
	})
	t.Run("old key", func(t *testing.T) {
		for who, says := range map[string]string{"carol": "key version 1 of carol@LAB.TEST, made 20", "dave": "key version 1 of dave@LAB.TEST, made 20"} {
			if err := k.Add(t.Context(), who); err != nil {
				t.Fatal(err)
			}
			lines := []string{"cpw -randkey " + who}
			if who == "carol" {
				lines = append(lines, "modprinc +requires_preauth carol")
			}
			if err := k.Admin(t.Context(), lines...); err != nil {
				t.Fatal(err)
			}
			wants(t, enter(t, keytab(who), time.Now).Check(t.Context()), ErrKeytab, k.Keytab(who)+": ", says, "get a new keytab")
		}
	})
	t.Run("encryption types", func(t *testing.T) {
		if err := k.Admin(t.Context(), "addprinc -clearpolicy -randkey -e camellia256-cts-cmac:normal odd", "ktadd -norandkey -k "+k.Keytab("odd")+" odd"); err != nil {
			t.Fatal(err)
		}
		wants(t, enter(t, keytab("odd"), time.Now).Check(t.Context()), ErrEtype, "its keys of odd@LAB.TEST are camellia256-cts-cmac; wanted is one of aes256-cts-hmac-sha1-96")
		l := enter(t, keytab("alice"), time.Now)
		l.conf.service = []int32{20} // which this KDC does not permit
		_, err := l.nn(t.Context(), "localhost")
		wants(t, err, ErrEtype, "error 14")
	})
	t.Run("nobody answers", func(t *testing.T) {
		l := enter(t, keytab("alice"), time.Now)
		if err := l.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := k.Stop(); err != nil {
			t.Fatal(err)
		}
		_, err := l.nn(t.Context(), "localhost")
		wants(t, err, ErrKDC, "LAB.TEST: no KDC could be asked: ", fmt.Sprintf("127.0.0.1:%d over tcp: ", k.Port), "over udp", k.Config())
		if !errors.Is(err, sasl.ErrAway) {
			t.Errorf("%v is not worth another try", err)
		}
		l.tgt.begin = l.tgt.begin.Add(-1000 * time.Hour) // most of its life is over, but it still does
		if err := l.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if err := k.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := l.nn(t.Context(), "localhost"); err != nil {
			t.Errorf("when it is back: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		wants(t, l.Check(t.Context()), ErrClosed)
	})
}

// wants compares an error's identity and words.
func wants(t *testing.T, err, is error, says ...string) {
	t.Helper()
	if !errors.Is(err, is) {
		t.Errorf("got %v, want %v", err, is)
		return
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("got %v, want %q in it", err, s)
		}
	}
}

func kinit(t *testing.T, k *mit.KDC, args ...string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "kinit", args...)
	cmd.Env = k.Environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// A realm whose keys are of AES with SHA-2 alone.
func TestLiveKDCWithSHA2(t *testing.T) {
	for _, kind := range []string{"aes128-cts-hmac-sha256-128", "aes256-cts-hmac-sha384-192"} {
		k := realm(t, "aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal", kind+":normal", "aes256-cts-hmac-sha1-96 aes128-cts-hmac-sha1-96", kind)
		l := enter(t, Source{Keytab: k.Keytab("alice"), Config: k.Config()}, time.Now)
		if err := served(t, l, k.Keytab("nn/localhost")); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if got := etypeName(l.tgt.key.KeyType); got != kind {
			t.Errorf("the session key is of %s, want %s", got, kind)
		}
	}
}
