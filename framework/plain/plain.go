// Package plain is the framework of programs that know none: a draft comes in
// and gets one port a task, a roster comes in and the MUSTER_ variables and
// roster.json go out. README.md lists them.
package plain

import (
	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
)

// Port is the port that every task of a role without ports of its own holds.
const Port = "main"

// Framework is plain.
type Framework struct{}

var _ framework.Framework = Framework{}

// Name is "plain".
func (Framework) Name() string { return "plain" }

// Prepare gives every role without ports one.
func (Framework) Prepare(d *plan.Draft) {
	for i := range d.Plan.Roles {
		if r := &d.Plan.Roles[i]; len(r.Ports) == 0 {
			framework.AddPort(r, Port, true)
		}
	}
	framework.Check(d, nil)
}

// Launch gives a task what every task sees, and the roster.
func (Framework) Launch(p *plan.Plan, r *plan.Roster, id plan.TaskID) (plan.Launch, error) {
	l, _, err := framework.Common(p, r, id)
	if err != nil {
		return plan.Launch{}, err
	}
	return l, framework.AddRoster(&l, p, r, id, framework.ScopeJob)
}
