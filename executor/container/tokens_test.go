package container

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/token"
)

// issued is a NameNode's token from a moment.
func issued(service string, at int64) token.Token {
	id := []byte{0}
	for _, name := range []string{"alice", "rm", ""} {
		id = append(token.AppendVint(id, int64(len(name))), name...)
	}
	id = token.AppendVint(token.AppendVint(id, at), at+1000)
	return token.Token{Kind: token.KindHDFS, Service: service, Identifier: append(id, 1, 2), Password: []byte("password of " + service)}
}

// born is an executor in a container with these tokens.
func born(t *testing.T, dir string, have ...token.Token) *executor.Born {
	t.Helper()
	file := credentials(t, executor.Context{Job: "m-1", Key: []byte("the-private-key"), User: "alice",
		Storage: map[string]string{"fs.defaultFS": "hdfs://prod", "dfs.nameservices": "prod", "dfs.ha.namenodes.prod": "a",
			"dfs.namenode.rpc-address.prod.a": "nn:8020"},
		Environ: map[string]string{tokenFile: "/home/alice/tokens"}}, have...)
	b, err := birth(t.Context(), dir, []string{tokenFile + "=" + file, "PATH=/bin", "USER=yarn"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// services lists what a task finds in its token file.
func services(t *testing.T, file string) []string {
	t.Helper()
	c, err := token.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Secrets) > 0 {
		t.Errorf("secrets: %v", c.Secrets)
	}
	var out []string
	for _, k := range c.Tokens {
		out = append(out, k.String()+" "+string(k.Password))
	}
	return out
}

func TestATaskGetsTheTokensOfFileSystemsAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	b := born(t, dir, issued("ha-hdfs:prod", 5), issued("10.0.0.9:8020", 5),
		token.Token{Kind: token.KindRM, Service: "10.0.0.1:8032", Identifier: []byte("i"), Password: []byte("rm-password")},
		token.Token{Kind: token.KindAMRM, Identifier: []byte("i"), Password: []byte("am-password")})
	file := b.Context.Environ[tokenFile]
	if filepath.Dir(file) != dir {
		t.Fatalf("the task is told of %q", file)
	}
	want := []string{"HDFS_DELEGATION_TOKEN for ha-hdfs:prod password of ha-hdfs:prod", "HDFS_DELEGATION_TOKEN for 10.0.0.9:8020 password of 10.0.0.9:8020"}
	if diff := cmp.Diff(want, services(t, file)); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	// Whatever a task reads or inherits here, none of it starts an executor or acts
	// at the resource manager.
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, secret := range []string{"the-private-key", SecretStart, "rm-password", "am-password"} {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s holds %s", path, secret)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for name, value := range b.Context.Environ {
		if strings.Contains(value, "private-key") || strings.Contains(value, "container_tokens") {
			t.Errorf("%s=%s", name, value)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}

func TestNewerTokensReplaceOlderOnes(t *testing.T) {
	dir := t.TempDir()
	b := born(t, dir, issued("ha-hdfs:prod", 50))
	file := b.Context.Environ[tokenFile]
	renewed := func(at int64, service string) []byte {
		return (&token.Credentials{Tokens: []token.Token{issued(service, at), {Kind: token.KindRM, Service: "rm", Password: []byte("x")}},
			Secrets: map[string][]byte{"s": []byte("x")}}).Bytes()
	}
	for _, step := range []struct {
		serial int64
		data   []byte
		want   string // of the file, then
		broken bool
	}{
		{40, renewed(40, "old"), "ha-hdfs:prod", false}, // of a coordinator that has only those it was submitted with
		{60, renewed(60, "new"), "new", false},
		{60, renewed(60, "again"), "new", false},
		{70, []byte("rubbish"), "new", true},
		{70, (&token.Credentials{}).Bytes(), "new", true},
		{70, renewed(70, "newer"), "newer", false},
	} {
		if err := b.Credentials(step.serial, step.data); (err != nil) != step.broken {
			t.Errorf("%d: %v", step.serial, err)
		}
		if got := services(t, file); len(got) != 1 || !strings.HasSuffix(got[0], "password of "+step.want) {
			t.Errorf("%d: %v", step.serial, got)
		}
	}
	left, err := os.ReadDir(dir)
	for _, e := range left {
		if strings.HasPrefix(e.Name(), tokenName) && e.Name() != tokenName {
			t.Errorf("left behind: %s", e.Name())
		}
	}
	if err != nil {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// What is opened already asks for the newest token at its next connection.
func TestStorageIsCalledWithTheNewestToken(t *testing.T) {
	mine, err := newTokens(t.TempDir(), &token.Credentials{Tokens: []token.Token{issued("ha-hdfs:other", 1), issued("ha-hdfs:prod", 2)}})
	if err != nil {
		t.Fatal(err)
	}
	auth := mine.auth(conf.Filesystem{Service: "ha-hdfs:prod"}, "alice")
	for _, at := range []int64{2, 30} {
		fresh := issued("ha-hdfs:prod", at)
		if at > 2 {
			if err := mine.replace(at, (&token.Credentials{Tokens: []token.Token{fresh}}).Bytes()); err != nil {
				t.Fatal(err)
			}
		}
		got, err := auth(t.Context())
		if err != nil || !bytes.Equal(got.Token.Identifier, fresh.Identifier) {
			t.Errorf("%v, %v", got, err)
		}
	}
}

// A runtime that mounts the credentials file keeps it from being removed, not
// from being emptied.
func TestCredentialsThatCannotBeRemovedAreEmptied(t *testing.T) {
	file := credentials(t, executor.Context{Key: []byte("the-private-key")})
	if os.Geteuid() != 0 {
		if err := os.Chmod(filepath.Dir(file), 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(filepath.Dir(file), 0o700) })
	} else if err := unix.Mount(file, file, "", unix.MS_BIND, ""); err == nil {
		t.Cleanup(func() { _ = unix.Unmount(file, 0) })
	} else {
		t.Fatalf("mounts are not allowed here, and without one nothing keeps root from removing a file: run it as another user: %v", err)
	}
	if _, err := read(file, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || len(text) > 0 {
		t.Errorf("%q, %v", text, err)
	}
}

// The other processes of the user, tasks among them, cannot read our memory.
func TestAnExecutorsMemoryIsItsOwn(t *testing.T) {
	before, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(before), 0, 0, 0) })
	if _, err := Birth(t.Context(), executor.Program{}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("born without a container")
	}
	if got, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); got != 0 || err != nil {
		t.Errorf("dumpable: %d, %v", got, err)
	}
}
