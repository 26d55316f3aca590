package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/gang"
	"github.com/muster-project/muster/plan"
)

func TestAGangIsGrantedAtOnce(t *testing.T) {
	w := newWorld(2, roleOf("ps", 1, 1, 0), roleOf("worker", 3, 3, 0))
	w.request(1, 4, "ps/0", "worker/0", "worker/1", "worker/2")
	w.beat()
	for n := range 4 {
		if len(w.granted) > 0 {
			t.Fatalf("granted %v with %d of 4 containers", w.granted, n)
		}
		w.schedule(1)
		w.beat()
	}
	if len(w.batches) != 1 || len(w.granted) != 4 {
		t.Fatalf("granted in batches %v, want all four at once", w.batches)
	}
	if w.book.Gathering() {
		t.Error("it still gathers")
	}
	if len(w.asks) == 0 || w.book.Pending(w.now) {
		t.Error("something is still to be said")
	}
}

func TestNeighboursGetNeighbouringIndices(t *testing.T) {
	w := newWorld(3, roleOf("worker", 6, 6, 0))
	w.room = map[string]int{"a": 2, "b": 2, "c": 2}
	w.request(1, 6, "worker/0", "worker/1", "worker/2", "worker/3", "worker/4", "worker/5")
	w.beat()
	class := w.book.class(1, "worker")
	for _, node := range []string{"c", "a", "b", "b", "a", "c"} {
		w.allocate(class, node)
	}
	w.beat()
	var got []string
	for i := range 6 {
		got = append(got, w.granted[w.slot(plan.TaskID{Role: "worker", Index: i}.String())].Node)
	}
	if diff := cmp.Diff([]string{"a", "a", "b", "b", "c", "c"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSurplusAndLateContainersGoBackAtOnce(t *testing.T) {
	w := newWorld(2, roleOf("worker", 2, 2, 0))
	w.request(1, 2, "worker/0", "worker/1")
	w.beat()
	class := w.book.class(1, "worker")
	for range 3 {
		w.allocate(class, "n0")
	}
	w.beat()
	if len(w.granted) != 2 {
		t.Fatalf("granted %v, want 2", w.granted)
	}
	w.beat()
	late := w.allocate(class, "n1")
	stray := w.allocate(99<<roleBits, "n1")
	w.beat()
	w.beat()
	if got := w.alive(); len(got) != 2 || slices.Contains(got, late) || slices.Contains(got, stray) {
		t.Errorf("%v are left, want the two that were granted", got)
	}
}

func TestBehindAnOlderGangNothingIsHeld(t *testing.T) {
	w := newWorld(2, roleOf("worker", 2, 2, 0))
	w.request(1, 2, "worker/0", "worker/1")
	w.beat()
	w.schedule(1)
	w.beat()
	if len(w.alive()) != 1 {
		t.Fatal("the head holds nothing")
	}
	w.look(w.older())
	w.conclude()
	w.beat()
	w.schedule(5)
	w.beat()
	w.beat()
	if got := w.alive(); len(got) > 0 {
		t.Errorf("holds %v behind an older gang", got)
	}
	w.pass(2 * time.Second)
	w.conclude()
	if len(w.others) == 0 || w.others[0].Waiting == nil || !strings.Contains(w.others[0].Waiting.Reasons[0], "application_1_0000") {
		t.Errorf("%+v, want the gang before this one to be named", w.others)
	}
	w.settle()
	if len(w.granted) != 2 {
		t.Errorf("granted %v once it is alone, want 2", w.granted)
	}
}

func TestWelcomeSlotsComeLaterAndNotAfterTheStart(t *testing.T) {
	w := newWorld(2, roleOf("worker", 2, 4, 0))
	w.request(1, 2, "worker/3", "worker/2", "worker/1", "worker/0")
	w.beat()
	w.schedule(2)
	w.beat()
	if w.slot("worker/0") == "" || w.slot("worker/1") == "" || len(w.granted) != 2 {
		t.Fatalf("granted %v, want what it cannot do without", w.granted)
	}
	w.beat()
	w.schedule(1)
	w.beat()
	if len(w.granted) != 3 {
		t.Fatalf("granted %v, want one more", w.granted)
	}
	w.launch(w.slot("worker/0"))
	w.beat()
	w.schedule(1)
	w.beat()
	w.beat()
	if len(w.granted) != 3 || len(w.alive()) != 3 {
		t.Errorf("granted %v, alive %v; nothing is wanted after the start", w.granted, w.alive())
	}
}

func TestStartsAreAcknowledgedWhenTheyRun(t *testing.T) {
	w := newWorld(1, roleOf("worker", 1, 1, 0))
	w.request(1, 1, "worker/0")
	w.beat()
	w.schedule(1)
	w.beat()
	id := w.slot("worker/0")
	w.launch(id)
	w.work(false, true) // the answer is lost
	w.pass(time.Second)
	w.work(false, false)
	if w.started[id] {
		t.Fatal("acknowledged while its files are still being fetched")
	}
	w.nodes()
	w.pass(time.Second)
	w.work(false, false)
	if !w.started[id] {
		t.Fatal("not acknowledged although it runs")
	}
	w.launch(id)
	if k := w.book.Work(w.now); len(k.Start) > 0 {
		t.Error("started twice")
	}
}

func TestAFailedStartIsToldOnceNothingIsLeft(t *testing.T) {
	w := newWorld(3, roleOf("worker", 1, 1, 0))
	w.request(1, 1, "worker/0")
	w.beat()
	w.schedule(1)
	w.beat()
	id := w.slot("worker/0")
	w.launch(id)
	w.work(true, false)
	if len(w.failed) > 0 {
		t.Fatal("told while the container is still ours")
	}
	w.beat()
	if !strings.Contains(w.failed[id], "no room for its files") {
		t.Fatalf("%v, want the node's reason", w.failed)
	}
	w.release(true, id)
	if _, ok := w.gone[id]; !ok {
		t.Error("its release is not answered")
	}
	if b := w.book.faults.blocked; !b["n0"] {
		t.Errorf("blocked %v, want the node that failed", b)
	}
}

func TestOneThatNeverRunsHasADeadline(t *testing.T) {
	w := newWorld(1, roleOf("worker", 1, 1, 0))
	w.request(1, 1, "worker/0")
	w.beat()
	w.schedule(1)
	w.beat()
	id := w.slot("worker/0")
	w.launch(id)
	w.work(false, false)
	w.pass(9 * time.Minute)
	w.work(false, false)
	if w.there[id].stopping {
		t.Fatal("ended too early")
	}
	if at := w.book.Wake(w.now); at.After(w.now.Add(time.Minute)) {
		t.Errorf("wakes at %v, after the deadline", at)
	}
	w.pass(time.Minute)
	w.work(false, false)
	w.work(false, false)
	if !w.there[id].stopping {
		t.Fatal("not ended at its deadline")
	}
	w.nodes()
	w.beat()
	if !strings.Contains(w.failed[id], "10m0s") {
		t.Errorf("%v, want a failure that names the deadline", w.failed)
	}
}

func TestReleaseWaitsForTheEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		now   bool
		after time.Duration // its node is told after so long
	}{
		"kindly":  {false, 15 * time.Second},
		"at once": {true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, roleOf("worker", 1, 1, 0))
			id := w.running(t)
			w.release(tc.now, id)
			for passed := time.Duration(0); ; passed += time.Second {
				w.work(false, false)
				if w.there[id].stopping {
					if passed != tc.after {
						t.Errorf("its node was told after %v, want %v", passed, tc.after)
					}
					break
				}
				if passed > time.Minute {
					t.Fatal("its node is never told")
				}
				w.pass(time.Second)
			}
			if _, ok := w.gone[id]; ok {
				t.Fatal("gone while it still runs")
			}
			w.nodes()
			w.pass(time.Second)
			w.work(false, false)
			if g, ok := w.gone[id]; !ok || g.Class != "" {
				t.Errorf("%+v, want Gone without a class", w.gone)
			}
			w.release(true, id)
		})
	}
}

