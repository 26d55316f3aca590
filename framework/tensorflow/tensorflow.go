// Package tensorflow is tf.distribute: a draft comes in and gets a server port
// a task and the policies of its strategy; a roster comes in and TF_CONFIG
// goes out. README.md has its exact form.
package tensorflow

import (
	"fmt"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// Port is where a task's TensorFlow server listens.
const Port = "server"

// Framework is tensorflow.
type Framework struct{}

var _ framework.Framework = Framework{}

// Name is "tensorflow".
func (Framework) Name() string { return "tensorflow" }

// place is what a role is to TensorFlow.
type place int

const (
	outside   place = iota // tensorboard, sidecars: no TF_CONFIG
	member                 // in everybody's cluster
	evaluator              // in its own cluster only
)

func placeOf(r *plan.Role) place {
	switch {
	case r.Name == "evaluator":
		return evaluator
	case r.Counted || r.Name == "ps":
		return member
	}
	return outside
}

// Prepare gives every member of the cluster a port, and sets the policies of
// the strategy that the roles show: parameter servers, or collectives.
func (Framework) Prepare(d *plan.Draft) {
	p := d.Plan
	if p.Role("chief") != nil && p.Role("master") != nil {
		d.Report(plan.Finding{
			Path: "roles.master", Problem: "there is a chief already, and master is another word for it",
			Hint: "call one of them worker",
		})
	}
	collective := p.Role("ps") == nil
	for i := range p.Roles {
		r := &p.Roles[i]
		at := placeOf(r)
		if at == outside {
			if len(r.Ports) == 0 {
				framework.AddPort(r, "main", true)
			}
			continue
		}
		framework.AddPort(r, Port, true)
		first(r, Port)
		if r.Procs > 1 {
			d.Report(plan.Finding{
				Path: "roles." + r.Name + ".procs", Problem: fmt.Sprintf("%d asked, but a TensorFlow task is one process", r.Procs),
				Hint: "raise instances instead",
			})
		}
		if at == member && collective && d.Open(r.Name, "on_failure") {
			r.OnFailure = spec.FailureStop
		}
		if at == member && d.Open(r.Name, "restart_scope") {
			r.RestartScope = spec.ScopeJob
		}
	}
	framework.Check(d, func(name string) bool { return name == variable })
}

// first moves a port to the front: a task is ready when its server listens.
func first(r *plan.Role, name string) {
	for i, port := range r.Ports {
		if port.Name == name {
			copy(r.Ports[1:i+1], r.Ports[:i])
			r.Ports[0] = port
		}
	}
}

// Launch gives a task TF_CONFIG, which names all servers of its cluster, as
// TensorFlow demands, and a roster of its own node only.
func (Framework) Launch(p *plan.Plan, r *plan.Roster, id plan.TaskID) (plan.Launch, error) {
	l, _, err := framework.Common(p, r, id)
	if err != nil {
		return plan.Launch{}, err
	}
	if placeOf(p.Role(id.Role)) != outside {
		value, err := config(p, r, id)
		if err != nil {
			return plan.Launch{}, err
		}
		framework.Set(&l, variable, value)
	}
	return l, framework.AddRoster(&l, p, r, id, framework.ScopeNode)
}
