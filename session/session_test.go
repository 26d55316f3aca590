package session_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/spec"
)

func TestF010WorkerZeroFinishesFirst(t *testing.T) {
	w := newWorld(t, job(role("worker", 3)))
	w.exit("worker/0", 0)
	w.exit("worker/1", 0)
	if got := w.s.View().State; got != "running" {
		t.Fatalf("after two of three ended well the job is %s, want running", got)
	}
	w.exit("worker/2", 5)
	w.wait(time.Second)
	if o := w.sealed(); o.State != event.Failed || o.Status != 5 || o.Task.String() != "worker/2" || o.Origin != "task" {
		t.Errorf("outcome %+v, want failed by worker/2 with 5", o)
	}
}

func TestAllSucceed(t *testing.T) {
	w := newWorld(t, job(role("worker", 2)))
	w.exit("worker/0", 0)
	w.exit("worker/1", 0)
	if o := w.sealed(); o.State != event.Succeeded || o.Status != 0 {
		t.Errorf("outcome %+v, want succeeded", o)
	}
}

func TestF007AParameterServerCrashes(t *testing.T) {
	w := newWorld(t, job(role("ps", 1, unwaited), role("worker", 1)))
	w.exit("ps/0", 1)
	w.wait(3 * time.Second)
	if o := w.sealed(); o.State != event.Failed || o.Task.String() != "ps/0" {
		t.Errorf("outcome %+v, want failed by ps/0", o)
	}

	w = newWorld(t, job(role("ps", 1, unwaited), role("worker", 1)))
	w.exit("ps/0", 0)
	w.exit("worker/0", 0)
	if o := w.sealed(); o.State != event.Succeeded {
		t.Errorf("a ps that ends well makes the job %s", o.State)
	}
}

func TestF008ParameterServersThatNeverExit(t *testing.T) {
	w := newWorld(t, job(role("ps", 2, unwaited), role("worker", 2)))
	w.exit("worker/0", 0)
	w.exit("worker/1", 0)
	if o := w.sealed(); o.State != event.Succeeded {
		t.Errorf("outcome %+v, want succeeded", o)
	}
	if got := w.state("ps/1"); got != "stopped" {
		t.Errorf("ps/1 is %s, want stopped", got)
	}
}

func TestF011FailureOfASideWorker(t *testing.T) {
	for name, tc := range map[string]struct {
		policy func(*plan.Role)
		want   event.State
		runs   bool // after the worker failed
	}{
		"the rest goes on, the job has failed": {tolerant, event.Failed, true},
		"stop at the first":                    {func(*plan.Role) {}, event.Failed, false},
		"ignored, with a warning":              {ignorant, event.Succeeded, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, job(role("chief", 1, endsJob), role("worker", 2, tc.policy)))
			w.exit("worker/1", 1)
			if got := w.state("chief/0") == "running"; got != tc.runs {
				t.Fatalf("chief runs: %t, want %t", got, tc.runs)
			}
			if tc.runs {
				w.exit("chief/0", 0)
			} else {
				w.wait(3 * time.Second)
			}
			o := w.sealed()
			if o.State != tc.want {
				t.Errorf("state %s, want %s", o.State, tc.want)
			}
			if o.State == event.Failed && (o.Status != 1 || o.Task.String() != "worker/1") {
				t.Errorf("outcome %+v, want status 1 of worker/1", o)
			}
			if o.State == event.Succeeded && len(o.Warnings) != 1 {
				t.Errorf("warnings %q, want one about worker/1", o.Warnings)
			}
		})
	}
}

func TestToleratedNumber(t *testing.T) {
	w := newWorld(t, job(role("worker", 4, tolerant, func(r *plan.Role) { r.MaxFailures.Percent = 50 })))
	w.exit("worker/0", 1)
	w.exit("worker/1", 1)
	w.exit("worker/2", 0)
	if got := w.s.View().State; got != "running" {
		t.Fatalf("two of four may fail, but the job is %s", got)
	}
	w.exit("worker/3", 0)
	if o := w.sealed(); o.State != event.Succeeded || len(o.Warnings) != 2 {
		t.Errorf("outcome %+v, want succeeded with two warnings", o)
	}
}

func TestF053TheFirstStatusWins(t *testing.T) {
	w := newWorld(t, job(role("worker", 4)))
	w.exit("worker/2", 93)
	w.wait(3 * time.Second)
	if o := w.sealed(); o.Status != 93 || o.Task.String() != "worker/2" {
		t.Errorf("outcome %+v, want 93 of worker/2", o)
	}
	if got := w.state("worker/0"); got != "stopped" {
		t.Errorf("worker/0 is %s, want stopped", got)
	}
}

