package framework

import (
	"slices"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// Serve makes a role one that serves the ranks of another: it has none itself,
// the job doesn't wait for it, and its failure stops the job. What the author
// wrote stays, and a role that others wait to see succeed is waited for. It
// belongs to the stage of those that it serves, unless its author said when.
func Serve(d *plan.Draft, r, served *plan.Role) {
	r.Counted = false
	if d.Open(r.Name, "wait") {
		r.Wait = slices.ContainsFunc(d.Plan.Roles, func(o plan.Role) bool {
			return slices.Contains(o.After, spec.After{Role: r.Name, Is: spec.Succeeded})
		})
	}
	if d.Open(r.Name, "on_failure") {
		r.OnFailure = spec.FailureStop
	}
	if d.Open(r.Name, "restart_scope") {
		r.RestartScope = spec.ScopeJob
	}
	if !d.Open(r.Name, "after") || served == nil {
		return
	}
	r.After = nil
	for _, a := range served.After {
		if a.Is == spec.Succeeded && a.Role != r.Name {
			r.After = append(r.After, a)
		}
	}
}

// Collect sets the policies of ranks that need each other: one that fails
// leaves the others hanging in their next collective, so its failure stops the
// job, and a restart is one of all.
func Collect(d *plan.Draft, r *plan.Role) {
	if d.Open(r.Name, "on_failure") {
		r.OnFailure = spec.FailureStop
	}
	if d.Open(r.Name, "restart_scope") {
		r.RestartScope = spec.ScopeJob
	}
}
