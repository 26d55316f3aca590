package coordinator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/fake"
	"github.com/muster-project/muster/coordinator"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/framework/plain"
	"github.com/muster-project/muster/history"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/storage"
	"github.com/muster-project/muster/storage/faulty"
	"github.com/muster-project/muster/storage/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is one job on a fake cluster whose coordinator the test runs itself.
type bench struct {
	t    *testing.T
	fs   storage.FS
	fw   framework.Framework
	dir  string
	fake *fake.Cluster
	plan *plan.Plan
	log  *slog.Logger
}

func newBench(t *testing.T, words ...string) *bench {
	return newBenchWith(t, func(*plan.Plan) {}, words...)
}

func newBenchWith(t *testing.T, change func(*plan.Plan), words ...string) *bench {
	b := &bench{t: t, fs: local.FS{Lazy: true}, fw: plain.Framework{}}
	var random [plan.IDBytes]byte
	copy(random[:], t.Name())
	b.plan = &plan.Plan{Version: plan.PlanVersion, ID: plan.NewID(random), Framework: "plain", Timing: plan.DefaultTiming()}
	b.plan.Timing.Lease = spec.Duration(time.Minute)
	b.plan.Roles = []plan.Role{{Name: "worker", Instances: spec.Count{Min: 2, Max: 2}, Procs: 1, Wait: true, Counted: true,
		Command: spec.Command{Argv: append([]string{"fake"}, words...)}, Ports: []plan.Port{{Name: "main"}},
		OnFailure: spec.FailureStop, RestartScope: spec.ScopeTask, StopGrace: spec.Duration(5 * time.Second)}}
	change(b.plan)
	b.fake = &fake.Cluster{Slots: 2, State: t.TempDir(),
		Place: func(dir string, s backend.Submission) error {
			data, err := json.Marshal(s)
			return errors.Join(err, os.MkdirAll(filepath.Join(dir, "mailbox"), 0o700),
				os.WriteFile(filepath.Join(dir, "submission.json"), data, 0o600))
		},
		Coordinate: func(ctx context.Context, dir string, g backend.Opener) error { <-ctx.Done(); return nil }}
	b.fake.Start()
	t.Cleanup(b.fake.Shutdown)
	ref, err := b.fake.Submit(context.Background(), backend.Submission{Plan: b.plan})
	if err != nil {
		t.Fatal(err)
	}
	b.dir = ref.Dir
	return b
}

// run is one term.
func (b *bench) run(ctx context.Context) error {
	return coordinator.Run(ctx, coordinator.Config{Dir: b.dir, FS: b.fs, Gang: b.fake.Opener(b.plan.ID), Listen: "127.0.0.1:0",
		Framework: func(string) (framework.Framework, error) { return b.fw, nil }, Log: b.log})
}

func (b *bench) events() (out []event.Event) {
	for e, err := range history.Read(context.Background(), local.FS{}, b.dir, 0) {
		if err != nil {
			break
		}
		out = append(out, e)
	}
	return out
}

func (b *bench) view() session.View {
	s := session.New(session.Options{})
	for _, e := range b.events() {
		s.Evolve(e)
	}
	return s.View()
}

func (b *bench) until(what string, ok func() bool) {
	b.t.Helper()
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			b.t.Fatalf("still not: %s: %+v", what, b.view())
		}
	}
}

func (b *bench) running() bool {
	for _, t := range b.view().Tasks {
		if t.State != "running" {
			return false
		}
	}
	return len(b.view().Tasks) > 0
}

func (b *bench) outcome() event.Outcome {
	b.t.Helper()
	v := b.view()
	if v.Outcome == nil || v.Ended.IsZero() {
		b.t.Fatalf("the job is not sealed: %+v", v)
	}
	return *v.Outcome
}

// A disk that is full for a while delays the job and loses nothing.
func TestFullDisk(t *testing.T) {
	b := newBench(t, "sleep=300ms", "exit=0")
	var writes atomic.Int64
	b.fs = faulty.FS{FS: b.fs, Plan: func(c faulty.Call) faulty.Fault {
		if c.Op != faulty.Write || filepath.Base(filepath.Dir(c.Path)) != "journal" {
			return faulty.Fault{}
		}
		if n := writes.Add(1); n > 2 && n%3 != 0 {
			return faulty.Fault{Err: syscall.ENOSPC, Keep: c.Size / 2}
		}
		return faulty.Fault{}
	}}
	if err := b.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if o := b.outcome(); o.State != event.Succeeded {
		t.Errorf("%+v, want succeeded", o)
	}
	if writes.Load() < 6 {
		t.Errorf("%d writes: the disk was never full", writes.Load())
	}
}

