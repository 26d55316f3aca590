//go:build chaos

package yarn

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-project/muster/test/chaos/record"
)

var (
	muster = flag.String("muster", "", "the muster binary")
	torch  = flag.String("torch", "", "a Python with PyTorch")
	seed   = flag.Uint64("seed", 20261201, "of the order of faults and the choice of ranks")
	most   = flag.Duration("for", 12*time.Hour, "no new journey begins after this time; the matrix then says what it lacks")
	only   = flag.String("only", "", "journeys, by number and with commas between; all without")
)

// Moments of a job in which a fault happens. A journey is one job that goes
// through the first four and one of the last two.
const (
	gathering  = "gathering"
	rollCall   = "roll call"
	training   = "training"
	saving     = "saving a checkpoint"
	ending     = "ending"
	stopping   = "stopping"
	beforeLast = 4
)

var moments = []string{gathering, rollCall, training, saving, ending, stopping}

// kind is one thing that goes wrong.
type kind struct {
	name   string
	strike func(j *journey, moment string)
	ends   bool // tasks: they are started again
	term   bool // another coordinator follows
	// why says at which moments it cannot be, and why.
	why   map[string]string
	ha    bool             // needs two ResourceManagers and NameNodes, and short keys
	ready func(j *journey) // what is waited for before a moment that is held open
	// hurts is the moment for the short form, which has time for two jobs.
	hurts string
}

var noTask = map[string]string{
	gathering: "no task yet",
	rollCall:  "no process of a task yet",
}

var noExecutor = map[string]string{gathering: "no executor yet"}

var kinds = []kind{
	{name: "coordinator", strike: (*journey).killCoordinator, term: true, hurts: rollCall},
	{name: "coordinator's node", strike: (*journey).loseCoordinator, term: true, hurts: training},
	{name: "two coordinators alive", strike: (*journey).twoCoordinators, term: true, hurts: training},
	{name: "coordinator while it writes", strike: (*journey).killWriter, term: true, hurts: training},
	{name: "executor", strike: (*journey).killExecutor, ends: true, why: noExecutor, hurts: saving},
	{name: "process of a task", strike: (*journey).killTask, ends: true, why: noTask, hurts: saving},
	{name: "NodeManager", strike: (*journey).killNodeManager, hurts: rollCall},
	{name: "node of a task", strike: (*journey).loseNode, ends: true, hurts: gathering},
	{name: "ResourceManager", strike: (*journey).killResourceManager, hurts: gathering},
	{name: "ResourceManager fails over", strike: (*journey).failOverResourceManager, ha: true, hurts: training},
	{name: "NameNode", strike: (*journey).killNameNode, hurts: ending},
	{name: "NameNode fails over", strike: (*journey).failOverNameNode, ha: true, hurts: training},
	{name: "DataNode in a write", strike: (*journey).killDataNode, hurts: stopping},
	{name: "keys rolled", strike: (*journey).rollKeys, ready: (*journey).nearRoll, ha: true, hurts: training},
	{name: "client and server", strike: (*journey).killClient, hurts: training},
}

// fault is one kind at one moment.
type fault struct {
	kind   kind
	moment string
}

// journeys are the faults of each job. Every kind meets every moment that it can:
// journey n takes kind n+m for moment m, and each kind is there at both ends.
func journeys(all []kind, short bool, r *rand.Rand) [][]fault {
	var out [][]fault
	if short {
		return shortest(all)
	}
	for _, end := range []string{ending, stopping} {
		order := r.Perm(len(all))
		for n := range all {
			var j []fault
			for m, moment := range append(slices.Clone(moments[:beforeLast]), end) {
				if k := all[order[(n+m*2)%len(all)]]; k.why[moment] == "" {
					j = append(j, fault{k, moment})
				}
			}
			out = append(out, j)
		}
	}
	return out
}

// shortest puts every kind at the moment that hurts most into as few jobs as that
// takes: kinds at the same moment but the middle ones cannot share one.
func shortest(all []kind) [][]fault {
	var out [][]fault
	for _, k := range all {
		placed := false
		for i, j := range out {
			taken := slices.ContainsFunc(j, func(f fault) bool {
				return f.moment == k.hurts || (f.moment == ending || f.moment == stopping) && (k.hurts == ending || k.hurts == stopping)
			})
			if !taken || k.hurts == training {
				out[i] = append(j, fault{k, k.hurts})
				placed = true
				break
			}
		}
		if !placed {
			out = append(out, []fault{{k, k.hurts}})
		}
	}
	for _, j := range out {
		slices.SortStableFunc(j, func(a, b fault) int { return slices.Index(moments, a.moment) - slices.Index(moments, b.moment) })
	}
	return out
}

func TestChaosYARN(t *testing.T) {
	w := newWorld(t)
	r := rand.New(rand.NewPCG(*seed, 6))
	var here []kind
	for _, k := range kinds {
		if !k.ha || w.ha() {
			here = append(here, k)
		}
	}
	all := journeys(here, testing.Short(), r)
	res := &results{matrix: record.Matrix{Columns: moments, Outcomes: []string{"untouched", "restarted", "stopped", "lost"}}, slowest: map[string]time.Duration{}, pause: map[string]time.Duration{}}
	for _, k := range kinds {
		res.matrix.Rows = append(res.matrix.Rows, k.name)
	}
	t.Logf("seed %d: %d journeys", *seed, len(all))
	begin := time.Now()
	for n, faults := range all {
		pick := r.Uint64() // also for those that are left out, so that one alone is the same
		if *only != "" && !slices.Contains(strings.Split(*only, ","), fmt.Sprint(n)) {
			continue
		}
		if time.Since(begin) > *most {
			t.Errorf("%d of %d journeys were made in %s", n, len(all), *most)
			break
		}
		ok := t.Run(fmt.Sprint(n), func(t *testing.T) { w.travel(t, faults, rand.New(rand.NewPCG(pick, 1)), res) })
		if !ok {
			res.failed++
			w.mend(t)
		}
	}
	res.matrix.Why = w.why(t)
	t.Logf("seed %d: %s", *seed, res.summary(time.Since(begin)))
	if !testing.Short() && *only == "" {
		if empty := res.matrix.Empty(); len(empty) > 0 {
			t.Errorf("%d cells are empty: %s", len(empty), strings.Join(empty, "; "))
		}
	}
}

// why says of a cell of the matrix why it cannot be, or isn't meant to be here.
func (w *world) why(t *testing.T) func(row, column string) string {
	return func(row, column string) string {
		k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == row })]
		switch {
		case k.ha && !w.ha():
			return "needs mode secure"
		case k.why[column] != "":
			return k.why[column]
		case testing.Short() || *only != "":
			return "-"
		}
		return ""
	}
}

// results is what became of all jobs.
type results struct {
	matrix  record.Matrix
	faults  int
	lost    int      // steps
	left    []string // what jobs left behind
	failed  int      // journeys
	slowest map[string]time.Duration
	pause   map[string]time.Duration
}

func (r *results) summary(took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d faults in %s, %d steps lost, %d left behind, %d jobs not as they should be\n\n%s\n",
		r.faults, took.Round(time.Second), r.lost, len(r.left), r.failed, &r.matrix)
	fmt.Fprintf(&b, "| kind | slowest recovery | longest pause between two steps |\n|---|---|---|\n")
	for _, k := range slices.Sorted(maps.Keys(r.slowest)) {
		fmt.Fprintf(&b, "| %s | %.1f s | %.1f s |\n", k, r.slowest[k].Seconds(), r.pause[k].Seconds())
	}
	return b.String()
}
