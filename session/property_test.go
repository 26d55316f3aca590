package session_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/spec"
)

func anyPlan(t *rapid.T) *plan.Plan {
	var roles []plan.Role
	for i := range rapid.IntRange(1, 3).Draw(t, "roles") {
		r := role(fmt.Sprintf("r%d", i), rapid.IntRange(1, 3).Draw(t, "instances"))
		r.OnFailure = rapid.SampledFrom([]spec.OnFailure{spec.FailureStop, spec.FailureRestart, spec.FailureTolerate, spec.FailureIgnore}).Draw(t, "on_failure")
		r.Restarts = rapid.IntRange(0, 2).Draw(t, "restarts")
		if rapid.IntRange(0, 2).Draw(t, "told") == 0 {
			r.OnPreempt = &spec.OnPreempt{Signal: rapid.SampledFrom([]string{"", "USR1"}).Draw(t, "signal"),
				Then: rapid.SampledFrom([]string{"", spec.ThenRequeue, spec.ThenStop}).Draw(t, "then")}
		}
		r.RestartScope = rapid.SampledFrom([]spec.Scope{spec.ScopeTask, spec.ScopeRole, spec.ScopeJob}).Draw(t, "scope")
		r.Wait = rapid.Bool().Draw(t, "wait")
		r.EndsJob = rapid.IntRange(0, 3).Draw(t, "ends") == 0
		if r.Instances.Max > 1 && rapid.Bool().Draw(t, "elastic") {
			r.Instances.Min = 1
		}
		if i > 0 {
			switch rapid.IntRange(0, 3).Draw(t, "after") {
			case 0:
				r.After = []spec.After{{Role: "r0", Is: spec.Ready}}
			case 1:
				r.After, r.Stage = []spec.After{{Role: "r0", Is: spec.Succeeded}}, 1
			}
		}
		roles = append(roles, r)
	}
	p := job(roles...)
	p.Framework = rapid.SampledFrom([]string{"plain", "pytorch"}).Draw(t, "framework")
	return p
}

// TestSessionProperties throws whatever can happen at a session, in any order.
// world checks at each start that no task has two live attempts.
func TestSessionProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := anyPlan(rt)
		total := 0
		for _, r := range p.Roles {
			total += r.Instances.Max
		}
		w := newWorldWith(t, p, rapid.IntRange(total, total+2).Draw(rt, "capacity"))
		w.batched = rapid.Bool().Draw(rt, "batched")
		for range rapid.IntRange(0, 40).Draw(rt, "steps") {
			step(rt, w)
			checkReplay(t, w)
		}
		drain(t, w)
		o := w.sealed()
		checkSealed(t, w, o)
		checkVerdict(t, w, o)
	})
}

func step(t *rapid.T, w *world) {
	ids := w.ids()
	if len(ids) == 0 || w.closed {
		w.wait(time.Second)
		return
	}
	x := w.slots[rapid.SampledFrom(ids).Draw(t, "slot")]
	switch rapid.IntRange(0, 15).Draw(t, "what") {
	case 0, 1:
		w.end(x, event.Exit{})
		w.say()
	case 2:
		w.end(x, event.Exit{Class: event.ClassExit, Status: 3, Symptom: rapid.Bool().Draw(t, "symptom")})
		w.say()
	case 3: // an old or repeated exit
		w.say(session.Exited{Slot: x.slot.Slot, Incarnation: rapid.IntRange(0, x.incarnation).Draw(t, "n") - 1,
			Exit: event.Exit{Class: event.ClassExit, Status: 9}})
	case 4: // a slot dies
		delete(w.slots, x.slot.Slot)
		w.say(session.Gone{Slot: x.slot.Slot, Class: event.ClassLost}, session.Gone{Slot: x.slot.Slot})
	case 5: // its executor falls silent
		w.say(session.Unlinked{Slot: x.slot.Slot})
	case 6:
		w.say(session.Ready{Slot: x.slot.Slot, Incarnation: x.incarnation})
	case 7:
		w.takeOver()
	case 8: // everything once more
		w.say(session.Registered{Slot: x.slot.Slot, Incarnation: x.incarnation, Host: "h"},
			session.Launched{Slot: x.slot.Slot}, session.Granted{Slot: x.slot})
		if x.phase == "running" {
			w.say(session.Started{Slot: x.slot.Slot, Incarnation: x.incarnation})
		}
	case 9: // somebody sets the clock, forwards or back
		w.now = w.now.Add(time.Duration(rapid.IntRange(-3600, 3600).Draw(t, "jump")) * time.Second)
		w.say(session.Tick{})
	case 10:
		w.wait(time.Duration(rapid.IntRange(0, 100).Draw(t, "seconds")) * time.Second)
	case 11: // it will be taken away, or not
		p := session.Preempting{Slots: []string{x.slot.Slot}, Reason: "another queue"}
		if rapid.IntRange(0, 2).Draw(t, "withdrawn") > 0 {
			p.Deadline = w.now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "notice")) * time.Second)
		}
		w.say(p, p)
	case 12: // it saved, asked or not
		w.end(x, event.Exit{Class: event.ClassExit, Status: 75})
		w.say()
	case 13: // it is taken away, warned or not
		delete(w.slots, x.slot.Slot)
		w.say(session.Gone{Slot: x.slot.Slot, Class: event.ClassPreempted, Blameless: true})
	case 14:
		w.say(session.Requeue{Request: fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "request")), By: "ann"})
	case 15: // its executor was told to end, and cannot say why
		w.end(x, event.Exit{Class: event.ClassLost, Status: 143})
		w.say()
	}
}

