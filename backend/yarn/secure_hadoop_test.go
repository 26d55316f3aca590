//go:build hadoop

package yarn

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/coordinator"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/hadoop/kerberos"
	"github.com/muster-project/muster/test/cluster/hadoop/lab"
)

// realm is the secure cluster, and people with keys in it.
type realm struct {
	t   *testing.T
	lab *lab.Cluster
	dir string // of its site files
	krb string // KRB5_CONFIG
}

func newRealm(t *testing.T) *realm {
	t.Helper()
	dir := os.Getenv("HADOOP_CONF_DIR")
	if dir == "" || os.Getenv("MUSTER_KEYTABS") == "" {
		t.Fatal("HADOOP_CONF_DIR, KRB5_CONFIG and MUSTER_KEYTABS are not set: test/cluster/hadoop brings up a secure cluster, and make test sets them")
	}
	c, err := lab.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &realm{t: t, lab: c, dir: dir, krb: os.Getenv("KRB5_CONFIG")}
}

// ticket fills a ticket cache, new or old.
func (r *realm) ticket(user, cache string, lifetime time.Duration) string {
	r.t.Helper()
	if cache == "" {
		cache = filepath.Join(r.t.TempDir(), "cc."+user)
	}
	if err := r.lab.Ticket(r.t.Context(), user, cache, lifetime); err != nil {
		r.t.Fatal(err)
	}
	return cache
}

func (r *realm) keytab(user string) string {
	return filepath.Join(os.Getenv("MUSTER_KEYTABS"), user+".keytab")
}

// env is an environment with nothing but these variables and the realm's.
func (r *realm) env(values ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(values); i += 2 {
			if values[i] == name {
				return values[i+1]
			}
		}
		if name == "KRB5_CONFIG" {
			return r.krb
		}
		return ""
	}
}