// running brings one worker to life.
func (w *world) running(t *testing.T) string {
	t.Helper()
	w.request(1, 1, "worker/0")
	w.beat()
	w.schedule(1)
	w.beat()
	id := w.slot("worker/0")
	w.launch(id)
	w.work(false, false)
	w.nodes()
	w.pass(time.Second)
	w.work(false, false)
	if !w.started[id] {
		t.Fatal("does not run")
	}
	return id
}

func TestEveryEndHasItsClassAndNumbers(t *testing.T) {
	const memory = "[2026-11-30 20:00:00.000]Container [pid=1,containerID=container_1] is running 12345B beyond the 'PHYSICAL' memory limit. " +
		"Current usage: 600.1 MB of 512 MB physical memory used; 1.2 GB of 1.0 GB virtual memory used. Killing container.\nDump of the process-tree for container_1 :\n\t|- PID"
	for name, tc := range map[string]struct {
		exit   int
		text   string
		class  event.Class
		status int
		says   string
	}{
		"memory":            {exitPhysical, memory, event.ClassMemory, 137, "600.1 MB of 512 MB of memory"},
		"memory, no words":  {exitPhysical, "", event.ClassMemory, 137, "its limit of 1 MiB"},
		"virtual memory":    {exitVirtual, memory, event.ClassMemory, 137, "1.2 GB of 1.0 GB of virtual memory"},
		"preempted":         {exitPreempted, "Container preempted by scheduler", event.ClassPreempted, 143, "preempted"},
		"disks":             {exitDisks, "", event.ClassLost, 137, "disks of n0"},
		"node lost":         {exitAborted, "Container released on a *lost* node", event.ClassLost, 137, "node n0 was lost"},
		"by administrator":  {exitByManager, "killed by admin", event.ClassCancelled, 137, "killed by admin"},
		"after application": {exitAfterApp, "", event.ClassCancelled, 143, "application had ended"},
		"by its node":       {exitByNode, "", event.ClassPreempted, 143, "n0"},
		"logs":              {exitLogs, "", event.ClassExit, 137, "logs"},
		"SIGKILL":           {137, "Killed by external signal", event.ClassLost, 137, "SIGKILL"},
		"another signal":    {128 + 7, "", event.ClassLost, 135, "SIGBUS"},
		"by itself":         {0, "", event.ClassLost, 0, "ended by itself"},
		"with a status":     {70, "", event.ClassLost, 70, "ended with 70"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, roleOf("worker", 1, 1, 0))
			id := w.running(t)
			w.book.boxes[id].size = gang.Size{"memory-mb": 1}
			w.end(w.there[id], tc.exit, tc.text)
			w.beat()
			g := w.gone[id]
			if g.Class != tc.class || g.Status != tc.status || !strings.Contains(g.Reason, tc.says) {
				t.Errorf("%+v, want %s, %d, %q", g, tc.class, tc.status, tc.says)
			}
		})
	}
}

