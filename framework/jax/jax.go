// Package jax is jax.distributed: a draft comes in and gets the coordinator's
// port and the policies of a job whose processes need each other; a roster
// comes in and the variables go out by which jax.distributed.initialize()
// finds the others without an argument. README.md lists them.
package jax

import (
	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
)

// Port is held by every task with a rank; on that of rank 0 JAX's coordinator
// listens.
const Port = "coordinator"

// Framework is jax.
type Framework struct{}

var _ framework.Framework = Framework{}

// Name is "jax".
func (Framework) Name() string { return "jax" }

// Prepare gives every task that may be rank 0 the coordinator's port, and sets
// the policies of processes that need each other.
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
	}
	framework.CheckReady(d, func(r *plan.Role) bool { return r.Ports[0].Name == Port && r.Instances.Max > 1 })
	framework.Check(d, reserved)
}

// Launch gives the processes of a task with a rank what JAX looks for.
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