// site is the cluster's site files with something exchanged.
func (r *realm) site(exchange ...string) string {
	r.t.Helper()
	dir := r.t.TempDir()
	for _, name := range []string{"core-site.xml", "hdfs-site.xml", "yarn-site.xml", "resource-types.xml"} {
		data, err := os.ReadFile(filepath.Join(r.dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(strings.NewReplacer(exchange...).Replace(string(data))), 0o600)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	return dir
}

// file is a file with a krb5.conf in which something is exchanged.
func (r *realm) config(exchange ...string) string {
	r.t.Helper()
	data, err := os.ReadFile(r.krb)
	name := filepath.Join(r.t.TempDir(), "krb5.conf")
	if err == nil {
		err = os.WriteFile(name, []byte(strings.NewReplacer(exchange...).Replace(string(data))), 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return name
}

// Doctor says what is wrong with who calls, in the place where it is found.
func TestSecureDoctor(t *testing.T) {
	r := newRealm(t)
	alice, bob, gateway := r.ticket("alice", "", 0), r.ticket("bob", "", 0), r.ticket("gateway", "", 0)
	short := r.ticket("alice", "", 10*time.Minute)
	over := r.ticket("alice", "", time.Second)
	until(t, "the ticket is over", func() bool {
		return errors.Is(At(r.dir, Who{Cache: over, Getenv: r.env()}).Denied, kerberos.ErrExpired)
	})
	data, err := os.ReadFile(r.krb)
	if err != nil {
		t.Fatal(err)
	}
	kdc := regexp.MustCompile(`(?m)^\s*kdc\s*=\s*(\S+)$`).FindStringSubmatch(string(data))
	if kdc == nil {
		t.Fatalf("%s names no KDC", r.krb)
	}
	for _, c := range []struct {
		name                 string
		dir                  string
		who                  Who
		check, verdict, text string
	}{
		{"a ticket", r.dir, Who{Cache: alice}, "kerberos", verdictOK, "tickets of alice@LAB.TEST in FILE:" + alice},
		{"a ticket of KRB5CCNAME", r.dir, Who{Getenv: r.env("KRB5CCNAME", "FILE:"+alice)}, "queues", verdictOK, "alice may submit to default, ml, small"},
		{"a ticket near its end", r.dir, Who{Cache: short}, "kerberos", verdictWarning, "kinit"},
		{"a keytab", r.dir, Who{Keytab: r.keytab("alice"), Principal: "alice"}, "kerberos", verdictOK, "are made with " + r.keytab("alice")},
		{"a keytab of the site's", r.site("<configuration>", "<configuration><property><name>muster.keytab</name><value>"+r.keytab("alice")+
			"</value></property><property><name>muster.principal</name><value>alice</value></property>"), Who{}, "directory", verdictOK, "/user/alice/.muster can be written"},
		{"a proxy", r.dir, Who{Cache: gateway, User: "alice"}, "kerberos", verdictOK, "who acts as gateway for alice"},
		{"what a proxy sees", r.dir, Who{Cache: gateway, User: "alice"}, "queues", verdictOK, "alice may submit to default, ml, small"},
		{"a proxy by HADOOP_PROXY_USER", r.dir, Who{Getenv: r.env("KRB5CCNAME", gateway, "HADOOP_PROXY_USER", "bob")}, "kerberos", verdictOK, "who acts as gateway for bob"},
		{"a proxy for somebody whom it may not act for", r.dir, Who{Cache: gateway, User: "carol"}, "resourcemanager", verdictFailed, "gateway may not act for carol"},
		{"no proxy", r.dir, Who{Cache: bob, User: "alice"}, "namenode", verdictFailed, "hadoop.proxyuser.bob.hosts"},
		{"no ticket", r.dir, Who{Cache: "/nowhere/cc"}, "kerberos", verdictFailed, "kinit"},
		{"an expired ticket", r.dir, Who{Cache: over}, "kerberos", verdictFailed, "has expired"},
		{"another principal's ticket", r.dir, Who{Cache: alice, Principal: "bob"}, "kerberos", verdictFailed, "its tickets are for alice@LAB.TEST, not bob@LAB.TEST"},
		{"another realm", r.dir, Who{Keytab: r.keytab("alice"), Principal: "alice@ELSEWHERE.TEST"}, "kerberos", verdictFailed, "alice@ELSEWHERE.TEST"},
		{"a keytab that is not there", r.dir, Who{Keytab: "/nowhere/alice.keytab", Principal: "alice"}, "kerberos", verdictFailed, "/nowhere/alice.keytab"},
		{"a keytab of somebody else", r.dir, Who{Keytab: r.keytab("alice"), Principal: "bob"}, "kerberos", verdictFailed, "bob@LAB.TEST"},
		{"a service that the KDC does not know", r.site("rm/_HOST@", "rx/_HOST@"), Who{Cache: alice}, "resourcemanager", verdictFailed, "rx/"},
		{"no _HOST where one is wanted", r.site("nn/_HOST@", "nn/elsewhere@"), Who{Cache: alice}, "namenode", verdictFailed, "dfs.namenode.kerberos.principal"},
		{"a KDC that is away", r.dir, Who{Cache: alice, Getenv: r.env("KRB5_CONFIG", r.config(kdc[1], freePort(t)))}, "kerberos", verdictFailed, "no KDC could be asked"},
		{"no encryption type in common", r.dir, Who{Keytab: r.keytab("alice"), Principal: "alice", Getenv: r.env("KRB5_CONFIG",
			r.config("aes256-cts-hmac-sha1-96", "arcfour-hmac", "aes128-cts-hmac-sha1-96", ""))}, "kerberos", verdictFailed, "encryption"},
		{"site files without Kerberos", r.site("<value>kerberos</value>", "<value>simple</value>"), Who{User: "alice"}, "namenode", verdictFailed, "the cluster wants Kerberos"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.who.Getenv == nil {
				c.who.Getenv = r.env()
			}
			b := New(At(c.dir, c.who))
			defer func() {
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			}()
			list := b.Diagnose(t.Context())
			if !finds(list, c.check, c.verdict, c.text) {
				for _, d := range list {
					t.Logf("%s %s: %s (%s)", d.Verdict, d.Check, d.Text, d.Hint)
				}
				t.Errorf("%s %s: %q is not said", c.verdict, c.check, c.text)
			}
		})
	}
}

// The resource manager refuses a job late whose tokens it cannot renew: the reason
// reaches the user, and nothing is left.
func TestSecureATokenThatCannotBeRenewed(t *testing.T) {
	r := newRealm(t)
	// Somebody else is to renew them; the resource manager is the same as ever.
	dir := r.site("<name>yarn.resourcemanager.principal</name><value>rm/_HOST@LAB.TEST</value>",
		"<name>yarn.resourcemanager.principal</name><value>carol@LAB.TEST</value></property>"+
			"<property><name>yarn.resourcemanager.principal.pattern</name><value>rm/*@LAB.TEST</value>")
	c := At(dir, Who{Keytab: r.keytab("alice"), Principal: "alice", Getenv: r.env()})
	c.Layout = Layout{Root: "/tmp/muster-test-alice-" + rand.Text()[:8], Shared: "/tmp/muster-gangs"}
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.Muster = func() (string, error) { return file, nil }
	c.Executor = c.Muster
	b := New(c)
	defer func() {
		if err := errors.Join(b.FS().Remove(context.WithoutCancel(t.Context()), b.Layout.Root), b.Close()); err != nil {
			t.Error(err)
		}
	}()
	p := newPlan("alice", 1)
	_, err := b.Submit(t.Context(), submission(p))
	if err == nil || !strings.Contains(err.Error(), "the resource manager refused the job as application_") ||
		!strings.Contains(strings.ToLower(err.Error()), "renew") || !strings.Contains(err.Error(), "\nhint: ") {
		t.Fatalf("%v", err)
	}
	if _, err := b.FS().Stat(t.Context(), string(b.Layout.Job(p.ID))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory is left: %v", err)
	}
}

// Who tends jobs lives longer than tickets: it says that it waits, and goes on
// with a new one.
func TestSecureTendingWaitsForKinit(t *testing.T) {
	r := newRealm(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cache := r.ticket("alice", "", 3*time.Second)
	open := func(who Who) *Backend {
		c := At(r.dir, who)
		c.Layout = Layout{Root: "/tmp/muster-test-alice-" + rand.Text()[:8], Shared: "/tmp/muster-gangs"}
		return New(c)
	}
	tends := open(Who{Cache: cache, Getenv: r.env()})
	said := &notes{}
	tends.Log = slog.New(slog.NewTextHandler(said, nil))
	owner := New(At(r.dir, Who{Keytab: r.keytab("alice"), Principal: "alice", Getenv: r.env()}))
	owner.Layout = tends.Layout
	defer func() {
		if err := errors.Join(owner.FS().Remove(context.WithoutCancel(ctx), owner.Layout.Root), owner.Close(), tends.Close()); err != nil {
			t.Error(err)
		}
	}()
	p := newPlan("alice", 1)
	if err := owner.connect(); err != nil {
		t.Fatal(err)
	}
	st := newStore(owner.fs, owner.Layout)
	dir := owner.Layout.Job(p.ID)
	if err := st.prepare(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := owner.writeJob(ctx, st, dir, submission(p)); err != nil {
		t.Fatal(err)
	}
	ref := backend.Ref{Job: p.ID, Dir: string(dir)}
	if err := coordinator.Seal(ctx, owner.FS(), ref.Dir, event.Outcome{State: event.Stopped, Status: 130, Origin: "muster", Class: event.ClassCancelled, Text: "test"}, "test"); err != nil {
		t.Fatal(err)
	}
	until(t, "the ticket is over", func() bool { _, err := tends.Login.Proof(); return errors.Is(err, kerberos.ErrExpired) })
	done := make(chan error, 1)
	go func() { done <- tends.Keep(ctx, ref) }()
	until(t, "the log says what it waits for", func() bool { return strings.Contains(said.String(), "tending waits for kinit") })
	if n := strings.Count(said.String(), "\n"); n != 1 {
		t.Errorf("it is said in %d lines: %s", n, said)
	}
	r.ticket("alice", cache, 0)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// notes is a log that is read while it is written.
type notes struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buf.Write(p)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buf.String()
}
