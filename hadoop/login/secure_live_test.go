//go:build hadoop

package login

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/hadoop/kerberos"
	"github.com/muster-project/muster/hadoop/token"
	"github.com/muster-project/muster/hadoop/yarn"
)

// These tests speak to the cluster with Kerberos that HADOOP_CONF_DIR names; its
// keytabs lie beside the configuration.

func site(t *testing.T) *conf.Conf {
	t.Helper()
	c, err := conf.Load(os.Getenv("HADOOP_CONF_DIR"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// lab is the directory of the cluster's realm.
func lab() string { return filepath.Join(filepath.Dir(os.Getenv("HADOOP_CONF_DIR")), "kdc") }

// environment knows the realm and nothing else.
func environment(more map[string]string) func(string) string {
	return func(key string) string {
		if v, ok := more[key]; ok {
			return v
		}
		if key == "KRB5_CONFIG" {
			return filepath.Join(lab(), "krb5.conf")
		}
		return ""
	}
}

func keytab(user string) string { return filepath.Join(lab(), "keytabs", user+".keytab") }

func enter(t *testing.T, o Options) *Login {
	t.Helper()
	if o.Getenv == nil {
		o.Getenv = environment(nil)
	}
	l, err := New(site(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func manager(t *testing.T, l *Login) *yarn.RM {
	t.Helper()
	rm, err := yarn.NewRM(site(t), l.RM())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rm.Close() })
	return rm
}

func files(t *testing.T, l *Login) (*hdfs.Client, conf.Filesystem) {
	t.Helper()
	fs, err := site(t).NameNodes("")
	if err != nil {
		t.Fatal(err)
	}
	c, err := hdfs.New(site(t), l.NameNode(fs))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, fs
}

func TestSecureKeytab(t *testing.T) {
	l := enter(t, Options{Keytab: keytab("alice")})
	if l.User() != "alice" || !l.Secure() {
		t.Errorf("user %q, secure %v", l.User(), l.Secure())
	}
	id, _, err := manager(t, l).NewApplication(t.Context())
	if err != nil || id.Number == 0 {
		t.Errorf("new application: %v, %v", id, err)
	}
	c, _ := files(t, l)
	if _, err := c.Stat(t.Context(), "/user/alice"); err != nil {
		t.Error(err)
	}
	if p, err := l.Proof(); err != nil || p.Principal != "alice@LAB.TEST" || !p.Keytab || p.Real != "alice" || p.From != keytab("alice") {
		t.Errorf("proof: %+v, %v", p, err)
	}
}

// Somebody with nothing is told what to do before anybody is asked.
func TestSecureNothing(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	_, err := New(site(t), Options{Getenv: environment(map[string]string{"KRB5CCNAME": none})})
	if !errors.Is(err, ErrNoProof) || !errors.Is(err, kerberos.ErrNoTicket) || !strings.Contains(err.Error(), "\nhint: kinit") {
		t.Errorf("got %v", err)
	}
}

// A token does what a ticket does, and finds its service by itself; another
// cluster's is no use.
func TestSecureTokens(t *testing.T) {
	l := enter(t, Options{Keytab: keytab("alice")})
	c, fs := files(t, l)
	forFiles, err := c.DelegationToken(t.Context(), "rm/localhost@LAB.TEST")
	if err != nil {
		t.Fatal(err)
	}
	if fs.Service != "" && forFiles.Service != fs.Service {
		t.Errorf("the token is for %q, the file system %q", forFiles.Service, fs.Service)
	}
	forRM, err := manager(t, l).DelegationToken(t.Context(), "rm/localhost@LAB.TEST")
	if err != nil {
		t.Fatal(err)
	}
	var services []string
	servers, err := site(t).ResourceManagers(conf.RMClient)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		services = append(services, strings.Replace(s.Address, "localhost", "127.0.0.1", 1))
	}
	forRM.Service = strings.Join(services, ",")
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, (&token.Credentials{Tokens: []token.Token{*forFiles, *forRM}}).Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(t.TempDir(), "none")
	bearer := enter(t, Options{Getenv: environment(map[string]string{"KRB5CCNAME": none, "HADOOP_TOKEN_FILE_LOCATION": file})})
	if bearer.User() != "alice" {
		t.Errorf("the bearer is %q", bearer.User())
	}
	theirs, _ := files(t, bearer)
	if _, err := theirs.Stat(t.Context(), "/user/alice"); err != nil {
		t.Error(err)
	}
	if _, _, err := manager(t, bearer).NewApplication(t.Context()); err != nil {
		t.Error(err)
	}
	rest, err := yarn.NewREST(site(t), "", bearer.HTTP())
	if err != nil {
		t.Fatal(err)
	}
	if info, err := rest.Info(t.Context()); err != nil || info.State != "STARTED" {
		t.Errorf("by a token over HTTP: %+v, %v", info, err)
	}
	for _, tok := range []*token.Token{forFiles} {
		if err := c.CancelToken(t.Context(), tok); err != nil {
			t.Error(err)
		}
	}
	if err := manager(t, l).CancelDelegationToken(t.Context(), forRM); err != nil {
		t.Error(err)
	}
	elsewhere, err := New(site(t), Options{Tokens: &token.Credentials{Tokens: []token.Token{{Kind: token.KindRM, Service: "elsewhere:8032"}}},
		User: "alice", Getenv: environment(map[string]string{"KRB5CCNAME": none})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := elsewhere.RM()(t.Context()); !errors.Is(err, ErrNoProof) {
		t.Errorf("a token for another cluster: %v", err)
	}
}

// A superuser acts for those whom hadoop.proxyuser lets it act for, and nobody
// else.
func TestSecureProxy(t *testing.T) {
	l := enter(t, Options{Keytab: keytab("gateway"), User: "alice"})
	if p, err := l.Proof(); err != nil || p.Real != "gateway" || l.User() != "alice" {
		t.Errorf("%+v, %v, acts as %q", p, err, l.User())
	}
	if _, _, err := manager(t, l).NewApplication(t.Context()); err != nil {
		t.Error(err)
	}
	c, _ := files(t, l)
	path := "/user/alice/proxy-" + strings.ToLower(t.Name())
	if err := c.Mkdir(t.Context(), path, 0o700); err != nil {
		t.Fatal(err)
	}
	if st, err := c.Stat(t.Context(), path); err != nil || st.Owner() != "alice" {
		t.Errorf("what the proxy made: %+v, %v", st, err)
	}
	if _, err := c.Delete(t.Context(), path); err != nil {
		t.Error(err)
	}
	root := enter(t, Options{Keytab: keytab("gateway"), User: "root"})
	if _, _, err := manager(t, root).NewApplication(t.Context()); err == nil || !strings.Contains(err.Error(), "gateway") {
		t.Errorf("gateway as root: %v", err)
	} else {
		t.Log("refused:", err)
	}
	mallory := enter(t, Options{Keytab: keytab("bob"), User: "alice"})
	if _, _, err := manager(t, mallory).NewApplication(t.Context()); err == nil {
		t.Error("bob acts as alice")
	}
}

// Web services are called by SPNEGO, from whichever ResourceManager is asked; a
// proof is given once.
func TestSecureHTTP(t *testing.T) {
	l := enter(t, Options{Keytab: keytab("alice")})
	rest, err := yarn.NewREST(site(t), "", l.HTTP())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if info, err := rest.Info(t.Context()); err != nil || info.State != "STARTED" { // a standby answers this one itself
			t.Errorf("info: %+v, %v", info, err)
		}
	}
	if s, err := rest.Scheduler(t.Context()); err != nil || s.Find("default") == nil {
		t.Errorf("scheduler: %v", err)
	}
	nodes, err := rest.Nodes(t.Context(), "RUNNING")
	if err != nil || len(nodes) == 0 {
		t.Fatalf("nodes: %v, %v", nodes, err)
	}
	if _, err := rest.Devices(t.Context(), nodes[0].HTTP, yarn.GPU); err != nil {
		t.Errorf("a NodeManager's: %v", err)
	}
	bare, err := yarn.NewREST(site(t), "alice", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	if _, err := bare.Info(t.Context()); err == nil {
		t.Error("a name was believed")
	}
}
