package session_test

import (
	"slices"
	"testing"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/spec"
)

func onPreempt(signal string, before time.Duration, then string) func(*plan.Role) {
	return func(r *plan.Role) {
		r.OnPreempt = &spec.OnPreempt{Signal: signal, Before: spec.Duration(before), Then: then}
	}
}

// world of ranks: all of them start again together.
func ranks(roles ...plan.Role) *plan.Plan {
	p := job(roles...)
	p.Framework = "pytorch"
	return p
}

// preempt warns of the slots of tasks.
func (w *world) preempt(in time.Duration, tasks ...string) {
	w.t.Helper()
	var slots []string
	for _, task := range tasks {
		slots = append(slots, w.of(task).slot.Slot)
	}
	p := session.Preempting{Slots: slots, Reason: "for root.ml"}
	if in > 0 {
		p.Deadline = w.now.Add(in)
	}
	w.say(p)
}

// taken is the backend's kill of a slot.
func (w *world) taken(task string) {
	x := w.of(task)
	delete(w.slots, x.slot.Slot)
	w.say(session.Gone{Slot: x.slot.Slot, Class: event.ClassPreempted, Reason: "YARN preempted it on n1", Status: 143, Blameless: true})
}

// told are the tasks to whom a warning is on its way or was given, with what they
// were told last.
func (w *world) told() map[string]session.Preempt {
	out := map[string]session.Preempt{}
	for _, a := range w.s.Pending() {
		if p, ok := a.(session.Preempt); ok {
			out[p.Task.String()] = p
		}
	}
	return out
}

func (w *world) has(task, state string) {
	w.t.Helper()
	if got := w.state(task); got != state {
		w.t.Fatalf("%s is %s, want %s", task, got, state)
	}
}

func TestATaskThatSavedIsPreemptedAndGoesOn(t *testing.T) {
	w := newWorld(t, job(role("worker", 2, onPreempt("USR1", time.Minute, ""))))
	old := w.of("worker/1").slot.Slot
	w.preempt(15*time.Second, "worker/1")
	told := w.told()
	p, ok := told["worker/1"]
	if len(told) != 1 || !ok || p.Signal != "USR1" || p.Before != time.Minute || !p.Deadline.Equal(w.now.Add(15*time.Second)) || p.Reason != "for root.ml" {
		t.Fatalf("told: %+v, want worker/1 alone: tasks without a framework know nothing of each other", told)
	}
	w.exit("worker/1", 75)
	if w.slots[old] != nil {
		t.Errorf("the slot that is taken away is still held")
	}
	w.has("worker/1", "running")
	w.has("worker/0", "running")
	v := w.s.View()
	if v.Restarts != 0 || v.Preempted != 1 || v.Epoch != 2 || w.incarnation("worker/1") != 2 || w.incarnation("worker/0") != 1 {
		t.Errorf("%d restarts, %d preempted, epoch %d; want no restart and a second epoch", v.Restarts, v.Preempted, v.Epoch)
	}
	w.exit("worker/0", 0)
	w.exit("worker/1", 0)
	if o := w.sealed(); o.State != event.Succeeded || len(o.Warnings) > 0 {
		t.Errorf("%+v, want success without a word of failure", o)
	}
}

// 75 means "worth trying again" to many programs; only who was told has saved for us.
func TestSeventyFiveWithoutAWarningIsAFailure(t *testing.T) {
	w := newWorld(t, job(role("worker", 1)))
	w.exit("worker/0", 75)
	w.wait(3 * time.Second)
	if o := w.sealed(); o.State != event.Failed || o.Status != 75 || o.Class != event.ClassExit {
		t.Errorf("%+v, want failed with 75", o)
	}
}