func TestTakeoverAdoptsWhatLives(t *testing.T) {
	w := newWorld(2, roleOf("worker", 4, 4, 0))
	w.request(1, 4, "worker/0", "worker/1", "worker/2", "worker/3")
	w.beat()
	w.schedule(4)
	w.beat()
	ids := slices.Sorted(mapKeys(w.granted))
	w.launch(ids[:3]...)
	w.work(false, false)
	w.nodes()
	w.pass(time.Second)
	w.work(false, false)
	known := []string{ids[0], ids[1], ids[3]} // the journal lacks one that runs
	var slots = w.known(known...)
	gone := ids[1]
	stray := ids[2]
	w.there[gone].ended = true // while nobody listened
	w.newCoordinator(&ticketRule{state: gang.Resume()}, slots...)
	w.book.Registered([]Container{{ID: ids[0], Address: "n0", Class: w.there[ids[0]].class}, {ID: stray, Address: "n0", Class: w.there[stray].class}}, w.now)
	w.conclude()
	w.work(false, false)
	var adopted []string
	for _, e := range w.others {
		if e.Adopted != nil {
			adopted = append(adopted, e.Adopted.ID)
		}
	}
	if diff := cmp.Diff([]string{ids[0]}, adopted); diff != "" {
		t.Error(diff)
	}
	if w.book.Gathering() {
		t.Error("a gang that was complete gathers")
	}
	w.beat()
	if !w.there[stray].ended {
		t.Error("one that the journal does not know lives on")
	}
	if len(w.gone) > 0 {
		t.Errorf("%v given up before the resource manager could speak of them", w.gone)
	}
	w.pass(11 * time.Second)
	w.conclude()
	for id, why := range map[string]string{gone: "has no container", ids[3]: "before anything was started"} {
		if g, ok := w.gone[id]; !ok || g.Class != event.ClassLost || !strings.Contains(g.Reason, why) {
			t.Errorf("%+v, want %s lost because: %s", w.gone, id, why)
		}
	}
}

