package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/local"
	"github.com/muster-project/muster/plan"
)

// team is a gang in this process, as a coordinator holds it.
type team struct {
	*world
	backend.Gang
	plan *plan.Plan
	dir  string
	seen []backend.Event
}

func (w *world) open(ref backend.Ref, p *plan.Plan, term int64, known ...backend.Slot) *team {
	w.t.Helper()
	link, err := local.ReadLink(ref.Dir)
	if err != nil {
		w.t.Fatal(err)
	}
	g, err := local.Opener{Dir: ref.Dir, Executor: self("as-executor"), Client: link.Client()}.Open(w.t.Context(), p, term, known)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { g.Leave() })
	return &team{world: w, Gang: g, plan: p, dir: ref.Dir}
}

// request asks for all tasks of the plan.
func (k *team) request(number int) {
	k.t.Helper()
	r := backend.Request{Number: number}
	for _, role := range k.plan.Roles {
		r.Minimum += role.Instances.Min
		for i := range role.Instances.Max {
			r.Asks = append(r.Asks, backend.Ask{Task: plan.TaskID{Role: role.Name, Index: i}, Resources: role.Resources})
		}
	}
	if err := k.Request(k.t.Context(), r); err != nil {
		k.t.Fatal(err)
	}
}

// await returns the next event that want accepts; what comes before is kept in seen.
func (k *team) await(what string, want func(backend.Event) bool) backend.Event {
	k.t.Helper()
	end := time.NewTimer(soon)
	defer end.Stop()
	for {
		select {
		case e, open := <-k.Events():
			if !open {
				k.t.Fatalf("%s: the gang was closed", what)
			}
			k.seen = append(k.seen, e)
			if want(e) {
				return e
			}
		case <-end.C:
			k.t.Fatalf("%s: did not come; seen %s", what, show(k.seen))
		}
	}
}

func show(events []backend.Event) string {
	data, _ := json.Marshal(events)
	return string(data)
}

func (k *team) granted(n int) []backend.Slot {
	k.t.Helper()
	var slots []backend.Slot
	for range n {
		slots = append(slots, *k.await("grant", func(e backend.Event) bool { return e.Granted != nil }).Granted)
	}
	return slots
}

func (k *team) launch(slots []backend.Slot) []backend.Slot {
	k.t.Helper()
	var starts []backend.Start
	for _, s := range slots {
		starts = append(starts, backend.Start{Slot: s, Context: []byte("{}")})
	}
	if err := k.Launch(k.t.Context(), starts); err != nil {
		k.t.Fatal(err)
	}
	out := slices.Clone(slots)
	for range slots {
		st := k.await("start", func(e backend.Event) bool { return e.Started != nil }).Started
		if st.Err != nil {
			k.t.Fatal(st.Err)
		}
		for i := range out {
			if out[i].ID == st.Slot {
				out[i].Native = st.Native
			}
		}
	}
	for _, s := range slots {
		eventually(k.t, "executor and guardian of "+s.ID, func() bool { return len(k.pids(s.ID)) == 2 })
	}
	return out
}

// pids are executor and guardian of a slot.
func (k *team) pids(slot string) []int {
	data, _ := os.ReadFile(filepath.Join(k.dir, "slots", slot, "pids"))
	var a, b int
	if n, _ := fmt.Sscanf(string(data), "%d %d\n", &a, &b); n == 2 {
		return []int{a, b}
	}
	return nil
}

func (k *team) gone() backend.Gone {
	k.t.Helper()
	return *k.await("end of a slot", func(e backend.Event) bool { return e.Gone != nil }).Gone
}

func (k *team) waits() []string {
	k.t.Helper()
	return k.await("reason to wait", func(e backend.Event) bool { return e.Waiting != nil }).Waiting.Reasons
}

func (w *world) living() []local.Claim {
	w.t.Helper()
	l := local.Ledger{Dirs: []string{w.claims}}
	unlock, err := l.Lock(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	defer unlock()
	claims, err := l.Living()
	if err != nil {
		w.t.Fatal(err)
	}
	return claims
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil && !zombie(pid) }

func zombie(pid int) bool {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(data), ") ")
	return strings.HasPrefix(rest, "Z")
}