// A rank whose peer died reports first; the cause follows a moment later.
func TestACauseOutranksItsSymptom(t *testing.T) {
	w := newWorld(t, job(role("worker", 2)))
	w.exitWith("worker/0", event.Exit{Class: event.ClassExit, Status: 1, Symptom: true})
	if got := w.state("worker/1"); got != "running" {
		t.Fatalf("worker/1 is %s while the symptom of worker/0 waits for its cause", got)
	}
	w.wait(time.Second)
	w.exitWith("worker/1", event.Exit{Class: event.ClassMemory, Status: 137})
	if o := w.sealed(); o.Task.String() != "worker/1" || o.Class != event.ClassMemory {
		t.Errorf("outcome %+v, want out of memory of worker/1", o)
	}

	w = newWorld(t, job(role("worker", 2)))
	w.exitWith("worker/0", event.Exit{Class: event.ClassExit, Status: 1, Symptom: true})
	w.wait(3 * time.Second)
	if o := w.sealed(); o.Task.String() != "worker/0" {
		t.Errorf("outcome %+v, want the symptom itself when no cause comes", o)
	}
}

// Whose fault it was, and what to do, follow from what failed: a task whose
// command nobody could run yet says nothing of the command.
func TestTheVerdictSaysWhoseFaultItWas(t *testing.T) {
	const command = "check the command and that its program is in the work directory or on PATH"
	const prepare = "the command was not run: see whether the storage answers and the node has room, then submit it again; the executor's log has more"
	for name, tc := range map[string]struct {
		exit         event.Exit
		origin, hint string
	}{
		"its own status":           {event.Exit{Class: event.ClassExit, Status: 3}, "task", ""},
		"no such program":          {event.Exit{Class: event.ClassStart, Status: 127, Text: "x: no such program"}, "task", command},
		"a program that is python": {event.Exit{Class: event.ClassStart, Status: 127, Text: "python: no such program"}, "task", command},
		"a port":                   {event.Exit{Class: event.ClassStart, Status: 126, Text: "ports.http: 80 is taken"}, "task", "let the job take any free port (0) instead of a fixed one, or end what holds it"},
		"storage":                  {event.Exit{Class: event.ClassPrepare, Status: 126, Text: "checkpoints cannot be fetched: namenode: away"}, "muster", prepare},
		"no room":                  {event.Exit{Class: event.ClassPrepare, Status: 126, Text: "/d/logs: cannot be made: no space left on device"}, "muster", prepare},
		"a missing file":           {event.Exit{Class: event.ClassPrepare, Status: 126, Text: "files: data.csv: /x: cannot be read: no such file or directory"}, "muster", ""},
		"a work directory":         {event.Exit{Class: event.ClassPrepare, Status: 126, Text: "workdir /x: is not a directory"}, "muster", ""},
		"a hint of its own":        {event.Exit{Class: event.ClassPrepare, Status: 126, Text: "its login ended\nhint: log in again"}, "muster", "log in again"},
		"an executor that died":    {event.Exit{Class: event.ClassLost, Text: "its node is gone"}, "muster", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, job(role("worker", 1)))
			w.exitWith("worker/0", tc.exit)
			w.wait(5 * time.Second)
			o := w.sealed()
			if o.Origin != tc.origin || o.Hint != tc.hint || o.Class != tc.exit.Class {
				t.Errorf("origin %q, class %q, hint %q; want %q, %q, %q", o.Origin, o.Class, o.Hint, tc.origin, tc.exit.Class, tc.hint)
			}
		})
	}
}

func TestRestartScopes(t *testing.T) {
	for name, tc := range map[string]struct {
		scope spec.Scope
		want  map[string]int // incarnations after worker/1 failed
	}{
		"task": {spec.ScopeTask, map[string]int{"ps/0": 1, "worker/0": 1, "worker/1": 2}},
		"role": {spec.ScopeRole, map[string]int{"ps/0": 1, "worker/0": 2, "worker/1": 2}},
		"job":  {spec.ScopeJob, map[string]int{"ps/0": 2, "worker/0": 2, "worker/1": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, job(role("ps", 1, unwaited), role("worker", 2, restarts(1, tc.scope))))
			slots := w.granted
			w.exit("worker/1", 7)
			for task, n := range tc.want {
				if got := w.incarnation(task); got != n {
					t.Errorf("%s is in incarnation %d, want %d", task, got, n)
				}
			}
			if w.granted != slots {
				t.Errorf("%d more slots were asked for; executors outlive incarnations", w.granted-slots)
			}
			if v := w.s.View(); v.Epoch != 2 || v.State != "running" {
				t.Errorf("epoch %d, %s; want a second one that runs", v.Epoch, v.State)
			}
			w.exit("worker/1", 7)
			w.wait(3 * time.Second)
			if o := w.sealed(); o.Status != 7 {
				t.Errorf("outcome %+v, want 7 when no restart is left", o)
			}
		})
	}
}

