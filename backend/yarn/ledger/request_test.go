package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// With its old ticket it would be first again, and those for whom it was preempted
// would give back what they have: until it is preempted anew, and so on.
func TestAPreemptedGangLeavesItsPlaceToThoseForWhom(t *testing.T) {
	younger := []gang.Application{{ID: "application_1_0009", User: "v", State: gang.Running, Visible: true}}
	for name, lose := range map[string]func(w *world, ids []string){
		"killed": func(w *world, ids []string) {
			for _, id := range ids {
				w.end(w.there[id], exitPreempted, "Container preempted by scheduler")
			}
			w.beat()
		},
		"made room in time": func(w *world, ids []string) {
			w.book.Answer(Beat{}, Answer{Preempt: ids}, w.now)
			w.release(false, ids...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2, roleOf("worker", 2, 2, 0))
			w.request(1, 2, "worker/0", "worker/1")
			w.settle()
			lose(w, w.alive())
			w.request(2, 2, "worker/0", "worker/1")
			for _, id := range w.alive() { // what was given back ends
				w.end(w.there[id], 0, "")
			}
			younger[0].Launched = w.now.Add(-time.Second)
			step := func() {
				for range 3 {
					w.beat()
					w.schedule(2)
				}
			}
			for when, look := range map[string]func(){"before it has looked": func() {}, "a younger gang gathers": func() { w.look(younger) }} {
				if look(); w.book.Gathering() {
					t.Errorf("%s: it gathers at once", when)
				}
				step()
				if got := w.alive(); w.book.Gathering() || len(got) > 0 {
					t.Errorf("%s: gathering %t, holds %v; it leaves both to others", when, w.book.Gathering(), got)
				}
			}
			w.pass(time.Second)
			w.look(nil)
			w.conclude()
			if !w.book.Gathering() {
				t.Error("nobody else gathers, and it does not either")
			}
			step()
			if got := w.alive(); len(got) != 2 {
				t.Errorf("holds %v, want its two slots again", got)
			}
		})
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
