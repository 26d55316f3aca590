package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/spec"
)

// policy is what a role's name and keys came to.
type policy struct {
	Wait, Ends, Counted bool
	OnFailure           spec.OnFailure
	Max                 spec.Failures
	Restarts            int
	Scope               spec.Scope
}

func policies(p *Plan) map[string]policy {
	out := map[string]policy{}
	for _, r := range p.Roles {
		out[r.Name] = policy{r.Wait, r.EndsJob, r.Counted, r.OnFailure, r.MaxFailures, r.Restarts, r.RestartScope}
	}
	return out
}

func TestPoliciesFollowNames(t *testing.T) {
	work := policy{Wait: true, Counted: true, OnFailure: spec.FailureStop, Scope: spec.ScopeTask}
	chief := policy{Wait: true, Ends: true, Counted: true, OnFailure: spec.FailureStop, Scope: spec.ScopeTask}
	beside := policy{Wait: true, Counted: true, OnFailure: spec.FailureTolerate, Scope: spec.ScopeTask}
	ps := policy{OnFailure: spec.FailureStop, Scope: spec.ScopeJob}
	evaluator := policy{OnFailure: spec.FailureTolerate, Scope: spec.ScopeTask}
	board := policy{OnFailure: spec.FailureIgnore, Scope: spec.ScopeTask}
	for name, tc := range map[string]struct {
		roles spec.Roles
		want  map[string]policy
	}{
		"workers alone": {spec.Roles{role("worker", 2)}, map[string]policy{"worker": work}},
		"chief and its helpers": {
			spec.Roles{role("chief", 1), role("worker", 2), role("ps", 1), role("evaluator", 1), role("tensorboard", 1), role("notebook", 1), role("sidecar", 1)},
			map[string]policy{"chief": chief, "worker": beside, "ps": ps, "evaluator": evaluator, "tensorboard": board, "notebook": board, "sidecar": board},
		},
		"master is a chief": {
			spec.Roles{role("master", 1), role("worker", 2)}, map[string]policy{"master": chief, "worker": beside},
		},
		"workers with parameter servers": {
			spec.Roles{role("worker", 2), role("ps", 1)}, map[string]policy{"worker": work, "ps": ps},
		},
		"a notebook alone is the work": {spec.Roles{role("notebook", 1)}, map[string]policy{"notebook": work}},
		"a helper alone is the work":   {spec.Roles{role("tensorboard", 1)}, map[string]policy{"tensorboard": work}},
		"another role that ends the job is a chief too": {
			spec.Roles{with(role("driver", 1), func(r *spec.Role) { r.EndsJob = yesNo(true) }), role("worker", 1)},
			map[string]policy{"driver": chief, "worker": beside},
		},
		"what is written holds": {
			spec.Roles{
				with(role("chief", 1), func(r *spec.Role) { r.EndsJob = yesNo(false); r.OnFailure = spec.FailureIgnore }),
				with(role("ps", 1), func(r *spec.Role) { r.Wait = yesNo(true); r.RestartScope = spec.ScopeRole }),
			},
			map[string]policy{
				"chief": {Wait: true, Counted: true, OnFailure: spec.FailureIgnore, Scope: spec.ScopeTask},
				"ps":    {Wait: true, OnFailure: spec.FailureStop, Scope: spec.ScopeRole},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, policies(build(t, &spec.Job{Roles: tc.roles}))); d != "" {
				t.Error(d)
			}
		})
	}
}

// F-011: a failed worker beside a chief lets training go on and fails the job
// in the end; "stop" stops at once; "ignore" makes it a success with a warning.
// What each word does is session's; here is which word a job gets.
func TestF011FailureOfASideWorker(t *testing.T) {
	for name, tc := range map[string]struct {
		written, want spec.OnFailure
	}{
		"default":                   {"", spec.FailureTolerate},
		"stop at the first failure": {spec.FailureStop, spec.FailureStop},
		"ignore this role":          {spec.FailureIgnore, spec.FailureIgnore},
	} {
		t.Run(name, func(t *testing.T) {
			p := build(t, &spec.Job{Roles: spec.Roles{
				role("chief", 1), with(role("worker", 2), func(r *spec.Role) { r.OnFailure = tc.written })}})
			w := p.Role("worker")
			if w.OnFailure != tc.want || w.MaxFailures != (spec.Failures{}) {
				t.Errorf("on_failure %q, max_failures %v; want %q and none forgiven", w.OnFailure, w.MaxFailures, tc.want)
			}
		})
	}
}