func TestALostSlotIsReplaced(t *testing.T) {
	w := newWorld(t, job(role("worker", 2, restarts(1, spec.ScopeJob))))
	w.gone("worker/0")
	if got := w.s.View().State; got != "running" || w.granted != 3 {
		t.Fatalf("%s with %d grants, want running with a third slot", got, w.granted)
	}
	w.exit("worker/0", 0)
	w.exit("worker/1", 0)
	if o := w.sealed(); o.State != event.Succeeded {
		t.Errorf("outcome %+v", o)
	}
}

func TestNoReplacement(t *testing.T) {
	w := newWorld(t, job(role("worker", 2, restarts(3, spec.ScopeJob))))
	w.capacity = 1
	w.gone("worker/0")
	w.wait(6 * time.Minute)
	if o := w.sealed(); o.Class != event.ClassLost || o.Status != 75 {
		t.Errorf("outcome %+v, want lost, worth retrying", o)
	}
}

func TestElasticGangStartsSmaller(t *testing.T) {
	p := job(role("worker", 4, func(r *plan.Role) { r.Instances.Min = 2 }))
	w := &world{}
	*w = *newWorldWith(t, p, 3)
	if got := w.s.View().State; got != "queued" {
		t.Fatalf("%s, want to wait a moment for the fourth", got)
	}
	w.wait(3 * time.Second)
	if got := w.state("worker/3"); got != "absent" || w.s.View().State != "running" {
		t.Fatalf("worker/3 is %s and the job %s", got, w.s.View().State)
	}
	for _, id := range []string{"worker/0", "worker/1", "worker/2"} {
		w.exit(id, 0)
	}
	if o := w.sealed(); o.State != event.Succeeded {
		t.Errorf("outcome %+v", o)
	}
}

func newWorldWith(t testing.TB, p *plan.Plan, capacity int) *world {
	w := &world{t: t, s: session.New(session.Options{}), now: epoch0, slots: map[string]*executor{}, done: map[string]bool{},
		auto: true, quiet: map[plan.TaskID]bool{}, capacity: capacity}
	w.record(session.Submit(p, "ann", "here", w.now))
	w.s.Evolve(w.events[0])
	w.takeOver()
	return w
}

func TestStages(t *testing.T) {
	w := newWorld(t, job(role("prepare", 1), role("train", 2, after("prepare", spec.Succeeded), stage(1))))
	if got := w.state("train/0"); got != "waiting" || w.granted != 1 {
		t.Fatalf("train/0 is %s with %d slots granted, want waiting with 1", got, w.granted)
	}
	w.exit("prepare/0", 0)
	if got := w.state("train/0"); got != "running" {
		t.Fatalf("train/0 is %s, want running", got)
	}
	w.exit("train/0", 0)
	w.exit("train/1", 0)
	if o := w.sealed(); o.State != event.Succeeded {
		t.Errorf("outcome %+v", o)
	}
}

func TestAfterReady(t *testing.T) {
	w := newWorld(t, job(role("server", 1, unwaited), role("client", 1, after("server", spec.Ready))))
	if got := w.state("client/0"); got != "held" {
		t.Fatalf("client/0 is %s, want held", got)
	}
	w.say(session.Ready{Slot: w.of("server/0").slot.Slot, Incarnation: 1})
	if got := w.state("client/0"); got != "running" {
		t.Fatalf("client/0 is %s, want running", got)
	}
}

func TestLinger(t *testing.T) {
	evaluator := role("evaluator", 1, unwaited, func(r *plan.Role) { r.Linger = &spec.Linger{For: spec.Duration(time.Minute), Then: "stop"} })
	w := newWorld(t, job(role("chief", 1, endsJob), evaluator))
	w.exit("chief/0", 0)
	w.wait(59 * time.Second)
	if got := w.state("evaluator/0"); got != "running" {
		t.Fatalf("evaluator/0 is %s before its minute is over", got)
	}
	w.wait(2 * time.Second)
	if o := w.sealed(); o.State != event.Succeeded || w.state("evaluator/0") != "stopped" {
		t.Errorf("outcome %+v, evaluator %s", o, w.state("evaluator/0"))
	}
}

