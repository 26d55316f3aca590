package ledger

import (
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/gang"
	"github.com/muster-project/muster/plan"
)

// Config is what does not change in a coordinator's life.
type Config struct {
	App  string
	Plan *plan.Plan
	// Shape is what the tasks of a role are asked for.
	Shape func(*plan.Role) Shape
	Rule  Rule
	// Master is the coordinator's own container.
	Master gang.Holding
	Kept   bool // somebody submits the job again if it steps aside
	Times  Times
	Gang   gang.Times
	// Named says how a node is named in asks and to people, by its address.
	Named func(address string) string
}

// Shape is what a task of one role needs.
type Shape struct {
	Size      gang.Size // as the scheduler rounds it
	Most      gang.Size // the largest that it grants at all; nil if unknown
	Partition string
	PerNode   int  // at most this many on one node; 0 is no limit
	Pack      bool // on as few nodes as fit
	// Spread has each task in a place of its own; Away are the roles that must
	// not share a place with it, Together those that must. A place is a node, or
	// a rack if Racks is set.
	Spread         bool
	Away, Together []string
	Racks          bool
}

// Rule is the gang rule with its memory; see package gang. A rule that starts
// anew under a coordinator that finds slots begins with a complete gang.
type Rule interface {
	Decide(s gang.Snapshot, now time.Time) gang.Decision
	// Next begins with a further gang of the same job.
	Next()
}

// Times are the ledger's own clocks.
type Times struct {
	Localise time.Duration // from a start to a running executor
	Reach    time.Duration // a node that does not answer a start for so long is given up
	Margin   time.Duration // beyond the grace, before an executor that was asked to end is ended
	Insist   time.Duration // between two words to a node that something is to end
	Pack     time.Duration // named nodes are asked for alone for so long
	Recover  time.Duration // containers of an earlier coordinator may be reported this late
	Preempt  time.Duration // from the warning to the kill
	Say      time.Duration // between two words on why a request waits
	SayLeast time.Duration // the most that grows to while the reasons stay the same
}

// DefaultTimes suit a cluster that nobody has changed.
func DefaultTimes() Times {
	return Times{
		Localise: 10 * time.Minute, Reach: time.Minute, Margin: 5 * time.Second, Insist: 5 * time.Second,
		Pack: 3 * time.Second, Recover: 10 * time.Second, Preempt: 15 * time.Second, Say: 5 * time.Second, SayLeast: time.Minute,
	}
}

// Ledger is the state of one job's containers. It is not safe for use by
// several goroutines.
type Ledger struct {
	Config

	boxes    map[string]*box
	requests []*request // by number
	asked    map[int64]lines
	drops    map[string]bool      // to be told to the resource manager with the next beat
	dropping map[string]time.Time // told then, and not confirmed
	faults   faults
	nodes    map[string]node // those that are not well
	sight    sight
	events   []backend.Event
	forgot   time.Time   // when the resource manager last restarted
	took     time.Time   // when the scheduler last took, or was given, a container for others
	stage    int         // highest stage whose gang was complete; -1 for none
	closed   bool        // nothing is wanted any more
	aside    *gang.Aside // was told
	grown    bool        // something changed that the rule has not seen
	look     time.Time
	ticket   bool
}

// sight is what is known of the cluster beyond the own containers.
type sight struct {
	view     gang.View
	nodes    []gang.Node
	shares   []gang.Share
	headroom gang.Size
	count    int // nodes of the cluster
	chance   float64
	freed    []freed
}

// New starts a ledger with the slots that the journal knows; Registered says
// which of them are still there.
func New(c Config, known []backend.Slot, now time.Time) *Ledger {
	if c.Named == nil {
		c.Named = func(address string) string { return address }
	}
	l := &Ledger{Config: c, boxes: map[string]*box{}, asked: map[int64]lines{}, drops: map[string]bool{},
		dropping: map[string]time.Time{}, faults: newFaults(), nodes: map[string]node{}, stage: -1}
	for _, k := range known {
		l.expect(k, now)
	}
	return l
}

// role returns the role of a task; a task that the plan does not know has an
// empty one.
func (l *Ledger) role(id plan.TaskID) *plan.Role {
	if r := l.Plan.Role(id.Role); r != nil {
		return r
	}
	return &plan.Role{Name: id.Role}
}

func (l *Ledger) tell(e backend.Event) { l.events = append(l.events, e) }

// Events are what the coordinator is to be told, in order; each comes once.
func (l *Ledger) Events() []backend.Event {
	out := l.events
	l.events = nil
	return out
}

// Look notes what a look-up found of other gangs.
func (l *Ledger) Look(v gang.View, nodes []gang.Node, shares []gang.Share, chance float64) {
	l.sight.view, l.sight.nodes, l.sight.shares, l.sight.chance = v, nodes, shares, chance
	l.sight.forget(v.At)
	l.grown = true
}

// Due says when the next look-up is to be made, and whether this gang's ticket
// file must be there; else it must not.
func (l *Ledger) Due() (at time.Time, ticket bool) { return l.look, l.ticket }

// Gathering says that the minimal gang is not complete: then the progress that
// others read is exactly 0.
func (l *Ledger) Gathering() bool {
	if l.stage < 0 {
		return true
	}
	for _, r := range l.requests {
		if !r.complete && !r.replace && !r.refused && !r.yields {
			return true
		}
	}
	return false
}

// Close gives up everything: all containers are ended at once and nothing more
// is asked for.
func (l *Ledger) Close(now time.Time) {
	l.closed, l.requests = true, nil
	for id, b := range l.boxes {
		if b.phase == held {
			l.drop(b)
			continue
		}
		l.Release([]string{id}, true, now)
	}
}

// Empty says that nothing is left.
func (l *Ledger) Empty() bool { return len(l.boxes) == 0 && len(l.drops) == 0 }

// Aside is why this coordinator must end, nil if it need not.
func (l *Ledger) Aside() *gang.Aside { return l.aside }

// Asked is what a plan asks for the tasks of a class.
func (l *Ledger) Asked(class int64) plan.Resources {
	if r := l.roleOf(class); r != nil {
		return r.Resources
	}
	return plan.Resources{}
}

// Holds says that a container is ours.
func (l *Ledger) Holds(id string) bool { return l.boxes[id] != nil }

// gone tells of a slot's end; an empty verdict says that it was released.
func (l *Ledger) gone(id string, v verdict) {
	l.tell(backend.Event{Gone: &backend.Gone{Slot: id, Class: v.class, Reason: v.reason, Status: v.status, Blameless: v.blameless}})
}
