// Package framework is how a roster becomes the variables and files that
// TensorFlow, PyTorch and others expect. A draft plan comes in and is checked
// and completed; later a roster and a task come in and a Launch goes out.
//
// The contract in prose is in README.md. Frameworks know no backend, do no I/O
// and keep no state.
package framework

import "github.com/muster-project/muster/plan"

// Framework is the contract of every framework.
type Framework interface {
	// Name is what "framework:" in a job file says.
	Name() string
	// Prepare checks the draft and fills in what the author left open: policies
	// by role name, ports, helper roles. What it dislikes it reports on the draft.
	Prepare(d *plan.Draft)
	// Launch computes argv, environment and files of one task of the roster.
	// p is the plan the roster was made for. Equal input gives equal output.
	Launch(p *plan.Plan, r *plan.Roster, id plan.TaskID) (plan.Launch, error)
}

// Readier is implemented by frameworks in which a task must not start before
// others are ready, beyond what "after" says.
type Readier interface {
	// Ready says whether a task may start now, given the tasks that are ready,
	// and if not, what it waits for.
	Ready(p *plan.Plan, r *plan.Roster, id plan.TaskID, ready func(plan.TaskID) bool) (ok bool, waitsFor string)
}
