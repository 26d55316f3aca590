package local

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/plan"
)

const gib = 1 << 30

// box is a machine with 4 processors, 16 GiB and 4 GPUs.
func box() Machine {
	return Machine{Node: "box", CPUs: []int{0, 1, 2, 3}, Shares: 16, Memory: 16 * gib, GPUs: []string{"0", "1", "2", "3"}}
}

func asks(role string, n int, r plan.Resources) []backend.Ask {
	out := make([]backend.Ask, n)
	for i := range out {
		out[i] = backend.Ask{Task: plan.TaskID{Role: role, Index: i}, Resources: r}
	}
	return out
}

func gangOf(job string, ticket int64, minimum int, a []backend.Ask) *Wanted {
	return &Wanted{Job: job, User: "ada", Number: 1, Minimum: minimum, Asks: a, Ticket: ticket}
}

func gpus(n int) plan.Resources { return plan.Resources{CPUs: 1, GPUs: n} }

func TestDecide(t *testing.T) {
	holdsTwo := []Claim{{Job: "m-abc", Slot: "1-worker-0", User: "bob", CPUs: 1, GPUs: []string{"0", "1"}}}
	tests := map[string]struct {
		held    []Claim
		queue   []*Wanted
		granted []string
		waiting map[string]string
		refused map[string]string
	}{
		"what fits is granted": {
			queue:   []*Wanted{gangOf("m-a", 1, 2, asks("worker", 2, gpus(2)))},
			granted: []string{"m-a worker/0 gpus=0,1 cpus=0", "m-a worker/1 gpus=2,3 cpus=1"},
		},
		"a gang is granted whole or not at all": {
			held:    holdsTwo,
			queue:   []*Wanted{gangOf("m-a", 1, 4, asks("worker", 4, gpus(1)))},
			waiting: map[string]string{"m-a": "needs 4 GPUs, 2 of 4 free; held by m-abc of bob"},
		},
		"the head keeps those behind it waiting, also what would fit": {
			held: holdsTwo,
			queue: []*Wanted{
				gangOf("m-later", 2, 1, asks("worker", 1, gpus(1))),
				gangOf("m-head", 1, 2, asks("worker", 2, gpus(2))),
			},
			waiting: map[string]string{
				"m-head":  "needs 4 GPUs, 2 of 4 free; held by m-abc of bob",
				"m-later": "behind m-head (2 tasks)",
			},
		},
		"who is behind and would not fit is told both": {
			held: holdsTwo,
			queue: []*Wanted{
				gangOf("m-head", 1, 3, asks("worker", 3, gpus(1))),
				gangOf("m-later", 2, 1, asks("worker", 1, gpus(4))),
			},
			waiting: map[string]string{
				"m-head":  "needs 3 GPUs, 2 of 4 free; held by m-abc of bob",
				"m-later": "needs 4 GPUs, 2 of 4 free; behind m-head (3 tasks)",
			},
		},
		"memory is not overcommitted": {
			held:    []Claim{{Job: "m-abc", Slot: "s", User: "bob", Memory: 12 * gib}},
			queue:   []*Wanted{gangOf("m-a", 1, 1, asks("worker", 1, plan.Resources{CPUs: 1, Memory: 6 * gib}))},
			waiting: map[string]string{"m-a": "needs 6GiB of memory, 4GiB of 16GiB free; held by m-abc of bob"},
		},
		"processors are shared up to what the machine promises": {
			queue:   []*Wanted{gangOf("m-a", 1, 16, asks("w", 16, plan.Resources{CPUs: 1})), gangOf("m-b", 2, 1, asks("w", 1, plan.Resources{CPUs: 0.5}))},
			granted: sharedGang("m-a", 16),
			waiting: map[string]string{"m-b": "needs 0.5 CPUs, 0 of 16 free; held by m-a of ada"},
		},
		"an elastic gang takes what is welcome too": {
			held:    holdsTwo,
			queue:   []*Wanted{gangOf("m-a", 1, 1, asks("worker", 4, gpus(1)))},
			granted: []string{"m-a worker/0 gpus=2 cpus=0", "m-a worker/1 gpus=3 cpus=1"},
		},
		"who only hopes for more blocks nobody and comes last": {
			held: holdsTwo,
			queue: []*Wanted{
				gangOf("m-hopes", 1, 0, asks("worker", 1, gpus(1))),
				gangOf("m-needs", 2, 2, asks("worker", 2, gpus(1))),
			},
			granted: []string{"m-needs worker/0 gpus=2 cpus=0", "m-needs worker/1 gpus=3 cpus=1"},
		},
		"what is welcome to one is kept for the head": {
			held: holdsTwo,
			queue: []*Wanted{
				gangOf("m-hopes", 1, 0, asks("worker", 1, gpus(1))),
				gangOf("m-needs", 2, 3, asks("worker", 3, gpus(1))),
			},
			waiting: map[string]string{"m-needs": "needs 3 GPUs, 2 of 4 free; held by m-abc of bob"},
		},
		"what can never fit is refused and blocks nobody": {
			queue: []*Wanted{
				gangOf("m-huge", 1, 1, asks("worker", 2, gpus(5))),
				gangOf("m-many", 2, 5, asks("worker", 5, gpus(1))),
				gangOf("m-a", 3, 1, asks("worker", 1, gpus(1))),
			},
			granted: []string{"m-a worker/0 gpus=0 cpus=0"},
			refused: map[string]string{
				"m-huge": "can never be granted on box: worker/0 needs 5 GPUs, 4 of 4 free",
				"m-many": "can never be granted on box: 5 tasks together: needs 5 GPUs, 4 of 4 free",
			},
		},
		"processors of its own only if the whole gang can have them": {
			held:    []Claim{{Job: "m-x", Slot: "s", User: "bob", CPUs: 3, CPUSet: "0-1,3"}},
			queue:   []*Wanted{gangOf("m-a", 1, 2, asks("w", 2, plan.Resources{CPUs: 1})), gangOf("m-b", 2, 1, asks("w", 1, plan.Resources{CPUs: 1}))},
			granted: []string{"m-a w/0", "m-a w/1", "m-b w/0 cpus=2"},
		},
		"a fraction of a processor is a share": {
			queue:   []*Wanted{gangOf("m-a", 1, 1, asks("w", 1, plan.Resources{CPUs: 1.5}))},
			granted: []string{"m-a w/0"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := decide(box(), tc.held, tc.queue)
			var granted []string
			for _, g := range d.granted {
				line := g.Wanted.Job + " " + g.Slot.Task.String()
				if len(g.Slot.Devices) > 0 {
					line += " gpus=" + strings.Join(g.Slot.Devices, ",")
				}
				if g.Slot.CPUSet != "" {
					line += " cpus=" + g.Slot.CPUSet
				}
				granted = append(granted, line)
			}
			if diff := cmp.Diff(tc.granted, granted); diff != "" {
				t.Errorf("granted (-want +got):\n%s", diff)
			}
			waiting, refused := map[string]string{}, map[string]string{}
			for w, why := range d.waiting {
				waiting[w.Job] = strings.Join(why, "; ")
			}
			for w, why := range d.refused {
				refused[w.Job] = why
			}
			if diff := cmp.Diff(orEmpty(tc.waiting), waiting); diff != "" {
				t.Errorf("waiting (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(orEmpty(tc.refused), refused); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}

func sharedGang(job string, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s w/%d", job, i))
	}
	return out
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// F-020: two gangs that each need more than half are never both half granted.
func TestF020TwoGangsEachWithHalfTheMachine(t *testing.T) {
	for _, need := range [][2]int{{4, 4}, {3, 2}} {
		var held []Claim
		queue := []*Wanted{gangOf("m-a", 1, need[0], asks("w", need[0], gpus(1))), gangOf("m-b", 1, need[1], asks("w", need[1], gpus(1)))}
		d := decide(box(), held, queue)
		if len(d.granted) != need[0] || slices.ContainsFunc(d.granted, func(g Granted) bool { return g.Wanted.Job == "m-b" }) {
			t.Errorf("%v: granted %d slots, want all %d of m-a and none of m-b", need, len(d.granted), need[0])
		}
		for _, g := range d.granted {
			held = append(held, claimOf(g.Wanted, g.Slot))
		}
		if d := decide(box(), held, queue[1:]); len(d.granted) != 0 {
			t.Errorf("%v: m-b holds %d slots while it waits", need, len(d.granted))
		}
		if d := decide(box(), nil, queue[1:]); len(d.granted) != need[1] {
			t.Errorf("%v: m-b got %d slots after m-a had ended, want %d", need, len(d.granted), need[1])
		}
	}
}

// F-022: four jobs that wait for four reasons are told four sentences.
func TestF022PendingAndNobodySaysWhy(t *testing.T) {
	held := []Claim{{Job: "m-abc", Slot: "s", User: "bob", CPUs: 16, Memory: 15 * gib, GPUs: []string{"0", "1", "2"}}}
	seen := map[string]bool{}
	for _, r := range []plan.Resources{{GPUs: 2}, {Memory: 2 * gib}, {CPUs: 1}} {
		w := gangOf("m-a", 1, 1, asks("w", 1, r))
		why := strings.Join(decide(box(), held, []*Wanted{w}).waiting[w], "; ")
		if why == "" || seen[why] || !strings.Contains(why, " of ") {
			t.Errorf("%+v: %q is no reason of its own with numbers", r, why)
		}
		seen[why] = true
	}
}

// F-104: devices are as many as were asked for, and ones this node has.
func TestF104CountSaysFourTheListSaysNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 4).Draw(t, "gpus")
		d := decide(box(), nil, []*Wanted{gangOf("m-a", 1, 1, asks("w", 1, gpus(n)))})
		got := d.granted[0].Slot.Devices
		if len(got) != n {
			t.Fatalf("%d GPUs asked, devices %v", n, got)
		}
		for _, id := range got {
			if !slices.Contains(box().GPUs, id) {
				t.Fatalf("device %s is not on this node", id)
			}
		}
	})
}

// TestBooksAlwaysBalance plays random requests and ends. F-068: the books equal
// what runs after every step.
func TestBooksAlwaysBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := box()
		var held []Claim
		var queue []*Wanted
		var ticket int64
		order := map[string]int64{} // of gangs whose minimum is granted
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(held) > 0 && rapid.Bool().Draw(t, "end") {
				job := held[rapid.IntRange(0, len(held)-1).Draw(t, "job")].Job
				held = slices.DeleteFunc(held, func(c Claim) bool { return c.Job == job })
				queue = slices.DeleteFunc(queue, func(w *Wanted) bool { return w.Job == job })
			} else {
				ticket++
				n := rapid.IntRange(1, 5).Draw(t, "tasks")
				r := plan.Resources{GPUs: rapid.IntRange(0, 2).Draw(t, "gpus"), Memory: int64(rapid.IntRange(0, 9).Draw(t, "memory")) * gib,
					CPUs: float64(rapid.IntRange(0, 8).Draw(t, "cpus")) / 2}
				w := gangOf(fmt.Sprintf("m-%d", ticket), ticket, rapid.IntRange(1, n).Draw(t, "minimum"), asks("w", n, r))
				queue = append(queue, w)
			}
			d := decide(m, held, queue)
			per := map[*Wanted]int{}
			for _, g := range d.granted {
				held = append(held, claimOf(g.Wanted, g.Slot))
				per[g.Wanted]++
			}
			balance(t, m, held)
			for w, n := range per {
				if n < w.Minimum {
					t.Fatalf("%s: %d of at least %d granted", w.Job, n, w.Minimum)
				}
				for v := range d.waiting {
					if v.Minimum > 0 && w.Minimum > 0 && v.Ticket < w.Ticket {
						t.Fatalf("%s (ticket %d) was granted before %s (ticket %d)", w.Job, w.Ticket, v.Job, v.Ticket)
					}
				}
				order[w.Job] = w.Ticket
			}
			queue = slices.DeleteFunc(queue, func(w *Wanted) bool { return d.refused[w] != "" || per[w] == len(w.Asks) })
			for _, w := range queue {
				if n := per[w]; n > 0 {
					w.Minimum = 0
					got := map[plan.TaskID]bool{}
					for _, g := range d.granted {
						if g.Wanted == w {
							got[g.Slot.Task] = true
						}
					}
					w.Asks = slices.DeleteFunc(slices.Clone(w.Asks), func(a backend.Ask) bool { return got[a.Task] })
				}
			}
			// Nothing leaks: an empty machine grants the head.
			if len(queue) > 0 && len(decide(m, nil, queue).granted) == 0 {
				t.Fatalf("an empty machine grants nothing to %d that wait", len(queue))
			}
		}
	})
}

func balance(t *rapid.T, m Machine, held []Claim) {
	var cpus float64
	var memory int64
	seen, own := map[string]string{}, map[int]string{}
	for _, c := range held {
		cpus, memory = cpus+c.CPUs, memory+c.Memory
		for _, id := range c.GPUs {
			if other := seen[id]; other != "" {
				t.Fatalf("GPU %s is held by %s and %s", id, other, c.Job)
			}
			seen[id] = c.Job
		}
		for _, n := range parseSet(c.CPUSet) {
			if other := own[n]; other != "" {
				t.Fatalf("processor %d is the own of %s and %s", n, other, c.Job)
			}
			own[n] = c.Job
		}
	}
	if cpus > m.Shares+tiny || memory > m.Memory {
		t.Fatalf("%v CPUs of %v, %d bytes of %d are held", cpus, m.Shares, memory, m.Memory)
	}
}

func TestSetsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := slices.Sorted(slices.Values(rapid.SliceOfDistinct(rapid.IntRange(0, 300), rapid.ID).Draw(t, "cpus")))
		if got := parseSet(formatSet(want)); !slices.Equal(got, want) {
			t.Fatalf("%v became %v by %q", want, got, formatSet(want))
		}
	})
}
