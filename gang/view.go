package gang

import (
	"slices"
	"time"
)

// Life is where an application is, in the resource manager's words.
type Life int

// The lives of an application.
const (
	Pending Life = iota // submitted or accepted, also between two attempts: no master waits
	Running             // its master is registered
	Over                // finished, failed or killed
)

// Application is what a look-up found of one gang job.
type Application struct {
	ID         string
	User       string
	Job        string // tag muster:<job id>
	Queue      string
	Partitions []string // where it asks for slots; none is the default partition ""
	Priority   int
	Launched   time.Time // launch of its first attempt, resource manager's clock; zero before
	State      Life
	Away       bool   // between two attempts: no master of it runs now
	First      string // tag ticket:<first application>, else ""
	// Visible says that Progress can be believed: without permission to view an
	// application its progress reads as 0.
	Visible  bool
	Progress float64 // exactly 0 while its gang is not complete
	// Stamp is the time of its ticket file as the file system tells it; zero if
	// there is no file. It is only compared with its former value.
	Stamp time.Time
}

// View is the result of one look-up.
type View struct {
	At time.Time // local time, when it was taken
	// Applications are the running gang jobs of the cluster, one's own among
	// them, and the applications that they name as First as far as known.
	Applications []Application
	// Foreign counts the other running applications, as far as they may hold
	// something in the partitions that this gang asks in.
	Foreign int
	// Reports says that the resource manager's reports were read, Tickets that
	// the ticket directory was.
	Reports, Tickets bool
}

// Member is a gang that takes part in the order.
type Member struct {
	Ticket

	App        string
	Job        string
	User       string
	Queue      string
	Partitions []string
	Launched   time.Time // its own first attempt; Ticket.Time may be earlier
	Gathering  bool      // its gang is not complete
	away       bool      // no master of it runs now
	proved     bool      // it was seen to live, as far as that can be seen
}

// before orders members; two that claim the same ticket are told apart by their
// own ids.
func (m Member) before(o Member) bool { return m.compare(o) < 0 }

func (m Member) compare(o Member) int {
	if c := m.Ticket.Compare(o.Ticket); c != 0 {
		return c
	}
	return compareID(m.App, o.App)
}

// meets says that both ask in one partition, so that one can hold what the other
// lacks.
func (m Member) meets(o Member) bool {
	if len(m.Partitions) == 0 && len(o.Partitions) == 0 {
		return true
	}
	for _, p := range orDefault(m.Partitions) {
		if slices.Contains(orDefault(o.Partitions), p) {
			return true
		}
	}
	return false
}

func orDefault(p []string) []string {
	if len(p) == 0 {
		return []string{""}
	}
	return p
}
