package container

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/hadoop/token"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/storage"
	"github.com/muster-project/muster/storage/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// credentials writes a file as a NodeManager does.
func credentials(t *testing.T, c executor.Context, have ...token.Token) string {
	t.Helper()
	start, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "container_tokens")
	content := token.Credentials{Tokens: have, Secrets: map[string][]byte{SecretStart: start}}
	if err := os.WriteFile(file, content.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestBirth(t *testing.T) {
	dir := t.TempDir()
	file := credentials(t, executor.Context{Job: "m-1", Slot: "container_1", Task: plan.TaskID{Role: "worker", Index: 3},
		Endpoints: "/user/alice/.muster/jobs/m-1/endpoint", Key: []byte("key"), User: "alice", Root: "/no", Blobs: "/no",
		Environ: map[string]string{"A": "1", "HOME": "/home/alice"}, Storage: map[string]string{"fs.defaultFS": "hdfs://nn:8020"}})
	environ := []string{tokenFile + "=" + file, "LOG_DIRS=/logs/a,/logs/b", "PATH=/bin", "USER=yarn"}
	born, err := birth(t.Context(), dir, environ, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	c := born.Context
	if c.Root != dir+"/task" || c.Blobs != dir+"/blobs" || c.LogDir != "/logs/a" || c.Task.Index != 3 || string(c.Key) != "key" {
		t.Errorf("context %+v", c)
	}
	if named, ok := c.Environ[tokenFile]; ok {
		t.Errorf("a task without tokens is told of %s", named)
	}
	if c.Environ["A"] != "1" || c.Environ["HOME"] == "/home/alice" || c.Environ["USER"] != "alice" {
		t.Errorf("environment %v", c.Environ)
	}
	if born.FS == nil {
		t.Error("no storage")
	}
	for _, v := range born.Environ {
		if strings.Contains(v, file) {
			t.Errorf("values can be expanded to %s", v)
		}
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the key is still there: %v", err)
	}
	if err := born.Close(); err != nil {
		t.Error(err)
	}
}

func TestBirthElsewhereIsRefused(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(empty, (&token.Credentials{}).Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(foreign, (&token.Credentials{Secrets: map[string][]byte{SecretStart: []byte("x")}}).Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"": tokenFile + ": not set", empty: "no secret muster.start", foreign: "not a start context", "/none/tokens": "no such file",
	} {
		_, err := birth(t.Context(), t.TempDir(), []string{tokenFile + "=" + file}, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", file, err)
		}
	}
}

func TestTasksInheritWhatIsTrueHere(t *testing.T) {
	submitter := map[string]string{
		"PATH": "/home/alice/venv/bin:/usr/bin:relative", "LANG": "cs_CZ.UTF-8", "WANDB_API_KEY": "k", "HOME": "/home/alice", "SHELL": "/bin/zsh",
		"SSH_AUTH_SOCK": "/tmp/ssh", "XDG_RUNTIME_DIR": "/run/user/1000", "DISPLAY": ":0", "TMPDIR": "/var/tmp/alice", "PWD": "/home/alice",
		"JAVA_HOME": "/home/alice/jdk", "HADOOP_CONF_DIR": "/home/alice/conf", "USER": "alice", "CUDA_VISIBLE_DEVICES": "7",
		"LD_LIBRARY_PATH": "", "MUSTER_HOME": "/home/alice/.muster",
	}
	node := map[string]string{
		"PATH": "/usr/local/cuda/bin:/usr/bin:/bin", "LANG": "C", "JAVA_HOME": "/opt/jdk", "HOME": "/home/", "USER": "yarn",
		"LD_LIBRARY_PATH": "/opt/cuda/lib", tokenFile: "/tokens", "NM_AUX_SERVICE_x": "y", "CONTAINER_ID": "container_1", "LOG_DIRS": "/logs",
	}
	want := map[string]string{
		"PATH": "/home/alice/venv/bin:/usr/bin:/usr/local/cuda/bin:/bin", "LANG": "cs_CZ.UTF-8", "WANDB_API_KEY": "k", "HOME": "/c/home",
		"SHELL": "/bin/sh", "TMPDIR": "/c/tmp", "JAVA_HOME": "/opt/jdk", "USER": "alice", "LOGNAME": "alice", "LD_LIBRARY_PATH": "/opt/cuda/lib",
		"CONTAINER_ID": "container_1", "MUSTER_HOME": "/home/alice/.muster",
	}
	if diff := cmp.Diff(want, inherit(submitter, node, "/c/home", "/c/tmp", "alice")); diff != "" {
		t.Error(diff)
	}
	bare := inherit(nil, map[string]string{"USER": "yarn"}, "/h", "/t", "")
	if bare["USER"] != "yarn" || bare["PATH"] != "/usr/local/bin:/usr/bin:/bin" {
		t.Errorf("of nothing: %v", bare)
	}
}

func TestTemporaryFilesHaveShortNames(t *testing.T) {
	root := t.TempDir()
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 80))
	p, err := settle(long, root)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(p.temp) != root {
		t.Fatalf("temporary files at %s", p.temp)
	}
	if err := os.WriteFile(filepath.Join(p.temp, "f"), nil, 0o600); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(long, "tmp", "f")); err != nil {
		t.Errorf("not in the container: %v", err)
	}
	// One that was killed leaves its short name, and the node removes the rest.
	killed := filepath.Join(root, tempLink+"killed")
	other := filepath.Join(root, "other")
	if err := errors.Join(os.Symlink("/none/tmp", killed), os.Symlink("/none/tmp", other)); err != nil {
		t.Fatal(err)
	}
	sweep(root)
	if _, err := os.Lstat(killed); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the dead one is there: %v", err)
	}
	for _, name := range []string{other, p.temp} {
		if _, err := os.Lstat(name); err != nil {
			t.Error(err)
		}
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(p.temp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
	if home := p.home("nobody-of-this-name"); home != filepath.Join(long, "home") {
		t.Errorf("home %s", home)
	}
}

func TestAStorageIsOpenedWhenItIsNeeded(t *testing.T) {
	opened, closed := 0, 0
	away := true
	l := &lazy{open: func() (storage.FS, func() error, error) {
		opened++
		if away {
			return nil, nil, errors.New("away")
		}
		return local.FS{}, func() error { closed++; return nil }, nil
	}}
	if err := l.close(); err != nil || opened != 0 {
		t.Errorf("closing opened it %d times, %v", opened, err)
	}
	if _, err := l.List(t.Context(), "/"); err == nil {
		t.Error("no error")
	}
	away = false
	dir := t.TempDir()
	for range 3 {
		if _, err := l.Stat(t.Context(), dir); err != nil {
			t.Error(err)
		}
	}
	if err := l.close(); err != nil || opened != 2 || closed != 1 {
		t.Errorf("opened %d times, closed %d times, %v", opened, closed, err)
	}
}

// A NodeManager is asked in HTTP/1.0 by hand.
func TestTheNodeIsAsked(t *testing.T) {
	for name, tc := range map[string]struct{ answer, want, problem string }{
		"good":     {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{\"a\":1}", `{"a":1}`, ""},
		"error":    {"HTTP/1.1 500 Server Error\r\n\r\n<html>", "", "status 500"},
		"no HTTP":  {"\x15\x03\x01\x00\x02\x02P", "", "not an HTTP answer"},
		"no body":  {"HTTP/1.1 200 OK\r\n", "", "not an HTTP answer"},
		"no bytes": {"", "", "not an HTTP answer"},
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			asked := make(chan string, 1)
			go func() {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				var b [4 << 10]byte
				n, _ := conn.Read(b[:])
				asked <- string(b[:n])
				_, _ = conn.Write([]byte(tc.answer))
			}()
			_, port, err := net.SplitHostPort(ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			get := nodeManager(map[string]string{"NM_HOST": "127.0.0.1", "NM_HTTP_PORT": port}, "alice b")
			got, err := get(t.Context(), "/ws/v1/node/resources/yarn.io%2Fgpu")
			if tc.problem == "" && err != nil || tc.problem != "" && (err == nil || !strings.Contains(err.Error(), tc.problem)) || string(got) != tc.want {
				t.Errorf("%q, %v", got, err)
			}
			if q := <-asked; !strings.HasPrefix(q, "GET /ws/v1/node/resources/yarn.io%2Fgpu?user.name=alice+b HTTP/1.0\r\n") {
				t.Errorf("asked %q", q)
			}
		})
	}
	if _, err := nodeManager(nil, "")(t.Context(), "/"); err == nil {
		t.Error("nobody was asked, and answered")
	}
}

func FuzzBody(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n{}"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		got, err := body(answer)
		if err == nil && !bytes.HasSuffix(answer, got) {
			t.Errorf("%q in %q", got, answer)
		}
		parseAssigned(got, "container_1")
	})
}

// canceled is a context that is over.
func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestANodeThatHangsIsLeft(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if _, err := get(canceled(t), ln.Addr().String(), "/"); err == nil {
		t.Error("no error")
	}
}
