package kdc

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// This binary is also a program that starts a server and dies.
	if dir := os.Getenv("KDC_TEST_START"); dir != "" {
		k, err := New(context.Background(), dir, 0)
		if err == nil {
			err = k.Start(context.Background())
		}
		if err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString(pid(k) + "\n")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	goleak.VerifyTestMain(m)
}

func pid(k *KDC) string { return strconv.Itoa(k.server.cmd.Process.Pid) }

// realm is a running KDC with a user and a service.
func realm(t *testing.T) *KDC {
	t.Helper()
	k, err := New(t.Context(), filepath.Join(t.TempDir(), "kdc"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Add(t.Context(), "alice", "nn/localhost", "nn/other"); err != nil {
		t.Fatal(err)
	}
	if err := k.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	})
	return k
}

func TestATicketComesFromTheKeytab(t *testing.T) {
	k := realm(t)
	cache := filepath.Join(t.TempDir(), "cache")
	if err := k.Ticket(t.Context(), "alice", cache, 5*time.Minute); err != nil {
		t.Fatal(err)
	}
	out, err := k.run(t.Context(), "", "klist", "-c", cache)
	if err != nil || !strings.Contains(out, "Default principal: alice@"+Realm) {
		t.Errorf("klist: %v\n%s", err, out)
	}
	// A ticket of a service proves that its keys in keytab and database are the same.
	if out, err := k.run(t.Context(), "", "kvno", "-c", cache, "-k", k.Keytab("nn/other"), "nn/other@"+Realm); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if err := k.Ticket(t.Context(), "nn/localhost", cache, 0); err != nil {
		t.Error(err)
	}
	if exists(k.path("cache")) {
		t.Error("the default cache was written, though another was named")
	}
}

func TestAddSaysWhatIsWrong(t *testing.T) {
	k := realm(t)
	for _, line := range []string{"addprinc -randkey alice", "ktadd -k " + k.path("x") + " nobody", "nonsense", "modprinc -expire"} {
		if err := k.Admin(t.Context(), line); err == nil {
			t.Errorf("%s: no error", line)
		}
	}
	err := k.Ticket(t.Context(), "mallory", filepath.Join(t.TempDir(), "cache"), 0)
	if err == nil || !strings.Contains(err.Error(), "mallory") {
		t.Errorf("a ticket without a keytab: %v", err)
	}
}

func TestKeytabsAreNamedByTheFirstPart(t *testing.T) {
	k := &KDC{Dir: "/d"}
	got := map[string]string{}
	for _, p := range []string{"alice", "alice@" + Realm, "HTTP/localhost", "nn/host@" + Realm} {
		got[p] = k.Keytab(p)
	}
	want := map[string]string{
		"alice": "/d/keytabs/alice.keytab", "alice@" + Realm: "/d/keytabs/alice.keytab",
		"HTTP/localhost": "/d/keytabs/HTTP.keytab", "nn/host@" + Realm: "/d/keytabs/nn.keytab",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestADirectoryOfSomebodyElseIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "krb5.conf"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), dir, 0); err == nil {
		t.Error("no error")
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "krb5.conf")); string(data) != "mine" {
		t.Errorf("krb5.conf = %q", data)
	}
}

func TestAPortThatIsTakenIsTold(t *testing.T) {
	k := realm(t)
	second, err := New(t.Context(), filepath.Join(t.TempDir(), "kdc"), k.Port)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context()); err == nil {
		t.Error("two servers on one port")
		_ = second.Stop()
	}
}

func TestTheServerEndsWithWhoeverStartedIt(t *testing.T) {
	dir, err := os.MkdirTemp("", "kdc")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "KDC_TEST_START="+filepath.Join(dir, "kdc"))
	cmd.Stderr = os.Stderr
	out, _ := cmd.Output() // it kills itself
	server := strings.TrimSpace(string(out))
	if server == "" {
		t.Fatal("no server was started")
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for late := time.After(20 * time.Second); ; {
		name, _ := os.ReadFile("/proc/" + server + "/comm")
		state, _ := os.ReadFile("/proc/" + server + "/stat")
		if string(name) != "krb5kdc\n" || strings.Contains(string(state), ") Z ") {
			return
		}
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("krb5kdc %s: still runs", server)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
