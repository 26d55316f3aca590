package plan

import "github.com/muster-project/muster/spec"

// helper is what a role's name says by itself: the default policies of roles
// that are not the work but serve it.
type helper struct {
	wait      bool
	counted   bool
	onFailure spec.OnFailure
	scope     spec.Scope
}

// helpers lists the names with a meaning. A parameter server that dies takes
// the model along, so its job stops. An evaluator that dies harms nobody, but
// nobody should be told of success either: its job goes on and then fails.
// TensorBoard and a notebook are views on the job and no part of its result.
var helpers = map[string]helper{
	"ps":          {onFailure: spec.FailureStop, scope: spec.ScopeJob},
	"evaluator":   {onFailure: spec.FailureTolerate, scope: spec.ScopeTask},
	"tensorboard": {onFailure: spec.FailureIgnore, scope: spec.ScopeTask},
	"notebook":    {onFailure: spec.FailureIgnore, scope: spec.ScopeTask},
	"sidecar":     {onFailure: spec.FailureIgnore, scope: spec.ScopeTask},
}

// IsChief says that a role's name means "the job is done when I am".
func IsChief(role string) bool { return role == "chief" || role == "master" }

// IsHelper says that a role's name means that it serves the others.
func IsHelper(role string) bool { _, ok := helpers[role]; return ok }

// byName sets policies from role names, as far as the author left them open.
// A job of helpers alone has no work to serve; there names mean nothing.
func byName(d *Draft) {
	chief, only, waited := false, true, awaited(d.Plan)
	for i := range d.Plan.Roles {
		r := &d.Plan.Roles[i]
		if d.Open(r.Name, "ends_job") {
			r.EndsJob = IsChief(r.Name)
		}
		chief = chief || r.EndsJob
		only = only && IsHelper(r.Name)
	}
	for i := range d.Plan.Roles {
		r := &d.Plan.Roles[i]
		h, known := helpers[r.Name]
		if !known || only {
			h = helper{wait: true, counted: true, onFailure: spec.FailureStop, scope: spec.ScopeTask}
			if chief && !r.EndsJob {
				// The chief decides the end; a failed worker beside it is no
				// reason to stop, and no success either.
				h.onFailure = spec.FailureTolerate
			}
		}
		r.Counted = h.counted
		if d.Open(r.Name, "wait") {
			r.Wait = h.wait || waited[r.Name]
		}
		if d.Open(r.Name, "on_failure") {
			r.OnFailure = h.onFailure
		}
		if d.Open(r.Name, "restart_scope") {
			r.RestartScope = h.scope
		}
	}
}

// defaultRestarts is how often "on_failure: restart" restarts when no number is written.
const defaultRestarts = 3

// settleFailure derives on_failure from what was written beside it. spec has
// refused what contradicts a written on_failure.
func settleFailure(d *Draft) {
	for i := range d.Plan.Roles {
		r := &d.Plan.Roles[i]
		switch open := d.Open(r.Name, "on_failure"); {
		case open && r.Restarts > 0:
			r.OnFailure = spec.FailureRestart
			if r.MaxFailures != (spec.Failures{}) {
				d.warn("roles."+r.Name+".max_failures", "has no effect: restarts makes on_failure \"restart\", and only \"tolerate\" counts failures")
				r.MaxFailures = spec.Failures{}
			}
		case open && r.MaxFailures != spec.Failures{}:
			r.OnFailure = spec.FailureTolerate
		case r.OnFailure == spec.FailureRestart && d.Open(r.Name, "restarts"):
			r.Restarts = defaultRestarts
		}
	}
}

// checkEnd sees to it that the job waits for something.
func checkEnd(d *Draft) {
	for _, r := range d.Plan.Roles {
		if r.Wait || r.EndsJob {
			return
		}
	}
	d.refuse("roles", "write wait: true for at least one role",
		"nothing to wait for: every role has wait: false, so the job would be over before it began")
}
