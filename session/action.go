package session

import (
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
)

// Action is one thing that is still to be done, derived from the state. Each is
// safe to repeat; Key stays the same until it is acknowledged, so a coordinator
// does it once per connection and again after a takeover.
type Action interface{ Key() string }

// The actions. Slot names the executor that a directive goes to.
type (
	// Request asks the gang for slots.
	Request struct {
		Number  int
		Minimum int
		Tasks   []plan.TaskID
	}
	// Launch starts the executor of a slot.
	Launch struct{ Slot event.SlotGranted }
	// Prepare opens an incarnation at an executor.
	Prepare struct {
		Slot        string
		Task        plan.TaskID
		Incarnation int
		Epoch       int
	}
	// Start lets an incarnation run under a roster.
	Start struct {
		Slot        string
		Task        plan.TaskID
		Incarnation int
		Roster      *plan.Roster
	}
	// StopTask ends an incarnation.
	StopTask struct {
		Slot        string
		Task        plan.TaskID
		Incarnation int
		Grace       time.Duration
		Now         bool
		Reason      string
	}
	// SendSignal delivers a requested signal.
	SendSignal struct {
		Slot        string
		Request     string
		Incarnation int
		Signal      string
	}
	// Preempt tells an incarnation that its slot will be taken away, or, with a
	// zero Deadline, that it stays. Serial counts what it was told.
	Preempt struct {
		Slot        string
		Task        plan.TaskID
		Incarnation int
		Serial      int
		Signal      string
		Before      time.Duration
		Deadline    time.Time
		Reason      string
	}
	// Release ends a slot with everything in it: the executor is told to quit,
	// and the gang gives the slot back.
	Release struct {
		Slot string
		Now  bool
	}
	// Close ends the job at the backend; it is the last action.
	Close struct{ Outcome event.Outcome }
)

// Slot is a slot as the journal knows it.
type Slot struct {
	event.SlotGranted
	Started bool
	Control string
	Native  []byte
}
