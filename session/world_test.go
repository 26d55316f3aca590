package session_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/spec"
)

// world plays backend and executors for one session: it does what Pending says
// and lets the test decide what happens next. It checks on the way that no task
// ever has two live attempts.
type world struct {
	t        testing.TB
	s        *session.Session
	now      time.Time
	events   []event.Event
	slots    map[string]*executor
	granted  int
	done     map[string]bool
	closed   bool
	auto     bool // registers, starts and grants at once
	quiet    map[plan.TaskID]bool
	capacity int
	batched  bool // what comes while it acts is heard together afterwards
	queue    []session.Input
}

type executor struct {
	slot        event.SlotGranted
	incarnation int
	phase       string
	stopping    bool
}

var epoch0 = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func newWorld(t testing.TB, p *plan.Plan, quiet ...plan.TaskID) *world {
	w := &world{t: t, s: session.New(session.Options{}), now: epoch0, slots: map[string]*executor{}, done: map[string]bool{},
		auto: true, quiet: map[plan.TaskID]bool{}, capacity: 1 << 20}
	for _, id := range quiet {
		w.quiet[id] = true
	}
	w.record(session.Submit(p, "ann", "here", w.now))
	w.s.Evolve(w.events[0])
	w.takeOver()
	return w
}

// takeOver is a new coordinator: its session is the replay of the journal.
func (w *world) takeOver() {
	s := session.New(session.Options{})
	for _, e := range w.events {
		s.Evolve(e)
	}
	open := event.Event{Seq: s.Seq() + 1, Term: 1, At: w.now, Body: &event.TermOpened{Term: 1}}
	w.record(open)
	s.Evolve(open)
	w.s, w.done = s, map[string]bool{}
	for _, id := range w.ids() {
		w.link(w.slots[id])
	}
	w.say(session.Tick{})
}

func (w *world) record(e ...event.Event) { w.events = append(w.events, e...) }

// say hands over inputs and then acts until nothing is pending any more.
func (w *world) say(in ...session.Input) {
	if w.batched {
		w.queue = append(w.queue, in...)
	} else {
		for _, i := range in {
			w.record(w.s.Decide(w.now, i)...)
		}
	}
	for {
		acted := len(w.queue) > 0
		w.record(w.s.Decide(w.now, w.queue...)...)
		w.queue = nil
		for _, a := range w.s.Pending() {
			if !w.done[a.Key()] {
				w.done[a.Key()] = true
				w.act(a)
				acted = true
			}
		}
		if !acted {
			return
		}
	}
}

func (w *world) act(a session.Action) {
	if w.closed {
		w.t.Fatalf("action %s after the job was closed", a.Key())
	}
	switch a := a.(type) {
	case session.Request:
		w.grant(a)
	case session.Launch:
		w.slots[a.Slot.Slot] = &executor{slot: a.Slot, phase: "idle"}
		w.decide(session.Launched{Slot: a.Slot.Slot})
		w.link(w.slots[a.Slot.Slot])
	case session.Prepare:
		x := w.slots[a.Slot]
		if x == nil || a.Incarnation <= x.incarnation {
			return
		}
		if x.phase == "running" {
			w.t.Fatalf("%s: incarnation %d prepared while %d runs", a.Task, a.Incarnation, x.incarnation)
		}
		x.incarnation, x.phase, x.stopping = a.Incarnation, "held", false
		if w.auto && !w.quiet[a.Task] {
			w.decide(session.Registered{Slot: a.Slot, Incarnation: a.Incarnation, Host: "h", Ports: map[string]int{"main": 1}})
		}
	case session.Start:
		w.start(a)
	case session.StopTask:
		if x := w.slots[a.Slot]; x != nil && x.incarnation == a.Incarnation {
			x.stopping = true
			if w.auto {
				w.end(x, event.Exit{Class: event.ClassSignal, Status: 143, Signal: "SIGTERM", Stopped: true})
			}
		}
	case session.Release:
		delete(w.slots, a.Slot)
		w.decide(session.Gone{Slot: a.Slot})
	case session.Close:
		w.closed = true
		if len(w.slots) > 0 {
			w.t.Fatalf("closed with %d slots left", len(w.slots))
		}
	}
}

func (w *world) grant(a session.Request) {
	held := len(w.slots)
	if !w.auto || w.capacity-held < a.Minimum {
		w.decide(session.Waiting{Request: a.Number, Reasons: []string{"cluster full"}})
		return
	}
	for _, id := range a.Tasks[:min(len(a.Tasks), w.capacity-held)] {
		w.granted++
		w.decide(session.Granted{Slot: event.SlotGranted{Slot: fmt.Sprintf("s%d", w.granted), Request: a.Number, Task: id, Node: "n1"}})
	}
}

