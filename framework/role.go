package framework

import (
	"cmp"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// AddRole gives a job a role that its author left out and the framework cannot
// do without, such as MXNet's scheduler. What r leaves empty is filled as for
// a role of the file: one task, one process, one processor, the grace of the
// other roles. It does nothing where the author wrote a role of this name.
func AddRole(d *plan.Draft, r plan.Role) {
	p := d.Plan
	if p.Role(r.Name) != nil {
		return
	}
	r.Instances = cmp.Or(r.Instances, spec.Count{Min: 1, Max: 1})
	r.Procs = cmp.Or(r.Procs, 1)
	r.Resources.CPUs = cmp.Or(r.Resources.CPUs, 1)
	r.OnFailure = cmp.Or(r.OnFailure, spec.FailureStop)
	r.RestartScope = cmp.Or(r.RestartScope, spec.ScopeJob)
	if len(p.Roles) > 0 {
		r.StopGrace = cmp.Or(r.StopGrace, p.Roles[0].StopGrace)
		r.Image = cmp.Or(r.Image, p.Roles[0].Image)
	}
	p.Roles = append(p.Roles, r)
}
