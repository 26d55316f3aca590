package gang_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/gang"
)

// cluster is n nodes of four units of memory.
func cluster(seed uint64, n int) *world {
	w := newWorld(seed)
	for i := range n {
		w.node(fmt.Sprintf("n%d", i), fmt.Sprintf("r%d", i/2), "", mem(4, 16))
	}
	w.admins = true
	return w
}

// job adds a job of n slots of one size.
func (w *world) job(id, user string, arrive, run time.Duration, n int, size int64) *job {
	j := &job{id: id, user: user, queue: "q", master: mem(1, 1), arrive: arrive, run: run, parts: []string{""},
		need: []gang.Class{{Name: "worker", Size: mem(size, 1), Minimum: n, Count: n}}}
	w.jobs = append(w.jobs, j)
	return j
}

func (w *world) at(at time.Duration, what func(*world)) {
	w.events = append(w.events, happening{at, what})
}

// twoLarge need 6 of 8 each, with their masters 7.
func twoLarge(seed uint64) *world {
	w := cluster(seed, 2)
	w.job("a", "ada", 0, 10*time.Second, 5, 1)
	w.job("b", "ada", 0, 10*time.Second, 5, 1)
	return w
}

// twoWhole need everything that their own master leaves free.
func twoWhole(seed uint64) *world {
	w := cluster(seed, 2)
	w.job("a", "ada", 0, 10*time.Second, 7, 1)
	w.job("b", "bob", 0, 10*time.Second, 7, 1).keepers = 3
	return w
}

func fiveMixed(seed uint64) *world {
	w := cluster(seed, 4)
	w.job("a", "ada", 0, 20*time.Second, 12, 1)
	w.job("b", "bob", time.Second, 20*time.Second, 3, 3)
	w.job("c", "ada", 2*time.Second, 10*time.Second, 2, 1)
	w.job("d", "eve", 3*time.Second, 10*time.Second, 15, 1)
	w.job("e", "bob", 4*time.Second, 10*time.Second, 4, 2)
	return w
}

// nodeLost: two complete gangs lose a node, and what is left is not enough for
// both of them.
func nodeLost(seed uint64) *world {
	w := cluster(seed, 4)
	w.job("a", "ada", 0, 60*time.Second, 6, 1)
	w.job("b", "ada", time.Second, 60*time.Second, 6, 1)
	w.at(20*time.Second, func(w *world) { w.note("n3 lost"); w.lose(w.nodes[3]) })
	return w
}

// wedgedHead: the first master gathers no more, and the resource manager does
// not notice.
func wedgedHead(seed uint64) *world {
	w := cluster(seed, 2)
	w.admins = false
	w.patience = never
	w.foreign("q", "", 0, 90*time.Second, 5, mem(1, 1)) // by then the head is too old to be passed
	w.job("a", "ada", time.Second, 10*time.Second, 3, 1)
	w.job("b", "bob", 2*time.Second, 10*time.Second, 3, 1).due = 3 * time.Minute
	w.at(10*time.Second, func(w *world) { w.pause(w.jobs[0], 30*time.Minute) })
	return w
}

// ownSlots: whoever places the small ones first has no node left for a large one.
func ownSlots(seed uint64) *world {
	w := cluster(seed, 0)
	w.node("n0", "r0", "", mem(7, 16))
	w.node("n1", "r0", "", mem(5, 16))
	w.node("n2", "r1", "", mem(5, 16))
	w.job("a", "ada", 0, 10*time.Second, 2, 3).need = []gang.Class{
		{Name: "large", Size: mem(5, 1), Minimum: 2, Count: 2}, {Name: "small", Size: mem(2, 1), Minimum: 3, Count: 3}}
	return w
}

// twoBlind can see nobody for ten minutes, not even themselves.
func twoBlind(seed uint64) *world {
	w := twoLarge(seed)
	w.reportsOff = []span{{0, 3 * time.Hour}}
	return w
}

