package ledger

import (
	"strings"
	"testing"
	"time"
)

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
	if b := w.book.faults.blocked; !w.book.faults.avoids("n0") {
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

// known is what a journal has of slots.