// Beats are answered while the journal waits for a disk: nobody is lost. The log
// says that it waits, and that it goes on.
func TestSlowDiskLosesNobody(t *testing.T) {
	b := newBenchWith(t, func(p *plan.Plan) {
		p.Timing.Beat = spec.Duration(100 * time.Millisecond)
		p.Timing.LinkLoss, p.Timing.Silence = spec.Duration(2*time.Second), spec.Duration(2*time.Second)
	}, "sleep=5s", "exit=0")
	var said bytes.Buffer
	b.log = slog.New(slog.NewTextHandler(&said, nil))
	var once sync.Once
	b.fs = faulty.FS{FS: b.fs, Plan: func(c faulty.Call) faulty.Fault {
		if c.Op == faulty.Sync && b.fake.Held(b.plan.ID) == 2 {
			once.Do(func() { <-time.After(4 * time.Second) })
		}
		return faulty.Fault{}
	}}
	if err := b.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if o := b.outcome(); o.State != event.Succeeded {
		t.Errorf("%+v, want succeeded although one write took longer than anybody may be silent", o)
	}
	for _, want := range []string{"does not answer", "has answered"} {
		if n := strings.Count(said.String(), want); n != 1 {
			t.Errorf("the log says %d times that the storage %s:\n%s", n, want, &said)
		}
	}
}

// The next term goes on where the last one stopped; tasks do not notice.
func TestTakeover(t *testing.T) {
	b := newBench(t, "sleep=1500ms", "exit=0")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.run(ctx) }()
	b.until("both run", b.running)
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := b.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if o := b.outcome(); o.State != event.Succeeded {
		t.Errorf("%+v, want succeeded", o)
	}
	v := b.view()
	if v.Term != 2 || v.Tasks[0].Incarnation != 1 || v.Epoch != 1 {
		t.Errorf("term %d, epoch %d, incarnation %d; want 2, 1, 1", v.Term, v.Epoch, v.Tasks[0].Incarnation)
	}
}

// A stop that comes while no coordinator lives waits in the mailbox.
func TestMailWaits(t *testing.T) {
	b := newBench(t, "sleep=1m")
	for name, text := range map[string]string{"a.json": "{", "b.json": `{}`, "c.json": `{"stop":{"by":"ann"}}`, "d.json.new": `{"stop":{}}`} {
		if err := os.WriteFile(filepath.Join(b.dir, "mailbox", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if o := b.outcome(); o.State != event.Stopped || o.Text != "stopped by ann" {
		t.Errorf("%+v, want stopped by ann", o)
	}
	left, err := os.ReadDir(filepath.Join(b.dir, "mailbox"))
	if err != nil || len(left) != 1 {
		t.Errorf("%d messages left, want only the one that is not complete", len(left))
	}
}

// A sealed job has no further term.
func TestSealedStaysSealed(t *testing.T) {
	b := newBench(t, "exit=0")
	for range 2 {
		if err := b.run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if v := b.view(); v.Term != 1 {
		t.Errorf("term %d, want the first to be the last", v.Term)
	}
}

func TestSeal(t *testing.T) {
	b := newBench(t, "exit=0")
	if err := coordinator.Seal(context.Background(), b.fs, b.dir, coordinator.Broken(b.dir, "it died six times"), "test"); err != nil {
		t.Fatal(err)
	}
	if o := b.outcome(); o.Status != 70 || o.Class != event.ClassInternal || o.Text != "it died six times" {
		t.Errorf("%+v, want 70 and the reason", o)
	}
	if err := b.run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// broken is a framework whose launches cannot be computed.
type broken struct{ plain.Framework }

func (broken) Launch(*plan.Plan, *plan.Roster, plan.TaskID) (plan.Launch, error) {
	return plan.Launch{}, errors.New("no rendezvous port")
}

func TestFrameworkThatFailsEndsTheJob(t *testing.T) {
	b := newBench(t, "exit=0")
	b.fw = broken{}
	if err := b.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if o := b.outcome(); o.Class != event.ClassInternal || o.Status != 70 {
		t.Errorf("%+v, want an internal failure with 70", o)
	}
}

func TestNoSubmission(t *testing.T) {
	b := newBench(t, "exit=0")
	if err := os.WriteFile(filepath.Join(b.dir, "submission.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.run(context.Background()); err == nil {
		t.Error("a job without a plan runs")
	}
}
