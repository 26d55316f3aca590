//go:build chaos

// Package chaos kills every part of muster at every moment of a real PyTorch
// job and looks at what becomes of the job: where its policy says that it
// survives, its steps are consecutive; where it does not, the verdict names the
// part that was killed; and nothing is ever left behind.
package chaos

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/muster-project/muster/test/chaos/record"
)

var (
	muster = flag.String("muster", "", "the muster binary")
	torch  = flag.String("torch", "", "a Python with PyTorch")
	rounds = flag.Int("rounds", 5, "faults per part and moment; one with -short")
	seed   = flag.Uint64("seed", 20261130, "of the order and the choice of ranks")
)

// A part is what is killed; a moment is when.
var (
	parts   = []string{"server", "coordinator", "executor", "guardian", "task"}
	moments = []string{"before the roll call", "during it", "in mid-training", "while stopping", "while sealing"}
)

// fault is one kill and what it is done to.
type fault struct {
	part, moment string
	survives     bool // the policy lets the job go on after losing a task
	rank         int  // of the worker that is hit
}

// faults are all pairs, rounds times each, in a seeded order.
func faults(n int) []fault {
	r := rand.New(rand.NewPCG(*seed, 1))
	var out []fault
	for round := range n {
		for _, p := range parts {
			for _, m := range moments {
				out = append(out, fault{part: p, moment: m, survives: (round+len(out)%(len(parts)*len(moments)))%2 == 0, rank: r.IntN(2)})
			}
		}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func TestMatrix(t *testing.T) {
	if *muster == "" || *torch == "" {
		t.Fatal("-muster and -torch: must be given: make test and make chaos do")
	}
	n := *rounds
	if testing.Short() {
		n = 1
	}
	begin := time.Now()
	all := faults(n)
	r := &results{matrix: record.Matrix{Rows: parts, Columns: moments, Outcomes: []string{"survived", "restarted", "named", "stopped"}}}
	t.Run("faults", func(t *testing.T) {
		for lane := range lanes {
			t.Run(fmt.Sprintf("lane %d", lane), func(t *testing.T) {
				t.Parallel()
				g := newGround(t)
				for i := lane; i < len(all); i += lanes {
					r.run(t, g, i, all[i])
				}
			})
		}
	})
	t.Logf("seed %d: %d faults in %s, %d of them not survived as they should be\n%s", *seed, len(all),
		time.Since(begin).Round(time.Second), r.lost, &r.matrix)
	for _, cell := range r.matrix.Empty() {
		t.Errorf("%s: the cell is empty", cell)
	}
}

// lanes is how many jobs are under fire at a time. Each lane has a home and a
// server of its own.
const lanes = 3

// results is what became of the jobs, by part and moment.
type results struct {
	mu     sync.Mutex
	matrix record.Matrix
	lost   int
}

func (r *results) run(t *testing.T, g *ground, i int, f fault) {
	outcome := ""
	ok := t.Run(fmt.Sprintf("%03d %s %s", i, f.part, f.moment), func(t *testing.T) { outcome = g.run(t, f) })
	r.mu.Lock()
	defer r.mu.Unlock()
	if outcome != "" {
		r.matrix.Count(f.part, f.moment, outcome)
	}
	if !ok {
		r.lost++
	}
}

// script is where the trained program lies.
func script(t *testing.T) string {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
