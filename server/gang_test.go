package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/local"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/server"
)

func TestAGangFromItsRequestToItsEnd(t *testing.T) {
	w := newWorld(t)
	w.serve()
	p := job(idA, "digits", 2, plan.Resources{CPUs: 1, Memory: 1 << 30, GPUs: 1})
	k := w.open(w.submit(w.client(), p), p, 1)
	k.request(1)
	k.request(1) // once more is nothing more
	slots := k.granted(2)
	if got := []string{slots[0].Devices[0], slots[1].Devices[0]}; !slices.Equal(got, []string{"0", "1"}) {
		t.Errorf("devices %v, want one each", got)
	}
	if got := len(w.living()); got != 2 {
		t.Errorf("%d claims before the start, want 2", got)
	}
	slots = k.launch(slots)
	again := k.launch(slots) // the same executors
	if diff := cmp.Diff(slots, again); diff != "" {
		t.Errorf("launched twice (-first +second):\n%s", diff)
	}
	data, err := os.ReadFile(filepath.Join(k.dir, "slots", slots[0].ID, "start.json"))
	if string(data) != "{}" || err != nil {
		t.Errorf("start file %q, %v", data, err)
	}
	if info, err := os.Stat(filepath.Join(k.dir, "slots", slots[0].ID, "start.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("start file: %v, %v", info.Mode(), err)
	}
	pids := k.pids(slots[0].ID)
	if err := k.Release(t.Context(), []string{slots[0].ID}, false); err != nil {
		t.Fatal(err)
	}
	if gone := k.gone(); gone != (backend.Gone{Slot: slots[0].ID}) {
		t.Errorf("gone %+v, want without a class: it was released", gone)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
	if err := k.Close(t.Context(), event.Outcome{}); err != nil {
		t.Fatal(err)
	}
	if got := w.living(); len(got) != 0 {
		t.Errorf("claims left: %+v", got)
	}
	if _, open := <-drain(k.Events()); open {
		t.Error("events go on after the end")
	}
	if names, _ := os.ReadDir(w.claims); len(names) != 0 {
		t.Errorf("%d files left among the claims", len(names))
	}
}

// drain reads what is left.
func drain(c <-chan backend.Event) <-chan backend.Event {
	for range c {
	}
	return c
}

func TestALostExecutorIsGoneOnlyWithItsGuardian(t *testing.T) {
	w := newWorld(t)
	w.serve()
	p := job(idA, "digits", 1, one)
	k := w.open(w.submit(w.client(), p), p, 1)
	k.request(1)
	slots := k.launch(k.granted(1))
	pids := k.pids(slots[0].ID)
	if err := syscall.Kill(pids[1], syscall.SIGSTOP); err != nil { // it cannot end yet
		t.Fatal(err)
	}
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	some := time.NewTimer(300 * time.Millisecond)
	select {
	case e := <-k.Events():
		t.Fatalf("%s while the guardian lives", show([]backend.Event{e}))
	case <-some.C:
	}
	if err := syscall.Kill(pids[1], syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	gone := k.gone()
	want := backend.Gone{Slot: slots[0].ID, Class: event.ClassLost, Reason: "executor was killed by SIGKILL", Status: 137}
	if gone != want {
		t.Errorf("gone %+v, want %+v", gone, want)
	}
	if got := w.living(); len(got) != 0 {
		t.Errorf("claims left: %+v", got)
	}
}

func TestAnExecutorThatDoesNotStartIsSaid(t *testing.T) {
	w := newWorld(t)
	w.serve()
	p := job(idA, "digits", 1, one)
	ref := w.submit(w.client(), p)
	link, err := local.ReadLink(ref.Dir)
	if err != nil {
		t.Fatal(err)
	}
	g, err := local.Opener{Dir: ref.Dir, Executor: []string{"/nowhere/executor"}, Client: link.Client()}.Open(t.Context(), p, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Leave() })
	k := &team{world: w, Gang: g, plan: p, dir: ref.Dir}
	k.request(1)
	slots := k.granted(1)
	if err := k.Launch(t.Context(), []backend.Start{{Slot: slots[0]}}); err != nil {
		t.Fatal(err)
	}
	st := k.await("start", func(e backend.Event) bool { return e.Started != nil }).Started
	if !errors.Is(st.Err, os.ErrNotExist) {
		t.Errorf("started with %v", st.Err)
	}
	if err := k.Release(t.Context(), []string{slots[0].ID}, false); err != nil {
		t.Fatal(err)
	}
	if gone := k.gone(); gone.Class != event.ClassNone {
		t.Errorf("gone %+v", gone)
	}
}

func TestTheSecondGangWaitsWithNumbersAndIsNext(t *testing.T) {
	w := newWorld(t)
	w.serve()
	two := plan.Resources{CPUs: 1, GPUs: 1}
	pa, pb, pc := job(idA, "first", 2, two), job(idB, "second", 2, two), job(idC, "third", 1, two)
	a := w.open(w.submit(w.client(), pa), pa, 1)
	b := w.open(w.submit(w.client(), pb), pb, 1)
	c := w.open(w.submit(w.client(), pc), pc, 1)
	a.request(1)
	slots := a.launch(a.granted(2))
	b.request(1)
	user := w.living()[0].User
	want := []string{"needs 2 GPUs, 0 of 2 free", "held by " + idA + " of " + user}
	if got := b.waits(); !slices.Equal(got, want) {
		t.Errorf("second waits %q, want %q", got, want)
	}
	c.request(1)
	want = []string{"needs 1 GPU, 0 of 2 free", "behind " + idB + " (2 tasks)"}
	if got := c.waits(); !slices.Equal(got, want) {
		t.Errorf("third waits %q, want %q", got, want)
	}
	if err := a.Release(t.Context(), []string{slots[0].ID}, false); err != nil {
		t.Fatal(err)
	}
	want = []string{"behind " + idB + " (2 tasks)"} // one GPU is free, and kept for the head
	if got := c.waits(); !slices.Equal(got, want) {
		t.Errorf("third waits %q, want %q", got, want)
	}
	if err := a.Release(t.Context(), []string{slots[1].ID}, true); err != nil {
		t.Fatal(err)
	}
	b.granted(2)
}

func TestWhatCanNeverBeGrantedIsRefused(t *testing.T) {
	w := newWorld(t)
	w.serve(func(c *server.Config) { c.Machine.CPUs = 2 })
	p := job(idA, "digits", 1, plan.Resources{CPUs: 3})
	k := w.open(w.submit(w.client(), p), p, 1)
	k.request(1)
	r := k.await("refusal", func(e backend.Event) bool { return e.Refused != nil }).Refused
	if !strings.Contains(r.Reason, "worker/0 needs 3 CPUs, 2 of 2 free") {
		t.Errorf("refused: %q", r.Reason)
	}
}

func TestRunningExecutorsAreAdopted(t *testing.T) {
	for name, forget := range map[string]bool{"from the journal": false, "although their start is noted nowhere": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.serve()
			p := job(idA, "digits", 2, one)
			ref := w.submit(w.client(), p)
			first := w.open(ref, p, 1)
			first.request(1)
			slots := first.launch(first.granted(2))
			if err := first.Leave(); err != nil {
				t.Fatal(err)
			}
			if forget {
				for i := range slots {
					slots[i].Native = nil
					if err := os.Remove(filepath.Join(ref.Dir, "slots", slots[i].ID, "native.json")); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := syscall.Kill(first.pids(slots[1].ID)[0], syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			// A child of this process; a coordinator that is gone leaves it to init.
			syscall.Wait4(first.pids(slots[1].ID)[0], nil, 0, nil)
			second := w.open(ref, p, 2, slots...)
			adopted := second.await("adoption", func(e backend.Event) bool { return e.Adopted != nil }).Adopted
			if adopted.ID != slots[0].ID || len(adopted.Native) == 0 {
				t.Errorf("adopted %+v", adopted)
			}
			gone := second.gone()
			if gone.Slot != slots[1].ID || gone.Class != event.ClassLost {
				t.Errorf("gone %+v", gone)
			}
			if err := second.Close(t.Context(), event.Outcome{}); err != nil {
				t.Fatal(err)
			}
			if alive(first.pids(slots[0].ID)[0]) || len(w.living()) != 0 {
				t.Error("something is left after the end")
			}
		})
	}
}

func TestASlotThatWasNotStartedIsKeptForTheNextTerm(t *testing.T) {
	w := newWorld(t)
	stop := w.serve()
	p := job(idA, "digits", 1, one)
	ref := w.submit(w.client(), p)
	first := w.open(ref, p, 1)
	first.request(1)
	slots := first.granted(1)
	if err := first.Leave(); err != nil {
		t.Fatal(err)
	}
	second := w.open(ref, p, 2, slots...)
	if got := second.granted(1); got[0].ID != slots[0].ID {
		t.Fatalf("granted %+v", got)
	}
	second.launch(slots)
	if err := second.Leave(); err != nil {
		t.Fatal(err)
	}
	// Had server and coordinator both died before the start, the slot would be gone.
	third := job(idB, "digits", 1, one)
	refB := w.submit(w.client(), third)
	k := w.open(refB, third, 1)
	k.request(1)
	slots = k.granted(1)
	if err := k.Leave(); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	k = w.open(refB, third, 2, slots...)
	if gone := k.gone(); gone.Slot != slots[0].ID || gone.Class != event.ClassLost || !strings.Contains(gone.Reason, "before its claim lapsed") {
		t.Errorf("gone %+v", gone)
	}
}

func TestAServerThatDiesKeepsThePlacesInTheQueue(t *testing.T) {
	w := newWorld(t)
	first := w.spawn("0s", false)
	all := plan.Resources{CPUs: 1, GPUs: 2}
	pa, pb, pc := job(idA, "first", 1, all), job(idB, "second", 1, all), job(idC, "third", 1, all)
	a := w.open(w.submit(w.client(), pa), pa, 1)
	b := w.open(w.submit(w.client(), pb), pb, 1)
	c := w.open(w.submit(w.client(), pc), pc, 1)
	a.request(1)
	slots := a.launch(a.granted(1))
	b.request(1)
	b.waits()
	c.request(1)
	c.waits()
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Wait()
	w.spawn("0s", false)
	// The third may ask the new server first: its place is still behind.
	if err := a.Release(t.Context(), []string{slots[0].ID}, false); err != nil {
		t.Fatal(err)
	}
	got := b.granted(1)
	if err := b.Release(t.Context(), []string{got[0].ID}, false); err != nil {
		t.Fatal(err)
	}
	c.granted(1)
	for _, e := range b.seen {
		if e.Refused != nil {
			t.Errorf("refused: %+v", e.Refused)
		}
	}
}

func TestASupersededGangTouchesNothing(t *testing.T) {
	w := newWorld(t)
	w.serve()
	p := job(idA, "digits", 1, one)
	ref := w.submit(w.client(), p)
	k := w.open(ref, p, 1)
	k.request(1)
	slots := k.launch(k.granted(1))
	if err := os.WriteFile(filepath.Join(ref.Dir, "endpoint", "000002"), []byte(`{"term":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"request": k.Request(t.Context(), backend.Request{Number: 2}),
		"launch":  k.Launch(t.Context(), []backend.Start{{Slot: slots[0]}}),
		"release": k.Release(t.Context(), []string{slots[0].ID}, true),
		"close":   k.Close(t.Context(), event.Outcome{}),
	} {
		if !errors.Is(err, backend.ErrSuperseded) {
			t.Errorf("%s: %v", what, err)
		}
	}
	k.await("supersession", func(e backend.Event) bool { return e.Superseded })
	if err := k.Leave(); err != nil {
		t.Fatal(err)
	}
	if !alive(k.pids(slots[0].ID)[0]) {
		t.Error("the executor was ended")
	}
}

func TestTwoLivesOfOneJobNeverHoldTwoGangs(t *testing.T) {
	w := newWorld(t)
	w.serve()
	p := job(idA, "digits", 2, plan.Resources{CPUs: 1, GPUs: 1})
	ref := w.submit(w.client(), p)
	first := w.open(ref, p, 1)
	first.request(1)
	slots := first.granted(2)
	if err := first.Leave(); err != nil { // before anything was journalled
		t.Fatal(err)
	}
	second := w.open(ref, p, 2)
	second.request(1)
	got := second.granted(2)
	slices.SortFunc(got, func(a, b backend.Slot) int { return strings.Compare(a.ID, b.ID) })
	if diff := cmp.Diff(slots, got); diff != "" {
		t.Errorf("other slots for the same request (-first +second):\n%s", diff)
	}
}