// F-052: a task that ends well is no reason to stop the others: no default ends
// a job because one of several equal tasks is done.
func TestF052TheFirstTaskEndedWell(t *testing.T) {
	p := build(t, &spec.Job{Roles: spec.Roles{role("worker", 4)}})
	if w := p.Role("worker"); w.EndsJob || !w.Wait || w.Linger != nil {
		t.Errorf("ends_job %v, wait %v, linger %v: the first success would end the rest", w.EndsJob, w.Wait, w.Linger)
	}
}

// F-053: with the default policy the first failure stops the others, whose own
// end by our signal is no failure: its status must be the job's.
func TestF053AMeaningfulExitStatus(t *testing.T) {
	p := build(t, &spec.Job{Roles: spec.Roles{role("worker", 4)}})
	if w := p.Role("worker"); w.OnFailure != spec.FailureStop || w.Restarts != 0 {
		t.Errorf("on_failure %q with %d restarts: status 93 would be lost in a restart", w.OnFailure, w.Restarts)
	}
}

// F-059: of two restart policies in one file the plan says which one holds.
// spec refuses those that contradict each other in so many words.
func TestF059TwoRestartPoliciesInOneFile(t *testing.T) {
	type result struct {
		OnFailure spec.OnFailure
		Restarts  int
		Max       spec.Failures
		Warnings  []string
	}
	for name, tc := range map[string]struct {
		change func(*spec.Role)
		want   result
	}{
		"restarts alone": {
			func(r *spec.Role) { r.Restarts = number(2) },
			result{OnFailure: spec.FailureRestart, Restarts: 2},
		},
		"restart without a number": {
			func(r *spec.Role) { r.OnFailure = spec.FailureRestart },
			result{OnFailure: spec.FailureRestart, Restarts: 3},
		},
		"max_failures alone": {
			func(r *spec.Role) { r.MaxFailures = spec.Failures{Percent: 10} },
			result{OnFailure: spec.FailureTolerate, Max: spec.Failures{Percent: 10}},
		},
		"restarts and max_failures": {
			func(r *spec.Role) { r.Restarts = number(1); r.MaxFailures = spec.Failures{Count: 1} },
			result{OnFailure: spec.FailureRestart, Restarts: 1,
				Warnings: []string{`roles.worker.max_failures: has no effect: restarts makes on_failure "restart", and only "tolerate" counts failures`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := build(t, &spec.Job{Roles: spec.Roles{with(role("worker", 4), tc.change)}})
			w := p.Role("worker")
			got := result{w.OnFailure, w.Restarts, w.MaxFailures, p.Warnings}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAJobThatWaitsForNothingIsRefused(t *testing.T) {
	job := &spec.Job{Roles: spec.Roles{
		role("ps", 1), with(role("worker", 1), func(r *spec.Role) { r.Wait = yesNo(false) })}}
	_, err := Build(job, nil, local, Options{})
	want := "roles: nothing to wait for: every role has wait: false, so the job would be over before it began\n" +
		"    write wait: true for at least one role"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestStagesFollowSuccess(t *testing.T) {
	after := func(is spec.Condition, roles ...string) func(*spec.Role) {
		return func(r *spec.Role) {
			for _, name := range roles {
				r.After = append(r.After, spec.After{Role: name, Is: is})
			}
		}
	}
	p := build(t, &spec.Job{Roles: spec.Roles{
		with(role("report", 1), after(spec.Succeeded, "train")),
		with(role("train", 1), after(spec.Succeeded, "fetch", "evaluator")),
		with(role("watch", 1), after("", "train")),
		role("fetch", 1),
		role("evaluator", 1),
	}})
	got := map[string]int{}
	for _, r := range p.Roles {
		got[r.Name] = r.Stage
	}
	want := map[string]int{"fetch": 0, "evaluator": 0, "train": 1, "watch": 1, "report": 2}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if is := p.Role("watch").After[0].Is; is != spec.Started {
		t.Errorf("after without a condition waits for %q, want started", is)
	}
	if !p.Role("evaluator").Wait {
		t.Error("train starts once evaluator has succeeded, but nobody waits for evaluator")
	}
}