func TestTimeouts(t *testing.T) {
	t.Run("queue", func(t *testing.T) {
		p := job(role("worker", 2))
		p.Timeout.Queue = spec.Duration(time.Hour)
		w := newWorldWith(t, p, 1)
		w.wait(time.Hour)
		if o := w.sealed(); o.Status != 124 || o.State != event.TimedOut {
			t.Errorf("outcome %+v", o)
		}
	})
	t.Run("run", func(t *testing.T) {
		p := job(role("worker", 2))
		p.Timeout.Run = spec.Duration(time.Hour)
		w := newWorld(t, p)
		w.wait(time.Hour)
		if o := w.sealed(); o.Status != 124 || o.State != event.TimedOut {
			t.Errorf("outcome %+v", o)
		}
	})
	t.Run("start of one that is held", func(t *testing.T) {
		p := job(role("ps", 1), role("worker", 1, after("ps", spec.Ready)))
		p.Timeout.Start = spec.Duration(time.Minute)
		w := newWorld(t, p)
		w.wait(time.Minute)
		o := w.sealed()
		if o.Status != 124 || o.State != event.TimedOut || o.Text != "timeout.start: 1m0s: worker/0 still waits for ps/0 to be ready" {
			t.Errorf("outcome %+v", o)
		}
	})
	t.Run("one that is held is stopped, not lost", func(t *testing.T) {
		p := job(role("ps", 1), role("worker", 1, after("ps", spec.Ready)))
		p.Timeout.Start = spec.Duration(time.Minute)
		w := newWorld(t, p)
		w.auto = false
		w.wait(time.Minute)
		for _, sl := range w.s.Slots() {
			if sl.Task.Role == "worker" { // what its executor says of the SIGTERM that ends it
				w.say(session.Exited{Slot: sl.Slot, Incarnation: 1, Exit: event.Exit{Class: event.ClassLost, Text: "executor was told to end"}})
			}
		}
		for _, v := range w.s.View().Tasks {
			if v.Task.Role == "worker" && (v.State != "stopped" || v.Exit.Class != event.ClassCancelled) {
				t.Errorf("%s %+v, want stopped by us", v.State, v.Exit)
			}
		}
	})
	t.Run("F-005 one worker never answers the roll call", func(t *testing.T) {
		p := job(role("worker", 3))
		p.Timeout.Start = spec.Duration(time.Minute)
		w := &world{t: t, s: session.New(session.Options{}), now: epoch0, slots: map[string]*executor{}, done: map[string]bool{},
			auto: true, quiet: map[plan.TaskID]bool{{Role: "worker", Index: 1}: true}, capacity: 9}
		w.record(session.Submit(p, "ann", "here", w.now))
		w.s.Evolve(w.events[0])
		w.takeOver()
		w.wait(2 * time.Minute)
		if o := w.sealed(); o.Class != event.ClassRegister || o.Task.String() != "worker/1" {
			t.Errorf("outcome %+v, want worker/1 did not register", o)
		}
	})
}

func TestStop(t *testing.T) {
	w := newWorld(t, job(role("worker", 2)))
	w.say(session.Stop{By: "ann"})
	if o := w.sealed(); o.State != event.Stopped || o.Status != 130 || o.Origin != "muster" {
		t.Errorf("outcome %+v", o)
	}
}

func TestATaskThatDoesNotEndLosesItsSlot(t *testing.T) {
	w := newWorld(t, job(role("worker", 1)))
	w.auto = false
	w.say(session.Stop{By: "ann"})
	w.wait(44 * time.Second)
	if w.closed {
		t.Fatal("closed before the grace was over")
	}
	w.wait(2 * time.Second)
	if o := w.sealed(); o.State != event.Stopped {
		t.Errorf("outcome %+v", o)
	}
}

func TestF014FastFailuresRestartSlower(t *testing.T) {
	w := newWorld(t, job(role("worker", 1, restarts(9, spec.ScopeTask))))
	begin := w.now
	for range 4 {
		w.exit("worker/0", 1)
		w.wait(0)
		for w.state("worker/0") != "running" {
			w.wait(time.Second)
		}
	}
	if waited := w.now.Sub(begin); waited < 3*time.Second {
		t.Errorf("four fast failures took %s, want growing pauses", waited)
	}
	w.exit("worker/0", 0)
	if o := w.sealed(); o.State != event.Succeeded {
		t.Errorf("outcome %+v", o)
	}
}