// known is what a journal has of slots.
func (w *world) known(ids ...string) (out []slotT) {
	for _, id := range ids {
		s := w.granted[id]
		if w.started[id] {
			s.Native = w.book.boxes[id].native()
		}
		out = append(out, s)
	}
	return out
}

func TestALostSlotIsReplacedWithoutWaiting(t *testing.T) {
	w := newWorld(2, roleOf("worker", 2, 2, 0))
	w.request(1, 2, "worker/0", "worker/1")
	w.settle()
	w.launch(w.slot("worker/0"), w.slot("worker/1"))
	w.settle()
	lost := w.slot("worker/1")
	w.end(w.there[lost], exitAborted, "Container released on a *lost* node")
	w.beat()
	w.request(2, 1, "worker/1")
	if w.book.Gathering() {
		t.Error("a complete gang that replaces a slot counts as gathering")
	}
	w.look(w.older())
	w.conclude()
	w.beat()
	w.schedule(1)
	w.beat()
	if id := w.slot("worker/1"); id == "" || id == lost {
		t.Errorf("%v, want a replacement although an older gang gathers", w.granted)
	}
}

func TestACompleteGangThatLostAllWaitsItsTurn(t *testing.T) {
	w := newWorld(2, roleOf("worker", 2, 2, 0))
	w.request(1, 2, "worker/0", "worker/1")
	w.settle()
	for _, id := range w.alive() {
		w.end(w.there[id], exitAborted, "Container released on a *lost* node")
	}
	w.beat()
	w.request(2, 2, "worker/0", "worker/1")
	if !w.book.Gathering() {
		t.Error("it has nothing and does not gather")
	}
	w.look(w.older())
	w.conclude()
	w.beat()
	w.schedule(2)
	w.beat()
	w.beat()
	if got := w.alive(); len(got) > 0 {
		t.Errorf("holds %v behind an older gang", got)
	}
}

func TestTheNextStageIsAGangOfItsOwn(t *testing.T) {
	w := newWorld(2, roleOf("prepare", 1, 1, 0), roleOf("train", 2, 2, 1))
	w.request(1, 1, "prepare/0")
	w.settle()
	w.launch(w.slot("prepare/0"))
	w.settle()
	w.release(true, w.slot("prepare/0"))
	w.settle()
	w.request(2, 2, "train/0", "train/1")
	if !w.book.Gathering() {
		t.Error("the second stage does not gather")
	}
	w.settle()
	if w.slot("train/0") == "" || w.slot("train/1") == "" {
		t.Errorf("granted %v", w.granted)
	}
}

func TestARestartedResourceManagerIsToldEverythingAgain(t *testing.T) {
	w := newWorld(2, roleOf("worker", 2, 2, 0))
	w.request(1, 2, "worker/0", "worker/1")
	w.beat()
	w.restart()
	w.beat()
	w.schedule(2)
	w.beat()
	if len(w.granted) != 2 {
		t.Errorf("granted %v, want 2", w.granted)
	}
}

