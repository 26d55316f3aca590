// Package pytorch is torch.distributed: a draft comes in and gets the
// rendezvous port and the policies of a job whose ranks need each other; a
// roster comes in and the variables of env:// and of torchrun go out.
// README.md lists them.
package pytorch

import (
	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
)

// Port is held by every task with a rank; that of rank 0 is MASTER_PORT.
const Port = "rendezvous"

// Framework is pytorch.
type Framework struct{}

var _ framework.Framework = Framework{}

// Name is "pytorch".
func (Framework) Name() string { return "pytorch" }

// Prepare sets the policies of collectives: one rank that fails leaves all
// others hanging, so a failure stops the job or restarts all of it.
func (Framework) Prepare(d *plan.Draft) {
	for i := range d.Plan.Roles {
		r := &d.Plan.Roles[i]
		if r.Name == "ps" {
			r.Counted = true // torch.distributed.rpc: a parameter server is a rank like the others
		}
		if !r.Counted {
			if len(r.Ports) == 0 {
				framework.AddPort(r, "main", true)
			}
			continue
		}
		framework.Collect(d, r)
		framework.AddPort(r, Port, false)
	}
	framework.CheckReady(d, func(r *plan.Role) bool { // at the rendezvous only rank 0 listens
		return r.Counted && r.Instances.Max > 1 && r.Ports[0].Name == Port
	})
	framework.Check(d, reserved)
}

// Launch gives a task the variables of env:// or, where its command is
// torchrun, those that torchrun takes its defaults from.
func (Framework) Launch(p *plan.Plan, r *plan.Roster, id plan.TaskID) (plan.Launch, error) {
	l, m, err := framework.Common(p, r, id)
	if err != nil {
		return plan.Launch{}, err
	}
	if m.Rank >= 0 {
		if err := distributed(&l, p, r, m); err != nil {
			return plan.Launch{}, err
		}
	}
	return l, framework.AddRoster(&l, p, r, id, framework.ScopeNode)
}