func TestEndsThatAPreemptionExplains(t *testing.T) {
	lost := event.Exit{Class: event.ClassLost, Status: 143, Text: "executor was told to end by a signal"}
	for name, tc := range map[string]struct {
		exit event.Exit
		want string // the task's state then, before its next epoch
	}{
		"saved":                            {event.Exit{Class: event.ClassExit, Status: 75}, "preempted"},
		"ended by the signal that told it": {event.Exit{Class: event.ClassSignal, Status: 138, Signal: "SIGUSR1"}, "preempted"},
		"its executor was killed":          {lost, "preempted"},
		"done":                             {event.Exit{}, "succeeded"},
		"an error of its own":              {event.Exit{Class: event.ClassExit, Status: 3}, "failed"},
		"another signal":                   {event.Exit{Class: event.ClassSignal, Status: 139, Signal: "SIGSEGV"}, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldWith(t, job(role("worker", 1, onPreempt("USR1", 0, ""))), 1)
			w.preempt(10*time.Second, "worker/0")
			w.capacity = 0
			w.exitWith("worker/0", tc.exit)
			w.has("worker/0", tc.want)
			w.wait(3 * time.Second)
			if o, ended := w.s.Outcome(); ended == (tc.want == "preempted") {
				t.Errorf("ended %t with %+v", ended, o)
			}
		})
	}
}

// The kill itself, of a task that heard nothing or did nothing.
func TestAKilledTaskIsPreemptedHoweverItsEndIsHeard(t *testing.T) {
	for name, kill := range map[string]func(w *world){
		"from the backend":                  func(w *world) { w.taken("worker/0") },
		"warned, and then from the backend": func(w *world) { w.preempt(4*time.Second, "worker/0"); w.wait(4 * time.Second); w.taken("worker/0") },
		"from its executor, then the backend": func(w *world) {
			slot := w.of("worker/0").slot.Slot
			w.exitWith("worker/0", event.Exit{Class: event.ClassLost, Status: 143, Text: "executor was told to end by a signal"})
			if w.s.View().State != "running" {
				t.Error("something was decided before the backend could say why")
			}
			w.wait(3 * time.Second)
			delete(w.slots, slot)
			w.say(session.Gone{Slot: slot, Class: event.ClassPreempted, Reason: "YARN preempted it", Status: 143})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, job(role("worker", 1)))
			kill(w)
			w.has("worker/0", "running")
			if v := w.s.View(); v.Preempted != 1 || v.Restarts != 0 || v.Epoch != 2 {
				t.Errorf("%+v", v)
			}
		})
	}
}

// An executor that dies for another reason is not waited for longer than that.
func TestTheBackendsWordIsWaitedForOnlySoLong(t *testing.T) {
	w := newWorld(t, job(role("worker", 1)))
	w.exitWith("worker/0", event.Exit{Class: event.ClassLost, Status: 137, Text: "its guardian died"})
	w.wait(5 * time.Second)
	if o := w.sealed(); o.Class != event.ClassLost || o.Text != "worker/0 was lost: its guardian died" {
		t.Errorf("%+v", o)
	}
}

// A world of ranks cannot go on without one of them: everybody is told, everybody
// may save, and nobody who saves is disturbed.
func TestARankedWorldIsToldTogether(t *testing.T) {
	w := newWorld(t, ranks(role("worker", 3, onPreempt("USR1", 0, ""))))
	w.preempt(10*time.Second, "worker/1")
	if told := w.told(); len(told) != 3 {
		t.Fatalf("told: %v, want all three", told)
	}
	w.auto = false // nobody ends when stopped
	w.exit("worker/1", 75)
	for _, a := range w.s.Pending() {
		if st, ok := a.(session.StopTask); ok {
			t.Fatalf("%s is stopped while it may be saving", st.Task)
		}
	}
	w.auto = true
	w.exit("worker/0", 75)
	w.has("worker/2", "running")
	w.wait(11 * time.Second) // worker/2 does not listen: it is ended at the deadline
	for _, id := range []string{"worker/0", "worker/1", "worker/2"} {
		w.has(id, "running")
		if n := w.incarnation(id); n != 2 {
			t.Errorf("%s is in incarnation %d, want 2", id, n)
		}
	}
	if v := w.s.View(); v.Epoch != 2 || v.Preempted != 1 || v.Restarts != 0 || w.granted != 4 {
		t.Errorf("epoch %d, preempted %d times, %d restarts, %d slots; want 2, 1, 0 and one more slot than at first", v.Epoch, v.Preempted, v.Restarts, w.granted)
	}
}

