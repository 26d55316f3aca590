package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/event"
)

func TestWhichEndsBlameTheNodeAndNotTheJob(t *testing.T) {
	const lost = "Container released on a *lost* node"
	for name, tc := range map[string]struct {
		news      []News
		exit      int
		text      string
		blameless bool
		avoided   bool
		says      string
	}{
		"node lost":       {nil, exitAborted, lost, true, true, "its node n0 was lost"},
		"node unhealthy":  {[]News{{Address: "n0", Condition: Ill, Report: "1/1 local-dirs have errors: [ /d : is not writable]"}}, exitAborted, lost, true, true, "its node n0 became unhealthy: 1/1 local-dirs have errors: [ /d : is not writable]"},
		"decommissioned":  {[]News{{Address: "n0", Condition: Leaving}}, exitAborted, lost, true, false, "its node n0 was decommissioned"},
		"disks":           {nil, exitDisks, "", true, true, "the disks of n0 failed"},
		"preempted":       {nil, exitPreempted, "", true, false, "preempted"},
		"label":           {nil, exitByManager, "Container killed since labels on the node changed", true, false, "the label of its node n0 was changed"},
		"by the manager":  {nil, exitByManager, "Container Killed by ResourceManager", true, false, "the resource manager ended it"},
		"memory":          {nil, exitPhysical, "", false, false, "over its limit"},
		"SIGKILL, once":   {nil, 137, "", false, false, "by hand or by the kernel"},
		"its own failure": {nil, 70, "", false, false, "ended with 70"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, roleOf("worker", 1, 1, 0))
			w.book.sight.count = 9
			id := w.running(t)
			w.book.sight.count = 9
			w.book.Answer(Beat{}, Answer{News: tc.news, Nodes: 9, Completed: []Status{{ID: id, Ended: true, Exit: tc.exit, Text: tc.text}}}, w.now)
			w.conclude()
			g := w.gone[id]
			if g.Blameless != tc.blameless || !strings.Contains(g.Reason, tc.says) {
				t.Errorf("%+v, want blameless %t and %q", g, tc.blameless, tc.says)
			}
			if got := w.book.faults.avoids("n0"); got != tc.avoided {
				t.Errorf("the node is avoided: %t, want %t", got, tc.avoided)
			}
		})
	}
}

func TestANodeIsAvoidedUntilItIsWell(t *testing.T) {
	f, now := newFaults(), time.Unix(1000, 0)
	f.blame("a", 9, true, now)
	f.blame("b", 9, false, now)
	if block, un := f.take(); cmp.Diff([]string{"a", "b"}, block) != "" || len(un) > 0 {
		t.Fatalf("block %v, unblock %v", block, un)
	}
	f.well("a") // it was lost, and is back
	f.well("b") // starts failed there: that it runs says nothing
	if block, un := f.take(); len(block) > 0 || cmp.Diff([]string{"a"}, un) != "" {
		t.Fatalf("block %v, unblock %v, want a off", block, un)
	}
	if at := f.wake(); !at.Equal(now.Add(blockTime)) {
		t.Errorf("wakes at %s", at)
	}
	f.decay(now.Add(blockTime - 1))
	if !f.avoids("b") {
		t.Error("b came off too soon")
	}
	f.decay(now.Add(blockTime))
	if _, un := f.take(); cmp.Diff([]string{"b"}, un) != "" || !f.wake().IsZero() {
		t.Errorf("unblock %v, want b off after its time", un)
	}
}

func TestANodeWhereExecutorsDieIsAvoidedAfterTheSecond(t *testing.T) {
	f, now := newFaults(), time.Unix(1000, 0)
	f.strike("a", 9, now)
	f.strike("a", 9, now.Add(strikeTime)) // that was another day
	if f.avoids("a") {
		t.Fatal("avoided although the deaths lie far from each other")
	}
	f.strike("a", 9, now.Add(strikeTime+time.Minute))
	if !f.avoids("a") {
		t.Error("not avoided after the second death")
	}
}

