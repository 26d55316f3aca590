package session

import (
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
)

// Input is one thing that a coordinator tells its session. Inputs may come
// late, twice or not at all; none of them harms.
type Input interface{ input() }

// Inputs from the backend.
type (
	// Granted says: a slot was given.
	Granted struct{ Slot event.SlotGranted }
	// Waiting says: a request is not granted yet, and why.
	Waiting struct {
		Request int
		Reasons []string
	}
	// Warned says: something will go wrong if nobody does anything about it.
	Warned struct{ Text, Hint string }
	// Refused says: a request can never be granted.
	Refused struct {
		Request int
		Reason  string
	}
	// Launched says: an executor was started, or could not be (Err).
	Launched struct {
		Slot   string
		Native []byte
		Err    string
	}
	// Gone says: nothing of a slot is left.
	Gone struct {
		Slot   string
		Class  event.Class
		Reason string
		Status int
		// Blameless: what ran there did nothing wrong.
		Blameless bool
	}
	// Preempting says: slots will be taken away at the deadline; none: they stay
	// after all.
	Preempting struct {
		Slots    []string
		Deadline time.Time
		Reason   string
	}
)

// Inputs from executors.
type (
	// Linked says: the executor of a slot connected; the rest is its state, as in
	// wire.Hello. Phase uses wire's words.
	Linked struct {
		Slot        string
		Task        plan.TaskID
		Control     string
		Host        string
		Incarnation int
		Phase       string
		Ports       map[string]int
		PIDs        []int
		Ready       bool
		Exit        *event.Exit
	}
	// Unlinked says: its connection closed.
	Unlinked struct{ Slot string }
	// Silent says: its connection is open but it has not beaten for too long.
	Silent struct{ Slot string }
	// Registered says: the executor prepared an incarnation, or could not (Exit).
	Registered struct {
		Slot        string
		Incarnation int
		Host        string
		Ports       map[string]int
		Exit        *event.Exit
	}
	// Started says: the processes of an incarnation run.
	Started struct {
		Slot        string
		Incarnation int
		PIDs        []int
	}
	// Ready says: the task said that it is ready.
	Ready struct {
		Slot        string
		Incarnation int
	}
	// Exited says: an incarnation ended. Exit.At is already on the coordinator's clock.
	Exited struct {
		Slot        string
		Incarnation int
		Exit        event.Exit
	}
	// Published says: a key and value of a task.
	Published struct{ Slot, Key, Value string }
	// Signalled says: a signal was delivered, or not.
	Signalled struct{ Slot, Request, Error string }
	// Progress says: what tasks said of themselves since the last one.
	Progress struct {
		Tasks map[plan.TaskID]event.Progress
	}
)

// Inputs from people and clocks.
type (
	// Stop says: somebody wants the job to end.
	Stop struct {
		Reason string
		By     string
		Now    bool
	}
	// Signal says: somebody wants a signal sent. No tasks means all.
	Signal struct {
		Request string
		Signal  string
		Tasks   []plan.TaskID
		By      string
	}
	// Requeue says: somebody wants the job to give its slots back and to go on in
	// others. The same Request again says nothing.
	Requeue struct {
		Request string
		Reason  string
		By      string
	}
	// Tick says: the time given by Deadline has come.
	Tick struct{}
)

func (Granted) input()    {}
func (Waiting) input()    {}
func (Warned) input()     {}
func (Refused) input()    {}
func (Launched) input()   {}
func (Gone) input()       {}
func (Preempting) input() {}
func (Linked) input()     {}
func (Unlinked) input()   {}
func (Silent) input()     {}
func (Registered) input() {}
func (Started) input()    {}
func (Ready) input()      {}
func (Exited) input()     {}
func (Published) input()  {}
func (Signalled) input()  {}
func (Progress) input()   {}
func (Stop) input()       {}
func (Signal) input()     {}
func (Requeue) input()    {}
func (Tick) input()       {}