// The others of a world break when one leaves; that is no failure either.
func TestWhoBreaksWhenAPreemptedRankLeavesHasNotFailed(t *testing.T) {
	for name, first := range map[string]string{"the echo first": "worker/1", "the cause first": "worker/0"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, ranks(role("worker", 2)))
			w.preempt(10*time.Second, "worker/0")
			ends := map[string]func(){
				"worker/0": func() { w.taken("worker/0") },
				"worker/1": func() { w.exitWith("worker/1", event.Exit{Class: event.ClassExit, Status: 1, Symptom: true}) },
			}
			ends[first]()
			for task, end := range ends {
				if task != first && w.incarnation(task) == 1 && (task == "worker/0" || w.state(task) == "running") {
					end()
				}
			}
			w.wait(12 * time.Second)
			if v := w.s.View(); v.State != "running" || v.Epoch != 2 {
				t.Errorf("%s in epoch %d, %+v; want running in the second", v.State, v.Epoch, v.Outcome)
			}
		})
	}
}

func TestAWarningThatIsWithdrawn(t *testing.T) {
	w := newWorld(t, ranks(role("worker", 2, onPreempt("USR1", 0, ""))))
	slot := w.of("worker/1").slot.Slot
	w.preempt(10*time.Second, "worker/1")
	first := w.told()["worker/0"]
	w.say(session.Preempting{Slots: []string{slot}})
	told := w.told()
	if len(told) != 2 || !told["worker/0"].Deadline.IsZero() || told["worker/0"].Signal != "" || told["worker/0"].Key() == first.Key() {
		t.Fatalf("told: %+v, want both to hear that they stay", told)
	}
	n := len(w.events)
	w.say(session.Preempting{Slots: []string{slot}}) // said again
	if len(w.events) != n {
		t.Errorf("a repeated withdrawal gave new facts")
	}
	w.preempt(10*time.Second, "worker/1") // and again in earnest
	if again := w.told()["worker/1"]; again.Deadline.IsZero() || again.Serial != 3 {
		t.Errorf("told %+v, want a third word", again)
	}
	w.say(session.Preempting{Slots: []string{slot}})
	w.exit("worker/1", 75) // it had saved before it heard of that
	w.wait(31 * time.Second)
	if v := w.s.View(); v.State != "running" || v.Epoch != 2 || v.Preempted != 1 {
		t.Errorf("%s in epoch %d; want to go on", v.State, v.Epoch)
	}
}

func TestThenStopEndsTheJobAsPreempted(t *testing.T) {
	w := newWorld(t, ranks(role("worker", 2, onPreempt("USR1", 0, "stop"))))
	w.preempt(10*time.Second, "worker/1")
	w.exit("worker/1", 75)
	o := w.sealed()
	if o.State != event.Preempted || o.Status != 75 || o.Origin != "muster" || o.Task.String() != "worker/1" || o.Class != event.ClassPreempted {
		t.Errorf("%+v, want preempted with 75", o)
	}
}

// A job that lost all its slots waits as long as it would in its queue; one that
// holds some while it waits for the rest does not hold them for ever.
func TestHowLongAPreemptedJobWaits(t *testing.T) {
	w := newWorld(t, ranks(role("worker", 2)))
	w.capacity = 0
	w.preempt(4*time.Second, "worker/0", "worker/1")
	w.taken("worker/0")
	w.taken("worker/1")
	w.wait(24 * time.Hour)
	if v := w.s.View(); v.State != "queued" || len(v.Waiting) == 0 {
		t.Fatalf("%s, %v, %+v; want to be queued", v.State, v.Waiting, v.Outcome)
	}
	w.capacity = 2
	w.grantWaiting()
	if v := w.s.View(); v.State != "running" || v.Epoch != 2 {
		t.Fatalf("%s in epoch %d once there is room", v.State, v.Epoch)
	}

	w = newWorld(t, ranks(role("worker", 2, restarts(1, spec.ScopeTask))))
	w.capacity = 1
	w.taken("worker/0")
	w.wait(6 * time.Minute)
	if o := w.sealed(); o.State != event.Preempted || o.Status != 75 {
		t.Errorf("%+v, want preempted: worth submitting again", o)
	}
}