func TestWhatIsTooLargeIsRefused(t *testing.T) {
	w := newWorld(1, roleOf("worker", 1, 1, 0))
	w.book.Shape = func(*plan.Role) Shape {
		return Shape{Size: gang.Size{"memory-mb": 9000}, Most: gang.Size{"memory-mb": 4096}}
	}
	w.request(1, 1, "worker/0")
	if len(w.others) != 1 || w.others[0].Refused == nil || !strings.Contains(w.others[0].Refused.Reason, "9000") || !strings.Contains(w.others[0].Refused.Reason, "4096") {
		t.Errorf("%+v, want Refused with both numbers", w.others)
	}
}

func TestAWaitIsToldEverMoreSeldom(t *testing.T) {
	w := newWorld(1, roleOf("worker", 1, 1, 0))
	w.request(1, 1, "worker/0")
	q := w.book.requests[0]
	start := w.now
	var at []int
	say := func(code gang.Code, n int) {
		w.book.waits(q, []gang.Reason{{Code: code, Text: fmt.Sprint(code, " ", n)}}, w.now)
		for range w.book.Events() {
			at = append(at, int(w.now.Sub(start)/time.Second))
		}
	}
	for n := range 200 {
		say("behind", n)
		w.pass(time.Second)
	}
	w.pass(time.Second)
	say("gathering", 0)
	if diff := cmp.Diff([]int{1, 6, 16, 36, 76, 136, 196, 201}, at); diff != "" {
		t.Error(diff)
	}
}

func TestPreemptionIsToldOnce(t *testing.T) {
	w := newWorld(1, roleOf("worker", 1, 1, 0))
	id := w.running(t)
	for range 2 {
		w.book.Answer(Beat{}, Answer{Preempt: []string{id, "container_999"}}, w.now)
	}
	w.conclude()
	if len(w.others) != 1 || w.others[0].Preempting == nil || !w.others[0].Preempting.Deadline.Equal(w.now.Add(15*time.Second)) {
		t.Errorf("%+v, want one warning with its deadline", w.others)
	}
}

func TestNodesArePackedBeforeTheyAreAskedForAlike(t *testing.T) {
	node := func(name string, free int64) gang.Node {
		return gang.Node{Name: name, Rack: "/r", Capability: gang.Size{"gpu": 8}, Used: gang.Size{"gpu": 8 - free}}
	}
	for name, tc := range map[string]struct {
		nodes []gang.Node
		want  lines
	}{
		"the tightest that holds all": {[]gang.Node{node("a", 8), node("b", 4), node("c", 2)},
			lines{"b": {4, true}, "/r": {4, false}, Any: {4, false}}},
		"the roomiest first": {[]gang.Node{node("a", 1), node("b", 3), node("c", 2), node("d", 1)},
			lines{"b": {3, true}, "d": {1, true}, "/r": {4, false}, Any: {4, false}}},
		"too full":  {[]gang.Node{node("a", 1)}, lines{Any: {4, true}}},
		"not known": {nil, lines{Any: {4, true}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, roleOf("worker", 4, 4, 0))
			w.book.Shape = func(*plan.Role) Shape { return Shape{Size: gang.Size{"gpu": 1}, Pack: true} }
			w.book.sight.nodes = tc.nodes
			w.request(1, 4, "worker/0", "worker/1", "worker/2", "worker/3")
			class := w.book.class(1, "worker")
			if diff := cmp.Diff(tc.want, w.book.wanted(class, w.now), cmp.AllowUnexported(line{})); diff != "" {
				t.Error(diff)
			}
			w.pass(4 * time.Second)
			if diff := cmp.Diff(lines{Any: {4, true}}, w.book.wanted(class, w.now), cmp.AllowUnexported(line{})); diff != "" {
				t.Errorf("after the time for packing: %s", diff)
			}
		})
	}
}
