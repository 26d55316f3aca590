// Package horovod is Horovod over gloo: a draft comes in and gets the store at
// which the ranks meet and the policies of ranks that need each other; a roster
// comes in and the variables that hvd.init() reads go out. README.md lists them.
package horovod

import (
	"fmt"
	"slices"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
)

// Port is where each task's executor serves a store; the ranks meet at that of
// rank 0.
const Port = "store"

// mostRanks is what a store has room for: gloo writes an address of 136 bytes
// for every pair of ranks, and all at once.
const mostRanks = 1400

// Framework is horovod.
type Framework struct{}

var _ framework.Framework = Framework{}

// Name is "horovod".
func (Framework) Name() string { return "horovod" }

// Prepare gives every task with ranks a store, since who has rank 0 is known
// at the roll call.
func (Framework) Prepare(d *plan.Draft) {
	for i := range d.Plan.Roles {
		r := &d.Plan.Roles[i]
		if !r.Counted {
			if len(r.Ports) == 0 {
				framework.AddPort(r, "main", true)
			}
			continue
		}
		framework.Collect(d, r)
		framework.AddPort(r, Port, false)
		n := slices.IndexFunc(r.Ports, func(p plan.Port) bool { return p.Name == Port })
		r.Ports[n].Store = true
	}
	checkSize(d)
	framework.CheckReady(d, func(r *plan.Role) bool { // at the store it is we who listen
		return !slices.ContainsFunc(r.Ports, func(p plan.Port) bool { return !p.Store })
	})
	framework.Check(d, reserved)
}

// checkSize refuses a world whose addresses the store cannot hold.
func checkSize(d *plan.Draft) {
	world := map[int]int{} // by stage
	for _, r := range d.Plan.Roles {
		if !r.Counted {
			continue
		}
		before := world[r.Stage]
		world[r.Stage] += r.Instances.Max * r.Procs
		if before <= mostRanks && world[r.Stage] > mostRanks {
			d.Report(plan.Finding{
				Path:    "roles." + r.Name + ".instances",
				Problem: fmt.Sprintf("%d ranks: gloo connects every pair of them, and at most %d can meet", world[r.Stage], mostRanks),
				Hint:    "use Horovod's MPI controller under framework: mpi",
			})
		}
	}
}

// Launch gives each process what hvd.init() reads.
func (Framework) Launch(p *plan.Plan, r *plan.Roster, id plan.TaskID) (plan.Launch, error) {
	l, m, err := framework.Common(p, r, id)
	if err != nil {
		return plan.Launch{}, err
	}
	if m.Rank >= 0 {
		if err := meet(&l, p, r, m); err != nil {
			return plan.Launch{}, err
		}
	}
	return l, framework.AddRoster(&l, p, r, id, framework.ScopeNode)
}