// drain lets every task end well until the job is over.
func drain(t testing.TB, w *world) {
	for range 1000 {
		if w.closed {
			return
		}
		for _, id := range w.ids() {
			if x := w.slots[id]; x != nil && x.phase == "running" {
				w.say(session.Ready{Slot: id, Incarnation: x.incarnation})
				w.end(x, event.Exit{})
				w.say()
			}
		}
		w.wait(10 * time.Minute)
		w.grantWaiting()
	}
	v, _ := json.MarshalIndent(w.s.View(), "", " ")
	t.Fatalf("the job never ends:\n%s", v)
}

func checkReplay(t testing.TB, w *world) {
	t.Helper()
	s := session.New(session.Options{})
	for _, e := range w.events {
		s.Evolve(e)
	}
	if d := cmp.Diff(w.s.View(), s.View()); d != "" {
		t.Fatalf("a replay shows another job (-live +replay):\n%s", d)
	}
	var live, again []string
	for _, a := range w.s.Pending() {
		live = append(live, a.Key())
	}
	for _, a := range s.Pending() {
		again = append(again, a.Key())
	}
	if d := cmp.Diff(live, again); d != "" {
		t.Fatalf("a replay has other things to do (-live +replay):\n%s", d)
	}
	if e := s.Decide(w.now, session.Tick{}); len(e) != 0 {
		t.Fatalf("a replay concludes more than the session did: %+v", e)
	}
	a, _ := w.s.Deadline()
	if b, _ := s.Deadline(); !a.Equal(b) {
		t.Fatalf("a replay has another deadline: %s, want %s", b, a)
	}
}

func checkSealed(t testing.TB, w *world, o event.Outcome) {
	n := len(w.events)
	w.say(session.Stop{By: "late"}, session.Tick{}, session.Exited{Slot: "s1", Incarnation: 1, Exit: event.Exit{Status: 1, Class: event.ClassExit}})
	if len(w.events) != n {
		t.Fatalf("a sealed job went on: %+v", w.events[n:])
	}
	if again, _ := w.s.Outcome(); cmp.Diff(o, again) != "" {
		t.Fatalf("a sealed job's outcome changed")
	}
}

// checkVerdict holds the outcome against the events.
func checkVerdict(t testing.TB, w *world, o event.Outcome) {
	last, again := map[plan.TaskID]event.Exit{}, map[plan.TaskID]bool{}
	for _, e := range w.events {
		switch b := e.Body.(type) {
		case *event.TaskExited:
			if !again[b.Task] {
				last[b.Task] = b.Exit
			}
		case *event.RestartDecided:
			for _, id := range b.Tasks { // what it ends with is answered
				delete(last, id)
				again[id] = true
			}
		case *event.EpochOpened:
			clear(again)
		}
	}
	switch o.State {
	case event.Succeeded:
		ended := false
		for _, r := range w.s.Plan().Roles {
			for n := range r.Instances.Max {
				x, ran := last[plan.TaskID{Role: r.Name, Index: n}]
				if ran && x.Failed() && (r.OnFailure == spec.FailureStop) {
					t.Fatalf("succeeded although %s/%d failed: %+v", r.Name, n, x)
				}
				ended = ended || ran && x.Class == event.ClassNone
			}
		}
	case event.Failed:
		if o.Origin == "task" {
			if x := last[o.Task]; !x.Failed() {
				t.Fatalf("the verdict names %s, which did not fail: %+v", o.Task, x)
			}
		}
	}
}
