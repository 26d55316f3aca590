package ledger

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/gang"
)

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

// What a resource manager granted and nobody had started anything in when it
// restarted, it never speaks of again: held ones are asked for anew, and those
// that the coordinator knows are lost. Nodes refuse their tokens.
func TestARestartForgetsWhatWasNotStarted(t *testing.T) {
	w := newWorld(3, roleOf("worker", 3, 3, 0))
	w.request(1, 3, "worker/0", "worker/1", "worker/2")
	w.beat()
	w.schedule(2) // the gang is not complete
	w.beat()
	w.restart()
	w.beat()
	w.schedule(3)
	w.beat()
	if len(w.granted) != 3 {
		t.Fatalf("granted after the restart: %v", w.granted)
	}
	ids := slices.Sorted(mapKeys(w.granted))
	w.launch(ids[0])
	w.work(false, false)
	w.nodes()
	w.restart() // between the first start and the others
	for _, id := range ids[1:] {
		if g, ok := w.gone[id]; !ok || g.Class != event.ClassLost || !g.Blameless || !strings.Contains(g.Reason, "restarted before anything was started") {
			t.Errorf("%s: %+v", id, g)
		}
	}
	if _, ok := w.gone[ids[0]]; ok {
		t.Errorf("%s runs, and is given up", ids[0])
	}

	// The node is asked with the old token just when the resource manager restarts.
	w = newWorld(1, roleOf("worker", 1, 1, 0))
	w.request(1, 1, "worker/0")
	w.beat()
	w.schedule(1)
	w.beat()
	ids = slices.Sorted(mapKeys(w.granted))
	w.launch(ids...)
	k := w.book.Work(w.now)
	w.pass(time.Second)
	w.restart()
	w.book.Started(k.Start[0].ID, errors.New("allocated by a previous ResourceManager"), true, w.now)
	w.conclude()
	if g, ok := w.gone[ids[0]]; !ok || !g.Blameless {
		t.Errorf("%v", w.gone)
	}
}

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
