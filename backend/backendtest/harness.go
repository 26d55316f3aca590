// Package backendtest is the conformance suite of backends: a Harness around a
// real or scripted backend comes in, test failures come out. It looks at a
// backend only from outside: what it answers, what stands in the job's journal
// and what is left behind. README.md of package backend says what is asked for.
package backendtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/history"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/storage"
)

// Harness is a backend together with what a test must be able to do to it.
type Harness struct {
	Backend backend.Backend
	FS      storage.FS // on which job directories lie
	// Slots is how many tasks of one CPU run at the same time; at least 3.
	Slots int
	// Command turns the words of a script (see backend/fake) into a command that
	// does the same on this backend.
	Command func(words ...string) spec.Command
	// Adapt gives a plan what the place asks of every job, such as a queue or a
	// size that lets exactly Slots tasks run; nil for nothing.
	Adapt func(p *plan.Plan)
	// Gathers says that slots of a gang that waits are collected one by one, on a
	// place that has no gangs of its own. It may hold some, but is granted none.
	Gathers bool
	// Lose makes a task's slot vanish with everything in it.
	Lose func(id string, task plan.TaskID) error
	// Preempt has the place take a task's slot away, after a warning of so long;
	// nil on a place that never takes slots away, or not at will.
	Preempt func(id string, task plan.TaskID, notice time.Duration) error
	// Takeover starts one more coordinator of a job while the first one lives.
	Takeover func(id string) error
	// Blind makes the backend unable to say what state its jobs are in.
	Blind func(on bool)
	// Held counts the slots that a job holds.
	Held func(id string) int
	// Left names what is left of a job: processes, slots, claims, mounts.
	Left func(id string) []string
	// Patience bounds every wait; Every is the time between two looks, 25 ms if
	// it is zero.
	Patience, Every time.Duration
}

// suite is one run of the conformance suite.
type suite struct {
	*Harness
	t   testing.TB
	ctx context.Context
}

// running is one job of a test.
type running struct {
	*suite
	ref  backend.Ref
	plan *plan.Plan
}

// job is a plan of one role.
func (s *suite) job(tasks int, words ...string) *plan.Plan {
	var random [plan.IDBytes]byte
	_, _ = rand.Read(random[:]) // never fails
	p := &plan.Plan{Version: plan.PlanVersion, ID: plan.NewID(random), Name: "conformance",
		User: "tester", Framework: "plain", Backend: s.Backend.Name(), Timing: plan.DefaultTiming(),
		Logs: spec.Logs{MaxSize: 1 << 20, Keep: 1}}
	p.Timing.Lease = spec.Duration(time.Minute)
	p.Timing.Verdict = spec.Duration(200 * time.Millisecond)
	p.Timing.LinkLoss = spec.Duration(3 * time.Second)
	p.Roles = []plan.Role{{Name: "worker", Instances: spec.Count{Min: tasks, Max: tasks}, Procs: 1, Resources: plan.Resources{CPUs: 1},
		Command: s.Command(words...), Ports: []plan.Port{{Name: "main"}}, Wait: true, Counted: true, OnFailure: spec.FailureStop,
		RestartScope: spec.ScopeTask, StopGrace: spec.Duration(5 * time.Second)}}
	if s.Adapt != nil {
		s.Adapt(p)
	}
	return p
}

func (s *suite) submit(p *plan.Plan) *running {
	s.t.Helper()
	sub := backend.Submission{Plan: p, Environ: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, Dir: "/", Umask: 0o022}
	ref, err := s.Backend.Submit(s.ctx, sub)
	if err != nil {
		s.t.Fatalf("submit: %v", err)
	}
	again, err := s.Backend.Submit(s.ctx, sub)
	if err != nil || again != ref {
		s.t.Fatalf("submit once more: %+v, %v; want the same answer as at first: %+v", again, err, ref)
	}
	return &running{suite: s, ref: ref, plan: p}
}

// events are the facts so far.
func (r *running) events() []event.Event {
	var out []event.Event
	for e, err := range history.Read(context.WithoutCancel(r.ctx), r.FS, r.ref.Dir, 0) {
		if err != nil {
			break // not there yet, or being written
		}
		out = append(out, e)
	}
	return out
}

// view is the job as the journal tells it.
func (r *running) view() session.View {
	s := session.New(session.Options{})
	for _, e := range r.events() {
		s.Evolve(e)
	}
	return s.View()
}

func (r *running) task(id string) session.TaskView {
	for _, t := range r.view().Tasks {
		if t.Task.String() == id {
			return t
		}
	}
	return session.TaskView{}
}

// until waits for something to become true.
func (s *suite) until(what string, ok func() bool) {
	s.t.Helper()
	limit := time.NewTimer(s.Patience)
	defer limit.Stop()
	tick := time.NewTicker(cmp.Or(s.Every, 25*time.Millisecond))
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			s.t.Fatalf("after %s still not: %s", s.Patience, what)
		}
	}
}

// stays checks that something is true for a while.
func (s *suite) stays(d time.Duration, what string, ok func() bool) {
	s.t.Helper()
	limit := time.NewTimer(d)
	defer limit.Stop()
	tick := time.NewTicker(cmp.Or(s.Every, 25*time.Millisecond))
	defer tick.Stop()
	for {
		if !ok() {
			s.t.Fatalf("not for %s: %s", d, what)
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return
		}
	}
}

func (r *running) untilState(task, state string) {
	r.t.Helper()
	r.until(fmt.Sprintf("%s is %s", task, state), func() bool { return r.task(task).State == state })
}

// end waits until the job is sealed and the backend has let go of it.
func (r *running) end() event.Outcome {
	r.t.Helper()
	var o event.Outcome
	r.t.Cleanup(func() {
		if r.t.Failed() {
			for _, e := range r.events() {
				r.t.Logf("%s %d.%d %s", e.At.Format("05.000"), e.Term, e.Seq, event.Text(e))
			}
		}
	})
	r.until("the job has ended", func() bool {
		for _, e := range r.events() {
			if f, ok := e.Body.(*event.JobFinished); ok {
				o = f.Outcome
				return true
			}
		}
		return false
	})
	r.until("the backend says that the job has ended", func() bool {
		st, err := r.Backend.Status(r.ctx, r.ref)
		return err == nil && st.Phase == backend.PhaseEnded
	})
	return o
}

func (r *running) nothingLeft() {
	r.t.Helper()
	r.until("nothing is left of the job", func() bool { return len(r.Left(r.ref.Job)) == 0 })
}

// count counts facts of one kind.
func count[B event.Body](events []event.Event, match func(B) bool) int {
	n := 0
	for _, e := range events {
		if b, ok := e.Body.(B); ok && match(b) {
			n++
		}
	}
	return n
}
