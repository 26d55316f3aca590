package gang

import (
	"cmp"
	"time"
)

// Ticket is a place in the order of all gangs: the higher priority first, then
// the earlier time, then the smaller id. Time is the resource manager's, so no
// master's clock matters and nobody can claim an earlier one.
type Ticket struct {
	Priority int
	Time     time.Time
	ID       string // of the application whose launch it is
}

// Compare orders tickets; the first place is the smallest.
func (t Ticket) Compare(o Ticket) int {
	return cmp.Or(cmp.Compare(o.Priority, t.Priority), t.Time.Compare(o.Time), compareID(t.ID, o.ID))
}

// compareID orders ids that end in a growing number: application_1_9999 comes
// before application_1_10000.
func compareID(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// Claim is the ticket of an application. It is its own launch, unless it is the
// same user's next submission of the same job: then it is the launch of the
// first one, which it names. The resource manager must still know that one, and
// it must be over, or two gangs would share a place. priority is the
// application's present one; nobody inherits a priority.
func Claim(a Application, first *Application) Ticket {
	own := Ticket{Priority: a.Priority, Time: a.Launched, ID: a.ID}
	if first == nil || a.First == "" || first.ID != a.First || first.ID == a.ID {
		return own
	}
	if first.User != a.User || first.Job != a.Job || first.Job == "" || first.State != Over || first.Launched.IsZero() {
		return own
	}
	if own.Time.Before(first.Launched) {
		return own
	}
	return Ticket{Priority: a.Priority, Time: first.Launched, ID: first.ID}
}
