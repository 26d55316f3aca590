package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/wire"
)

const jobID = "m-7k3f"

var worker = plan.TaskID{Role: "worker", Index: 0}

// job is a job's directory and authority; coordinators of any term may be
// opened in it.
type job struct {
	t    *testing.T
	dir  string
	auth *wire.Authority
}

func newJob(t *testing.T) *job {
	t.Helper()
	auth, err := wire.NewAuthority(jobID)
	if err != nil {
		t.Fatal(err)
	}
	j := &job{t: t, dir: t.TempDir(), auth: auth}
	for _, d := range []string{"endpoint", "blobs", "checkpoint"} {
		if err := os.Mkdir(filepath.Join(j.dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

// desk is a coordinator: it remembers what it is told.
type desk struct {
	t    *testing.T
	term int64
	addr string
	srv  *wire.Server

	ahead time.Duration // how far its clock is before this machine's

	stop func()

	mu       sync.Mutex
	link     *wire.Link
	hellos   []wire.Hello
	got      []wire.Message
	unlinked []error
}

// coordinator opens one; its endpoint file is written if wanted.
func (j *job) coordinator(term int64, announce bool) *desk {
	j.t.Helper()
	conf, err := j.auth.Coordinator()
	if err != nil {
		j.t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		j.t.Fatal(err)
	}
	d := &desk{t: j.t, term: term, addr: ln.Addr().String()}
	d.srv = &wire.Server{TLS: conf, Handler: d}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.srv.Serve(ctx, ln) }()
	d.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			j.t.Error(err)
		}
	})
	j.t.Cleanup(d.stop)
	if announce {
		text, err := json.Marshal(endpoint{Term: term, Address: d.addr})
		if err == nil {
			err = os.WriteFile(filepath.Join(j.dir, "endpoint", fmt.Sprintf("%06d", term)), text, 0o600)
		}
		if err != nil {
			j.t.Fatal(err)
		}
	}
	return d
}

func (d *desk) Linked(l *wire.Link, h wire.Hello) (wire.Welcome, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.link, d.hellos = l, append(d.hellos, h)
	return wire.Welcome{Term: d.term, Beat: 20 * time.Millisecond, Now: time.Now().Add(d.ahead)}, nil
}

func (d *desk) Received(_ *wire.Link, m wire.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.got = append(d.got, m)
}

func (d *desk) Unlinked(l *wire.Link, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unlinked = append(d.unlinked, err)
	if d.link == l {
		d.link = nil
	}
}

// send gives a directive to the executor, once it is linked.
func (d *desk) send(directive wire.Directive) {
	d.t.Helper()
	eventually(d.t, "link", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.link != nil && d.link.Send(directive) == nil
	})
}

// all gives every message so far that pick finds something in.
func all[T any](d *desk, pick func(wire.Message) *T) []T {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []T
	for _, m := range d.got {
		if v := pick(m); v != nil {
			out = append(out, *v)
		}
	}
	return out
}

// wait gives the first message, now or later, that pick finds something in.
func wait[T any](d *desk, pick func(wire.Message) *T) T {
	d.t.Helper()
	var found []T
	eventually(d.t, fmt.Sprintf("a %T", *new(T)), func() bool { found = all(d, pick); return len(found) > 0 })
	return found[0]
}

func (d *desk) hello(n int) wire.Hello {
	d.t.Helper()
	eventually(d.t, "hello", func() bool { d.mu.Lock(); defer d.mu.Unlock(); return len(d.hellos) > n })
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hellos[n]
}

func (d *desk) reason() error {
	d.t.Helper()
	eventually(d.t, "unlinked", func() bool { d.mu.Lock(); defer d.mu.Unlock(); return len(d.unlinked) > 0 })
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.unlinked[0]
}

// The messages of one incarnation.
func registered(n int) func(wire.Message) *wire.Registered {
	return func(m wire.Message) *wire.Registered {
		return only(m.Registered, func(r wire.Registered) bool { return r.Incarnation == n })
	}
}