func TestOnlyFewNodesAreAvoided(t *testing.T) {
	f, now := newFaults(), time.Unix(1000, 0)
	for _, n := range []string{"a", "b", "c"} {
		f.blame(n, 9, true, now)
	}
	if len(f.blocked) != 3 {
		t.Fatalf("%d of 9 avoided, want 3", len(f.blocked))
	}
	f.blame("d", 9, true, now)
	if len(f.blocked) != 0 {
		t.Errorf("%d avoided: what fails everywhere is not the nodes' fault", len(f.blocked))
	}
}

// What the scheduler warned of and did not do is taken back, so that a task that
// goes on does so in peace; a node that stays does it, too.
func TestAWarningThatCameToNothingIsWithdrawn(t *testing.T) {
	w := newWorld(1, roleOf("worker", 1, 1, 0))
	id := w.running(t)
	w.book.Answer(Beat{}, Answer{Preempt: []string{id}}, w.now)
	w.conclude()
	deadline := w.now.Add(15 * time.Second)
	if wake := w.book.Wake(w.now); !wake.Equal(deadline.Add(18 * time.Second)) {
		t.Errorf("wakes at %s, want when it is safe", wake.Sub(w.now))
	}
	w.pass(32 * time.Second)
	w.conclude()
	if len(w.others) != 1 {
		t.Fatalf("%+v, want the warning alone while it may still come true", w.others)
	}
	w.pass(2 * time.Second)
	w.conclude()
	w.conclude()
	if len(w.others) != 2 || !w.others[1].Preempting.Deadline.IsZero() || cmp.Diff([]string{id}, w.others[1].Preempting.Slots) != "" {
		t.Fatalf("%+v, want it taken back once", w.others)
	}
	w.book.Answer(Beat{}, Answer{News: []News{{Address: "n0", Condition: Leaving, Left: 90 * time.Second}}}, w.now)
	w.book.Answer(Beat{}, Answer{News: []News{{Address: "n0", Condition: Well}}}, w.now)
	w.conclude()
	if len(w.others) != 4 || !w.others[2].Preempting.Deadline.Equal(w.now.Add(90*time.Second)) || !w.others[3].Preempting.Deadline.IsZero() {
		t.Errorf("%+v, want a warning of the node and that it stays", w.others[2:])
	}
}

// A container that was never used is no start that failed: nothing is wrong with it.
func TestAContainerThatExpiresIsNobodysFault(t *testing.T) {
	w := newWorld(1, roleOf("worker", 1, 1, 0))
	w.request(1, 1, "worker/0")
	w.beat()
	w.schedule(1)
	w.beat()
	var id string
	for id = range w.granted {
		w.end(w.there[id], exitAborted, "Container expired since it was unused")
	}
	w.beat()
	if g := w.gone[id]; g.Class != event.ClassLost || !g.Blameless || !strings.Contains(g.Reason, "in time, and YARN took it back") {
		t.Errorf("%+v", g)
	}
}

// A role that lacks nothing stays where it is, also when its node has another
// label by now: only what is missing is gathered.
func TestAReplacementAsksForNothingElse(t *testing.T) {
	w := newWorld(2, roleOf("worker", 1, 1, 0), roleOf("ps", 1, 1, 0))
	w.request(1, 2, "worker/0", "ps/0")
	w.beat()
	w.schedule(2)
	w.beat()
	for id := range w.granted {
		w.launch(id)
	}
	w.settle()
	for id, s := range w.granted {
		if s.Task.Role == "worker" {
			w.end(w.there[id], exitAborted, "Container released on a *lost* node")
		}
	}
	w.beat()
	w.request(2, 1, "worker/0")
	q := w.book.current()
	if q == nil || !q.replace {
		t.Fatalf("%+v, want a replacement", q)
	}
	s := w.book.snapshot(q)
	if len(s.Need) != 1 || s.Need[0].Name != "worker" || s.Need[0].Minimum != 1 {
		t.Errorf("needs %+v, want one worker", s.Need)
	}
	if len(s.Held) != 0 || len(s.Kept) != 2 { // the coordinator and ps
		t.Errorf("held %+v, kept %+v", s.Held, s.Kept)
	}
}