func (w *world) start(a session.Start) {
	x := w.slots[a.Slot]
	if x == nil || x.incarnation != a.Incarnation || x.phase != "held" {
		return
	}
	if m := a.Roster.Member(a.Task); m == nil {
		w.t.Fatalf("%s is started under a roster without it", a.Task)
	}
	for _, o := range w.slots {
		if o != x && o.slot.Task == a.Task && o.phase == "running" {
			w.t.Fatalf("%s runs twice: in %s and %s", a.Task, o.slot.Slot, a.Slot)
		}
	}
	x.phase = "running"
	if w.auto {
		w.decide(session.Started{Slot: a.Slot, Incarnation: a.Incarnation, PIDs: []int{1}})
	}
}

func (w *world) decide(in session.Input) {
	if w.batched {
		w.queue = append(w.queue, in)
		return
	}
	w.record(w.s.Decide(w.now, in)...)
}

func (w *world) link(x *executor) {
	in := session.Linked{Slot: x.slot.Slot, Task: x.slot.Task, Incarnation: x.incarnation, Phase: x.phase, Host: "h"}
	w.decide(in)
}

// end ends the incarnation of an executor.
func (w *world) end(x *executor, e event.Exit) {
	if x.phase != "held" && x.phase != "running" {
		return
	}
	e.At = w.now
	x.phase = "exited"
	w.decide(session.Exited{Slot: x.slot.Slot, Incarnation: x.incarnation, Exit: e})
}

// exit ends a task by itself.
func (w *world) exit(task string, status int) {
	w.t.Helper()
	e := event.Exit{Status: status}
	if status != 0 {
		e.Class = event.ClassExit
	}
	w.exitWith(task, e)
}

func (w *world) exitWith(task string, e event.Exit) {
	w.t.Helper()
	x := w.of(task)
	if x == nil {
		w.t.Fatalf("%s has no executor", task)
	}
	w.end(x, e)
	w.say()
}

func (w *world) of(task string) *executor {
	for _, x := range w.slots {
		if x.slot.Task.String() == task {
			return x
		}
	}
	return nil
}

// gone loses a slot.
func (w *world) gone(task string) {
	x := w.of(task)
	delete(w.slots, x.slot.Slot)
	w.say(session.Gone{Slot: x.slot.Slot, Class: event.ClassLost, Reason: "node n1 died"})
}

// wait lets time pass, waking the session at each of its deadlines.
func (w *world) wait(d time.Duration) {
	end := w.now.Add(d)
	for {
		at, ok := w.s.Deadline()
		if !ok || at.After(end) {
			break
		}
		if at.After(w.now) {
			w.now = at
		}
		w.say(session.Tick{})
	}
	w.now = end
	w.say(session.Tick{})
}

func (w *world) ids() []string {
	var out []string
	for id := range w.slots {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

func (w *world) state(task string) string {
	for _, v := range w.s.View().Tasks {
		if v.Task.String() == task {
			return v.State
		}
	}
	return "unknown"
}

func (w *world) incarnation(task string) int {
	for _, v := range w.s.View().Tasks {
		if v.Task.String() == task {
			return v.Incarnation
		}
	}
	return 0
}

// sealed returns the outcome of a job that has ended.
func (w *world) sealed() event.Outcome {
	w.t.Helper()
	o, ok := w.s.Outcome()
	if !ok || !w.closed {
		w.t.Fatalf("the job has not ended: %s, sealed %t, closed %t", w.s.View().State, ok, w.closed)
	}
	return o
}

func role(name string, n int, opt ...func(*plan.Role)) plan.Role {
	r := plan.Role{Name: name, Instances: spec.Count{Min: n, Max: n}, Procs: 1, Wait: true, Counted: true,
		OnFailure: spec.FailureStop, RestartScope: spec.ScopeTask, StopGrace: spec.Duration(30 * time.Second)}
	for _, o := range opt {
		o(&r)
	}
	return r
}

func job(roles ...plan.Role) *plan.Plan {
	p := &plan.Plan{Version: plan.PlanVersion, ID: "m-test", Name: "test", Roles: roles, Timing: plan.DefaultTiming()}
	p.Timing.Lease = spec.Duration(5 * time.Minute)
	return p
}

func restarts(n int, scope spec.Scope) func(*plan.Role) {
	return func(r *plan.Role) { r.OnFailure, r.Restarts, r.RestartScope = spec.FailureRestart, n, scope }
}

func unwaited(r *plan.Role) { r.Wait, r.Counted = false, false }
func endsJob(r *plan.Role)  { r.EndsJob = true }
func tolerant(r *plan.Role) { r.OnFailure = spec.FailureTolerate }
func ignorant(r *plan.Role) { r.OnFailure = spec.FailureIgnore }
func after(name string, c spec.Condition) func(*plan.Role) {
	return func(r *plan.Role) { r.After = append(r.After, spec.After{Role: name, Is: c}) }
}
func stage(n int) func(*plan.Role) { return func(r *plan.Role) { r.Stage = n } }
