package gang

import "time"

// Class is one kind of slot that a gang needs.
type Class struct {
	Name      string
	Size      Size // as the scheduler will round it
	Partition string
	Minimum   int // the gang is complete with this many
	Count     int // this many are welcome, at least Minimum
	PerNode   int // at most this many on one node; 0 is no limit
}

// Slot is a container that the master has and has not released.
type Slot struct {
	ID      string
	Class   string
	Node    string
	Rack    string
	At      time.Time // local time of its arrival
	Started bool      // something runs in it, so it does not expire
}

// Holding is something that a job has and keeps whatever becomes of its gang:
// its master's own container, tasks of an earlier stage.
type Holding struct {
	Size      Size
	Node      string // "" while it is not placed yet
	Partition string
}

// Node is one machine.
type Node struct {
	Name       string
	Rack       string
	Partition  string
	Shared     bool // a partition that is not exclusive: asks of the default partition may land here
	Capability Size
	Used       Size // by everybody
}

// Share is what one partition of a queue grants. A nil size is no limit.
type Share struct {
	Partition  string
	Guaranteed Size // nil is unknown: then nothing counts as guaranteed
	Maximum    Size // effective, with the parents' maxima
	UserLimit  Size // what one user alone may have, nil if unknown or moving
	Used       Size // by the whole queue
}

// Snapshot is what a master knows at one moment.
type Snapshot struct {
	App string // this application
	// Launched is the launch of this master's attempt by the resource manager's
	// clock; zero if unknown, then the application's counts.
	Launched time.Time
	View     View // of the newest look-up; zero before the first
	Need     []Class
	// Preempted is when the resource manager took for others what this gang had; zero if
	// it did not. Its place is then theirs for a while: see rule R6.
	Preempted time.Time
	Held      []Slot // for Need; more than asked and late ones too
	// Kept is what the job has beside Need: the master's own container and tasks
	// of earlier stages.
	Kept   []Holding
	Nodes  []Node  // running ones of all partitions; nil is unknown
	Shares []Share // of the own queue; nil is unknown
	// Headroom is the scheduler's own estimate of what is left, nil if unknown.
	// A hint: it is trusted only when it says that something does not fit.
	Headroom Size
	Chance   float64 // drawn anew for each call, 0 ≤ Chance < 1
	Times    Times
}

// Decision is what a master does until the next beat.
type Decision struct {
	// Ask is how many further slots of each class shall be outstanding at the
	// resource manager: absolute and complete, a class that is missing is 0.
	Ask map[string]int
	// Where, if not nil, bounds Ask: so many of a class on that node and nowhere
	// else. The gang's own slots stood in each other's way before.
	Where map[string]map[string]int
	// Release names slots of Held that go back at once.
	Release []string
	// Complete says that the minimal gang is held: all of Keep may be granted.
	// While it is false nothing new is granted, and the progress that the
	// resource manager is told must be exactly 0, else more than 0.
	Complete bool
	// Keep is Held without Release, ordered by class, then rack and node.
	Keep []Slot
	// Rejoin says that a gang which was complete gives back everything that it
	// had, running tasks too, and gathers anew. Release names all of it.
	Rejoin bool
	// Aside says that this master must end for another's sake, and its job be
	// submitted again when MayReturn says so.
	Aside *Aside
	// Refuse, if not nil, says that the gang can never be complete.
	Refuse *Reason
	// Yield says that this gang leaves the order to those for whom it was preempted:
	// it asks for nothing, and the progress that the resource manager is told is more
	// than 0 although it is not complete.
	Yield bool
	// Waiting are the reasons why the gang is not complete, the most important first.
	Waiting []Reason
	// Look is when the next look-up is due. Ticket says that the own ticket file
	// must exist and be refreshed then, else that it must be gone.
	Look   time.Time
	Ticket bool
}

// Aside is why a master stepped aside.
type Aside struct {
	App    string // that stepped aside
	Ticket Ticket // and its place
	// Partitions are those in which it asks.
	Partitions []string
	Head       string // for this application
	At         time.Time
	Text       string
}

// Reason is one reason why a gang waits.
type Reason struct {
	Code    Code
	Text    string // a sentence with its numbers
	Numbers map[string]float64
}

// Times are the clocks of the rule. Those of all masters of a cluster should be
// the same; the rule stays safe if they are not.
type Times struct {
	Look    time.Duration // between two look-ups while the gang gathers
	Calm    time.Duration // between two look-ups of a complete gang
	Stale   time.Duration // a view older than this is worth nothing
	Yield   time.Duration // the youngest steps aside after this, if only gathering masters hold anything
	Stall   time.Duration // and after this if others hold something, but nothing moves
	Try     time.Duration // one attempt at backfill
	Rest    time.Duration // after the first attempt that failed; doubles up to Starve
	Starve  time.Duration // backfill is off once the head is this old
	Dead    time.Duration // a ticket that was not refreshed this long is dead; refresh every third of it
	Hold    time.Duration // blind: hold at most this long, then rest as long, doubling up to Starve
	Replace time.Duration // a complete gang below its minimum waits this long for lost slots
	Unfit   time.Duration // a gang that does not fit waits this long for nodes to come back
	Expiry  time.Duration // a slot that nothing was started in is exchanged after this
}

// DefaultTimes suit a resource manager with beats of about a second.
func DefaultTimes() Times {
	return Times{
		Look: 3 * time.Second, Calm: 15 * time.Second, Stale: 30 * time.Second,
		Yield: 15 * time.Second, Stall: 5 * time.Minute,
		Try: 5 * time.Second, Rest: 10 * time.Second, Starve: 5 * time.Minute,
		Dead: time.Minute, Hold: 2 * time.Minute, Replace: 5 * time.Minute,
		Unfit: 5 * time.Minute, Expiry: 8 * time.Minute,
	}
}