func TestSignalReachesRunningTasks(t *testing.T) {
	w := newWorld(t, job(role("worker", 2)))
	w.record(w.s.Decide(w.now, session.Signal{Request: "r1", Signal: "USR1"})...)
	sent := 0
	for _, a := range w.s.Pending() {
		if s, ok := a.(session.SendSignal); ok && s.Signal == "USR1" {
			sent++
			w.decide(session.Signalled{Slot: s.Slot, Request: s.Request})
		}
	}
	if sent != 2 {
		t.Errorf("%d signals to send, want 2", sent)
	}
	for _, a := range w.s.Pending() {
		if _, ok := a.(session.SendSignal); ok {
			t.Error("a delivered signal is sent again")
		}
	}
}

// A coordinator was dead while a task started and ended: the next one hears of
// the end first, and must not take it for a task that never ran, whose logs
// nobody would look for.
func TestWhatRanWhileNobodyListenedHasStarted(t *testing.T) {
	w := newWorld(t, job(role("ps", 1), role("worker", 1, after("ps", spec.Ready))))
	before := len(w.events)
	id := plan.TaskID{Role: "worker"}
	w.say(session.Linked{Slot: w.of("worker/0").slot.Slot, Task: id, Incarnation: 1, Phase: "exited", Host: "h", PIDs: []int{7},
		Exit: &event.Exit{At: w.now}})
	var got []string
	for _, e := range w.events[before:] {
		switch b := e.Body.(type) {
		case *event.TaskStarted:
			got = append(got, fmt.Sprintf("%s started %v", b.Task, b.PIDs))
		case *event.TaskExited:
			got = append(got, b.Task.String()+" exited")
		}
	}
	if want := []string{"worker/0 started [7]", "worker/0 exited"}; !slices.Equal(got[:min(2, len(got))], want) {
		t.Errorf("%q, want first %q", got, want)
	}
}

// What a backend says again after its own restart is known already; what was
// never asked for is given back.
func TestF100TheBackendSaysEverythingAgain(t *testing.T) {
	w := newWorld(t, job(role("worker", 3)))
	n := len(w.events)
	for _, id := range w.ids() {
		w.say(session.Granted{Slot: w.slots[id].slot}, session.Launched{Slot: id})
	}
	if len(w.events) != n {
		t.Errorf("known slots gave new facts: %+v", w.events[n:])
	}
	extra := event.SlotGranted{Slot: "extra", Request: 1, Task: plan.TaskID{Role: "worker", Index: 0}, Node: "n1"}
	w.slots["extra"] = &executor{slot: extra, phase: "idle"}
	w.say(session.Granted{Slot: extra})
	if w.slots["extra"] != nil {
		t.Error("a slot that was never asked for is kept")
	}
	if got := w.s.View().State; got != "running" {
		t.Errorf("the job is %s, want running", got)
	}
}

// A failure that no restart answers any more is told as one, at once.
func TestF056PermanentFailureIsNotShownAsRestarting(t *testing.T) {
	w := newWorld(t, job(role("worker", 1, restarts(1, spec.ScopeTask))))
	w.exit("worker/0", 1)
	w.exit("worker/0", 1)
	if o := w.sealed(); o.State != event.Failed || w.s.View().State != "failed" || w.s.View().Restarts != 1 {
		t.Errorf("%s after %d restarts, %+v; want failed after one", w.s.View().State, w.s.View().Restarts, o)
	}
}

// An executor that links before its start is acknowledged is found again after a
// takeover all the same.
func TestNativeIsNotedHoweverFastTheExecutorIs(t *testing.T) {
	w := newWorld(t, job(role("worker", 1)))
	slot := w.of("worker/0").slot.Slot
	w.say(session.Launched{Slot: slot, Native: []byte(`{"pid":7}`)})
	if got := string(w.s.Slots()[0].Native); got != `{"pid":7}` {
		t.Errorf("native %q, want what the backend said after the executor had linked", got)
	}
	n := len(w.events)
	w.say(session.Launched{Slot: slot, Native: []byte(`{"pid":7}`)}, session.Launched{Slot: slot, Err: "late"})
	if len(w.events) != n {
		t.Errorf("said again, it gave new facts: %+v", w.events[n:])
	}
}

// What the backend foresees is written down once, and seen by whoever looks.
func TestWarningsAreNotedOnce(t *testing.T) {
	w := newWorld(t, job(role("worker", 1)))
	for range 3 {
		w.say(session.Warned{Text: "the end is near", Hint: "do something"}, session.Warned{Text: "and it is dark"})
	}
	var got []string
	for _, e := range w.events {
		if b, ok := e.Body.(*event.JobWarned); ok {
			got = append(got, b.Text+"|"+b.Hint)
		}
	}
	if diff := cmp.Diff([]string{"the end is near|do something", "and it is dark|"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"the end is near", "and it is dark"}, w.s.View().Warned); diff != "" {
		t.Error(diff)
	}
}
