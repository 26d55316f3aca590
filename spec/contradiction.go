package spec

import (
	"slices"
	"strings"
)

// policies finds policies that contradict each other, and says which of them
// would hold and why (F-059): none is dropped in silence.
func (v *validator) policies(at string, r *Role) {
	if r.Restarts != nil {
		v.negative(at+".restarts", float64(*r.Restarts))
	}
	switch restarts := r.Restarts != nil && *r.Restarts > 0; {
	case r.OnFailure == "":
	case r.OnFailure != FailureRestart && restarts:
		v.report(at+".restarts", "write on_failure: restart, or leave restarts out",
			"%d would have no effect: on_failure: %s holds, and it never starts a task again", *r.Restarts, r.OnFailure)
	case r.OnFailure == FailureRestart && r.Restarts != nil && *r.Restarts == 0:
		v.report(at+".restarts", "write how often, or on_failure: stop",
			"0 holds, so on_failure: restart would never start a task again")
	}
	if r.OnFailure != "" && r.OnFailure != FailureRestart && r.RestartScope != "" {
		v.report(at+".restart_scope", "write on_failure: restart, or leave restart_scope out",
			"%s would have no effect: on_failure: %s holds, and it never starts a task again", r.RestartScope, r.OnFailure)
	}
	if r.OnFailure != "" && r.OnFailure != FailureTolerate && r.MaxFailures != (Failures{}) {
		v.report(at+".max_failures", "write on_failure: tolerate, or leave max_failures out",
			"%v would have no effect: on_failure: %s holds, and only tolerate counts failures", r.MaxFailures, r.OnFailure)
	}
	if r.MaxFailures.Count < 0 || r.MaxFailures.Percent < 0 || r.MaxFailures.Percent > 100 {
		v.report(at+".max_failures", "", "%v is no number of failures", r.MaxFailures)
	}
	v.ending(at, r)
	if r.OnPreempt != nil {
		if r.OnPreempt.Signal != "" || r.OnPreempt.Then == "" || r.OnPreempt.Before != 0 {
			v.signal(at+".on_preempt.signal", r.OnPreempt.Signal)
		}
		if then := r.OnPreempt.Then; then != "" && !slices.Contains(preemptWords, then) {
			v.report(at+".on_preempt.then", "known: requeue, stop", "%s is unknown%s", quote(then), didYouMean(then, preemptWords))
		}
		v.negative(at+".on_preempt.before", float64(r.OnPreempt.Before))
	}
}

func (v *validator) ending(at string, r *Role) {
	ends := r.EndsJob != nil && *r.EndsJob
	if ends && r.Wait != nil && !*r.Wait {
		v.report(at+".wait", "leave wait out", "false would have no effect: ends_job: true holds, so the job waits for this role")
	}
	if ends && r.Linger != nil {
		v.report(at+".linger", "leave one of them out", "would have no effect: ends_job: true holds, so nothing outlives this role")
	}
	if r.Linger != nil {
		v.negative(at+".linger", float64(r.Linger.For))
	}
	if ends && r.OnFailure == FailureIgnore {
		v.report(at+".on_failure", "leave one of them out", "ignore contradicts ends_job: true, by which the end of this role is the job's")
	}
}

// end refuses a job whose author told it to wait for nothing.
func (v *validator) end(roles Roles) {
	for _, r := range roles {
		if r.Wait == nil || *r.Wait || r.EndsJob != nil && *r.EndsJob {
			return
		}
	}
	if len(roles) > 0 {
		v.report("roles", "write wait: true for at least one role", "every role has wait: false, so the job would be over before it began")
	}
}

// order checks after: known roles, no role after itself, no circle.
func (v *validator) order(roles Roles) {
	names := roles.Names()
	for _, r := range roles {
		seen := map[string]bool{}
		for i, a := range r.After {
			at := joinIndex(joinPath("roles", r.Name)+".after", i)
			switch {
			case a.Role == r.Name:
				v.report(at, "", "%s cannot come after itself", quote(a.Role))
			case !slices.Contains(names, a.Role):
				v.report(at, "the job has "+strings.Join(names, ", "), "unknown role %s%s", quote(a.Role), didYouMean(a.Role, names))
			case seen[a.Role]:
				v.report(at, "keep one", "%s is named twice", quote(a.Role))
			}
			seen[a.Role] = true
		}
	}
	if circle := findCircle(roles); circle != nil {
		v.report(joinPath("roles", circle[0])+".after", "leave one of them out", "goes round in a circle: %s", strings.Join(circle, " after "))
	}
}

// findCircle returns a chain of roles that ends where it begins, or nil.
func findCircle(roles Roles) []string {
	done := map[string]bool{}
	var walk func(name string, way []string) []string
	walk = func(name string, way []string) []string {
		if i := slices.Index(way, name); i >= 0 {
			return append(slices.Clone(way[i:]), name)
		}
		r := roles.Get(name)
		if r == nil || done[name] {
			return nil
		}
		for _, a := range r.After {
			if a.Role == name {
				continue // told above
			}
			if c := walk(a.Role, append(way, name)); c != nil {
				return c
			}
		}
		done[name] = true
		return nil
	}
	for _, r := range roles {
		if c := walk(r.Name, nil); c != nil {
			return c
		}
	}
	return nil
}