func started(n int) func(wire.Message) *wire.Started {
	return func(m wire.Message) *wire.Started {
		return only(m.Started, func(s wire.Started) bool { return s.Incarnation == n })
	}
}

func ready(n int) func(wire.Message) *wire.Ready {
	return func(m wire.Message) *wire.Ready {
		return only(m.Ready, func(r wire.Ready) bool { return r.Incarnation == n })
	}
}

func exitOf(n int) func(wire.Message) *wire.Exited {
	return func(m wire.Message) *wire.Exited {
		return only(m.Exited, func(e wire.Exited) bool { return e.Incarnation == n })
	}
}

func only[T any](v *T, ok func(T) bool) *T {
	if v == nil || !ok(*v) {
		return nil
	}
	return v
}

// context is the start file of a task's executor.
func (j *job) context(d *desk, task plan.TaskID) Context {
	j.t.Helper()
	cert, key, err := j.auth.Issue(task)
	if err != nil {
		j.t.Fatal(err)
	}
	return Context{
		Job: jobID, Slot: "s-" + task.Role, Task: task, Term: d.term,
		Endpoints: filepath.Join(j.dir, "endpoint"), Address: d.addr,
		Authority: j.auth.Certificate(), Cert: cert, Key: key,
		Root:       filepath.Join(j.dir, "tasks", task.Role+"-0"),
		Checkpoint: filepath.Join(j.dir, "checkpoint"), Blobs: filepath.Join(j.dir, "blobs"),
		Environ: map[string]string{"PATH": os.Getenv("PATH"), "HOME": j.dir},
		Logs:    spec.Logs{MaxSize: 1 << 20, Keep: 1},
		Lease:   spec.Duration(time.Minute), Grace: spec.Duration(10 * time.Second),
	}
}

// life is an executor that runs in the test's own process.
type life struct {
	t      *testing.T
	cancel context.CancelFunc
	done   chan error
	log    *buffer
}

func live(t *testing.T, c Context) *life {
	t.Helper()
	return liveWith(t, c, Options{})
}

// liveWith takes what a birth would give.
func liveWith(t *testing.T, c Context, opt Options) *life {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &life{t: t, cancel: cancel, done: make(chan error, 1), log: &buffer{}}
	opt.Guardian, opt.Agent, opt.Version, opt.Log = self(t, "guardian"), self(t, "agent"), "test", slog.New(slog.NewTextHandler(l.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	opt.Limits = wire.Limits{Greeting: 5 * time.Second}
	go func() { l.done <- Run(ctx, c, opt) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-l.done:
		case <-time.After(30 * time.Second):
			t.Error("the executor does not end")
		}
		if t.Failed() {
			t.Log(l.log.String())
		}
	})
	return l
}

// end waits for the executor's own end.
func (l *life) end() error {
	l.t.Helper()
	select {
	case err := <-l.done:
		l.done <- err // for the cleanup
		return err
	case <-time.After(30 * time.Second):
		l.t.Fatal("the executor does not end")
		return nil
	}
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// shell is a launch of one process.
func shell(script string) plan.Launch {
	return plan.Launch{Argv: []string{"bash", "-c", script}}
}

// play prepares and starts an incarnation.
func (d *desk) play(n int, l plan.Launch, ports ...plan.Port) wire.Started {
	d.t.Helper()
	d.send(wire.Directive{Prepare: &wire.Prepare{Incarnation: n, Epoch: n, Ports: ports}})
	if r := wait(d, registered(n)); r.Exit != nil {
		d.t.Fatalf("not prepared: %s", r.Exit.Text)
	}
	d.send(wire.Directive{Start: &wire.Start{Incarnation: n, Epoch: n, Launch: l}})
	return wait(d, started(n))
}

// exits runs one incarnation to its end.
func (d *desk) exits(n int, l plan.Launch) event.Exit {
	d.t.Helper()
	d.play(n, l)
	return wait(d, exitOf(n)).Exit
}

// alive says that a process is there and no zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && stateOf(string(stat)) != "Z"
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}
