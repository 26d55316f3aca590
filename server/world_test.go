package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/local"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/server"
	"github.com/muster-project/muster/spec"
)

const soon = 20 * time.Second

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.NewTimer(soon)
	defer end.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end.C:
			t.Fatalf("%s: did not happen within %v", what, soon)
		}
	}
}

// shortDir is a directory whose path leaves room for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "muster-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// world is one machine's directories.
type world struct {
	t      *testing.T
	state  string
	claims string
}

func newWorld(t *testing.T) *world {
	dir := shortDir(t)
	w := &world{t: t, state: filepath.Join(dir, "state"), claims: filepath.Join(dir, "claims")}
	t.Cleanup(w.killAll)
	return w
}

// killAll ends what tests leave behind on purpose.
func (w *world) killAll() {
	files, _ := filepath.Glob(filepath.Join(w.state, "jobs/*/slots/*/pids"))
	for _, f := range files {
		data, _ := os.ReadFile(f)
		for line := range strings.Lines(string(data)) {
			if pid, err := strconv.Atoi(strings.Fields(line)[0]); err == nil {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
	// A coordinator that has just been started has not noted its pid yet.
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range lines {
		argv, _ := os.ReadFile(f)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if bytes.Contains(argv, []byte("\x00"+w.state+"/")) && pid != os.Getpid() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// serve runs a server in this process until the test ends or stop is called.
func (w *world) serve(change ...func(*server.Config)) (stop func() error) {
	w.t.Helper()
	c := config(w.state, w.claims, slog.New(slog.NewTextHandler(testWriter{w.t}, &slog.HandlerOptions{Level: slog.LevelDebug})))
	for _, f := range change {
		f(&c)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx, c) }()
	ended := false
	stop = func() error {
		if ended {
			return nil
		}
		ended = true
		cancel()
		return <-done
	}
	w.t.Cleanup(func() { stop() })
	socket := c.Socket
	if socket == "" {
		socket = api.Socket(w.state)
	}
	cl := w.clientOf(socket)
	eventually(w.t, "the server answers", func() bool {
		select {
		case err := <-done:
			w.t.Fatalf("server: %v", err)
		default:
		}
		_, err := cl.Hello(w.t.Context())
		return err == nil
	})
	return stop
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	if w.t.Context().Err() == nil {
		w.t.Logf("%s", strings.TrimSpace(string(p)))
	}
	return len(p), nil
}

// spawn runs a server in a process of its own.
func (w *world) spawn(idle string, shared bool) *exec.Cmd {
	w.t.Helper()
	argv := self("as-server", w.state, w.claims, idle, strconv.FormatBool(shared))
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	c := w.client()
	eventually(w.t, "the server answers", func() bool {
		_, err := c.Hello(w.t.Context())
		return err == nil
	})
	return cmd
}

func (w *world) client() *api.Client { return w.clientOf(api.Socket(w.state)) }

func (w *world) clientOf(socket string) *api.Client {
	c := api.NewClient(socket, nil)
	w.t.Cleanup(c.Close)
	return c
}

// job is a plan with one role, worker, of n tasks.
func job(id, name string, n int, r plan.Resources) *plan.Plan {
	return &plan.Plan{Version: plan.PlanVersion, ID: id, Name: name, Backend: "local", Framework: "plain",
		Roles: []plan.Role{{Name: "worker", Instances: spec.Count{Min: n, Max: n}, Procs: 1, Resources: r,
			Command: spec.Command{Argv: []string{"true"}}, StopGrace: spec.Duration(time.Second)}}, Timing: plan.DefaultTiming()}
}

const (
	idA = "m-aaaaaaaaaa"
	idB = "m-bbbbbbbbbb"
	idC = "m-cccccccccc"
)

func (w *world) submit(c *api.Client, p *plan.Plan) backend.Ref {
	w.t.Helper()
	ref, err := c.Submit(w.t.Context(), backend.Submission{Plan: p, Environ: []string{"A=b"}, Dir: "/", Umask: 0o22})
	if err != nil {
		w.t.Fatalf("submit: %v", err)
	}
	return ref
}

// starts are the coordinators that a job had, by pid.
func starts(dir string) []int {
	data, _ := os.ReadFile(filepath.Join(dir, "starts"))
	var pids []int
	for line := range strings.Lines(string(data)) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		pid, _ := strconv.Atoi(strings.Fields(line)[0])
		pids = append(pids, pid)
	}
	return pids
}

func (w *world) awaitStarts(dir string, n int) []int {
	w.t.Helper()
	eventually(w.t, "coordinator start "+strconv.Itoa(n), func() bool {
		if len(starts(dir)) < n {
			return false
		}
		alive, err := local.Alive(dir)
		return alive && err == nil
	})
	return starts(dir)
}

func (w *world) awaitState(c *api.Client, id, state string) api.Job {
	w.t.Helper()
	var j api.Job
	eventually(w.t, id+" is "+state, func() bool {
		var err error
		j, err = c.Job(w.t.Context(), id)
		return err == nil && j.State == state
	})
	return j
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}