// grantWaiting is a cluster in which there is room again.
func (w *world) grantWaiting() {
	for key := range w.done {
		if len(key) > 8 && key[:8] == "request " {
			delete(w.done, key)
		}
	}
	w.say(session.Tick{})
}

func TestRequeue(t *testing.T) {
	w := newWorld(t, ranks(role("ps", 1, unwaited), role("worker", 2, onPreempt("USR1", 0, ""))))
	old := w.ids()
	w.auto = false
	w.say(session.Requeue{Request: "r1", By: "ann"})
	told := w.told()
	if len(told) != 2 && len(told) != 3 || told["worker/0"].Signal != "USR1" || !told["worker/0"].Deadline.Equal(w.now.Add(30*time.Second)) {
		t.Fatalf("told: %+v", told)
	}
	stopped, heard := map[string]bool{}, map[string]bool{}
	for _, a := range w.s.Pending() {
		switch a := a.(type) {
		case session.Preempt:
			heard[a.Task.String()] = true
		case session.StopTask:
			stopped[a.Task.String()] = true
			if !heard[a.Task.String()] {
				t.Errorf("%s is stopped before it is told until when", a.Task)
			}
		}
	}
	if !stopped["ps/0"] || len(stopped) != 1 {
		t.Errorf("stopped: %v, want those that hear no signal of it", stopped)
	}
	w.auto = true
	w.end(w.of("ps/0"), event.Exit{Class: event.ClassSignal, Status: 143, Signal: "SIGTERM", Stopped: true})
	w.exit("worker/0", 75)
	w.exit("worker/1", 75)
	if v := w.s.View(); v.State != "running" || v.Epoch != 2 || v.Restarts != 0 {
		t.Fatalf("%s in epoch %d after %d restarts", v.State, v.Epoch, v.Restarts)
	}
	for _, id := range w.ids() {
		if slices.Contains(old, id) {
			t.Errorf("slot %s is still held", id)
		}
	}
	n := len(w.events)
	w.say(session.Requeue{Request: "r1", By: "ann"})
	if len(w.events) != n {
		t.Errorf("the same request again gave new facts")
	}
}

// What infrastructure takes away before anything of a task has run is asked for
// again, whatever the role's policy: it is about what runs.
func TestASlotThatIsLostBeforeTheStartFailsNobody(t *testing.T) {
	late := plan.TaskID{Role: "worker", Index: 1}
	w := newWorld(t, ranks(role("worker", 2)), late)
	w.has("worker/1", "called")
	clear(w.quiet)
	x := w.of("worker/1")
	delete(w.slots, x.slot.Slot)
	w.say(session.Gone{Slot: x.slot.Slot, Class: event.ClassLost, Reason: "it was granted to an earlier coordinator", Blameless: true})
	w.has("worker/0", "running")
	w.has("worker/1", "running")
	w.exit("worker/0", 0)
	w.exit("worker/1", 0)
	if o := w.sealed(); o.State != event.Succeeded {
		t.Errorf("%+v", o)
	}
}

// Infrastructure's faults cost nothing, but not for ever.
func TestBlamelessEndsCostNoRestart(t *testing.T) {
	w := newWorld(t, job(role("worker", 1, restarts(1, spec.ScopeTask))))
	lose := func() {
		x := w.of("worker/0")
		delete(w.slots, x.slot.Slot)
		w.say(session.Gone{Slot: x.slot.Slot, Class: event.ClassLost, Reason: "its node was lost", Blameless: true})
	}
	for range 10 {
		lose()
		w.has("worker/0", "running")
	}
	if got := w.s.View().Restarts; got != 10 {
		t.Errorf("%d restarts are shown, want 10", got)
	}
	lose() // the eleventh takes the only one there is
	w.wait(time.Minute)
	w.has("worker/0", "running")
	lose()
	w.wait(time.Minute)
	if o := w.sealed(); o.Class != event.ClassLost || o.State != event.Failed {
		t.Errorf("%+v", o)
	}

	w = newWorld(t, job(role("worker", 1))) // on_failure: stop means that, too
	lose()
	w.wait(time.Minute)
	if o := w.sealed(); o.Class != event.ClassLost || o.State != event.Failed {
		t.Errorf("%+v", o)
	}
}
