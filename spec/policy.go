package spec

import (
	"cmp"
	"reflect"
	"slices"
)

// OnFailure is what a failed task means for its job.
type OnFailure string

// The values of on_failure.
const (
	FailureStop     OnFailure = "stop"
	FailureRestart  OnFailure = "restart"
	FailureTolerate OnFailure = "tolerate"
	FailureIgnore   OnFailure = "ignore"
)

func (OnFailure) words() []string { return []string{"stop", "restart", "tolerate", "ignore"} }

// Scope is what is started again after a failure.
type Scope string

// The values of restart_scope.
const (
	ScopeTask Scope = "task"
	ScopeRole Scope = "role"
	ScopeJob  Scope = "job"
)

func (Scope) words() []string { return []string{"task", "role", "job"} }

// Condition is what After waits for.
type Condition string

// The conditions of after.
const (
	Started   Condition = "started"
	Ready     Condition = "ready"
	Succeeded Condition = "succeeded"
)

func (Condition) words() []string { return []string{"started", "ready", "succeeded"} }

// After orders the start of roles.
type After struct {
	Role string    `yaml:"role" json:"role" doc:"the role that comes first"`
	Is   Condition `yaml:"is" json:"is" doc:"started (default), ready or succeeded"`
}

// read takes the name of a role, which must then have started, or {role, is}.
func (a *After) read(r *reader, n *node, path string) {
	*a = After{Is: Started}
	if n.kind != mapping {
		r.string(n, reflect.ValueOf(&a.Role).Elem(), path)
		return
	}
	r.structure(n, reflect.ValueOf(a).Elem(), path)
	if n.get("role") == nil {
		r.report(n.at, path, "names no role", "write {role: NAME, is: ready}")
	}
}

// OnPreempt is what a task is told before it is preempted, and what becomes of it
// afterwards.
type OnPreempt struct {
	Signal string   `yaml:"signal" json:"signal" doc:"signal sent to the task, as in USR1; none: it finds the time in $MUSTER_DEADLINE_FILE alone"`
	Before Duration `yaml:"before" json:"before" doc:"how long before the end it is sent; 0, or more than is left: at once"`
	Then   string   `yaml:"then,omitempty" json:"then,omitempty" doc:"requeue (default): the task goes on in a new epoch once slots are there again; stop: the job ends as preempted"`
}

// The values of on_preempt.then.
const (
	ThenRequeue = "requeue"
	ThenStop    = "stop"
)

var preemptWords = []string{ThenRequeue, ThenStop}

// read brings the signal's name into one form: USR1 for SIGUSR1 and usr1.
func (o *OnPreempt) read(r *reader, n *node, path string) {
	*o = OnPreempt{}
	if n.kind == scalar {
		r.expected(n, path, "a signal and a time", "write {signal: "+cmp.Or(SignalName(n.text), "USR1")+", before: 60s}")
		return
	}
	r.structure(n, reflect.ValueOf(o).Elem(), path)
	o.Signal = cmp.Or(SignalName(o.Signal), o.Signal)
}

// Linger bounds how long a role may outlive the roles it follows. When the
// time is over the role is stopped, which counts as success ("stop"), or the
// job ends without caring about it ("ignore").
type Linger struct {
	For  Duration `yaml:"for" json:"for" doc:"how long"`
	Then string   `yaml:"then" json:"then" doc:"stop (default) or ignore"`
}

var lingerWords = []string{"stop", "ignore"}

// read takes the time alone, or {for, then}.
func (l *Linger) read(r *reader, n *node, path string) {
	*l = Linger{Then: "stop"}
	if n.kind != mapping {
		r.text(n, &l.For, path)
		return
	}
	r.structure(n, reflect.ValueOf(l).Elem(), path)
	if n.get("for") == nil {
		r.report(n.at, path, "names no time", "write {for: 10m, then: stop}")
	}
	if then := n.get("then"); then != nil && l.Then != "" && !slices.Contains(lingerWords, l.Then) {
		r.report(then.at, joinPath(path, "then"), quote(l.Then)+" is unknown"+didYouMean(l.Then, lingerWords), "known: stop, ignore")
	}
}