// service: an application that never ends holds what nobody needs, beside two
// gangs of which each needs the other's master's place.
func service(seed uint64) *world {
	w := twoWhole(seed)
	w.node("n2", "r1", "", mem(2, 16))
	w.foreign("q", "", 0, 20*time.Minute, 1, mem(1, 1))
	return w
}

// guaranteed: the head waits for its queue's maximum, and is old enough for
// nobody to pass it; but the first of the other queue may use what that queue is
// guaranteed.
func guaranteed(seed uint64) *world {
	w := cluster(seed, 4)
	w.queues["q"] = &leaf{name: "q", guaranteed: 50, maximum: 75}
	w.queues["p"] = &leaf{name: "p", guaranteed: 50, maximum: 100}
	w.foreign("q", "", 0, 4*time.Minute, 5, mem(1, 1))
	w.job("a", "ada", 2*time.Second, 10*time.Second, 9, 1)
	w.job("b", "bob", 90*time.Second, 10*time.Second, 3, 1).queue = "p"
	w.job("c", "bob", 91*time.Second, 10*time.Second, 1, 1)
	return w
}

func TestScenes(t *testing.T) {
	for name, s := range map[string]struct {
		world func(uint64) *world
		seed  uint64
		want  []string
	}{
		"two of 60 percent": {twoLarge, 1, []string{
			"   6.0s a complete",
			"  15.0s a succeeded",
			"  16.0s b complete",
			"  25.0s b succeeded",
		}},
		"two of everything": {twoWhole, 1, []string{
			"  15.0s b stepped aside for a0001 (job a of ada): for 15s only gathering gangs hold anything, and this is the youngest of 2",
			"  16.0s a complete",
			"  18.0s b submitted again as a0003",
			"  25.0s a succeeded",
			"  27.5s b complete",
			"  36.5s b succeeded",
		}},
		"five mixed": {fiveMixed, 1, []string{
			"   3.0s a complete",
			"  22.0s a succeeded",
			"  24.0s c complete",
			"  33.0s c succeeded",
			"  34.0s b complete",
			"  53.0s b succeeded",
			"  53.5s e complete",
			"  62.5s e succeeded",
			"  64.5s d complete",
			"  73.5s d succeeded",
		}},
		"a node is lost under two complete gangs": {nodeLost, 4, []string{
			"   1.0s a complete",
			"   2.0s b complete",
			"  20.0s n3 lost",
			"  52.0s b rejoins",
			"  93.0s a succeeded",
			"  94.0s b complete",
			" 153.0s b succeeded",
		}},
		"a wedged head loses its place": {wedgedHead, 1, []string{
			"  10.0s a pauses for 30m0s",
			" 111.0s b complete",
			" 120.0s b succeeded",
			"1810.0s a complete",
			"1819.0s a succeeded",
		}},
		"own slots in the way": {ownSlots, 1, []string{
			"  10.0s a complete",
			"  19.0s a succeeded",
		}},
		"two that see nobody": {twoBlind, 1, []string{
			"  16.0s a complete",
			"  25.0s a succeeded",
			"  47.0s b complete",
			"  56.0s b succeeded",
		}},
		"beside a service that never ends": {service, 1, []string{
			"  63.0s b stepped aside for a0002 (job a of ada): for 1m0s 1 other applications hold resources and none was given back, and this is the youngest of 2",
			"  64.0s a complete",
			"  66.0s b submitted again as a0004",
			"  73.0s a succeeded",
			"  74.5s b complete",
			"  83.5s b succeeded",
		}},
		"within what the queue is guaranteed": {guaranteed, 1, []string{
			"  91.0s b complete",
			" 100.0s b succeeded",
			" 241.0s a complete",
			" 242.5s c complete",
			" 250.0s a succeeded",
			" 251.5s c succeeded",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := s.world(s.seed)
			if !w.run(time.Hour) {
				t.Fatalf("not over: %v\n%s", w.broken, w.story())
			}
			if diff := cmp.Diff(s.want, w.notes); diff != "" {
				t.Errorf("otherwise (-want +got):\n%s", diff)
			}
		})
	}
}
