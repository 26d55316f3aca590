package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-project/muster/backend"
)

// Condition is how a node is, as the resource manager tells it.
type Condition int

// The conditions of nodes.
const (
	Well    Condition = iota // it runs, and is healthy
	Ill                      // it runs, and is not: its disks, or what its script says
	Leaving                  // it is being decommissioned, and lets what runs end
	Lost                     // it is not there
)

// News is what the resource manager says of a node.
type News struct {
	Address   string
	Condition Condition
	Report    string        // of its health
	Left      time.Duration // until the end of a node that is leaving; 0: not known
}

// node is the newest that is known of a node which is not well.
type node struct {
	condition Condition
	report    string
}

// leaveTime is how long a node that is leaving waits if it does not say.
const leaveTime = time.Hour

// hear notes how nodes are. Whose node is leaving hears of it, and again if it
// stays.
func (l *Ledger) hear(news []News, now time.Time) {
	for _, n := range news {
		name := l.Named(n.Address)
		if n.Condition == Well {
			delete(l.nodes, name)
			l.faults.well(name)
			l.spare(func(b *box) bool { return b.address == n.Address && b.warned == byDrain })
			continue
		}
		l.nodes[name] = node{n.Condition, brief(n.Report)}
		if n.Condition != Leaving {
			continue
		}
		left := n.Left
		if left <= 0 {
			left = leaveTime
		}
		l.threaten(func(b *box) bool { return b.address == n.Address }, byDrain, now.Add(left), "its node "+name+" is being decommissioned")
	}
}

// warning is why a container was said to go.
type warning int

const (
	none warning = iota
	byScheduler
	byDrain
)

// preempting tells of the containers that the scheduler wants back. It says so
// once, and never takes it back: the scheduler may take a container for as long
// again as it waits before the kill; what lives then stays.
func (l *Ledger) preempting(ids []string, now time.Time) {
	l.threaten(func(b *box) bool { return slices.Contains(ids, b.slot.ID) }, byScheduler, now.Add(l.Times.Preempt),
		"YARN wants its container for another queue or user")
}

// threaten tells of slots that will be taken away; each once.
func (l *Ledger) threaten(match func(*box) bool, why warning, at time.Time, reason string) {
	var slots []string
	for _, id := range l.ids() {
		if b := l.boxes[id]; match(b) && b.ours() && b.warned == none {
			b.warned, b.goes = why, at
			slots = append(slots, id)
		}
	}
	if len(slots) > 0 {
		l.tell(backend.Event{Preempting: &backend.Preempting{Slots: slots, Deadline: at, Reason: reason}})
	}
}

// spare takes back what slots were told.
func (l *Ledger) spare(match func(*box) bool) {
	var slots []string
	for _, id := range l.ids() {
		if b := l.boxes[id]; b.ours() && b.warned != none && match(b) {
			b.warned, b.goes = none, time.Time{}
			slots = append(slots, id)
		}
	}
	if len(slots) > 0 {
		l.tell(backend.Event{Preempting: &backend.Preempting{Slots: slots}})
	}
}

// spared takes back the warnings of containers that the scheduler did not take.
func (l *Ledger) spared(now time.Time) {
	l.spare(func(b *box) bool { return b.warned == byScheduler && !now.Before(l.safe(b)) })
}

// safe is when a container that was to go is not taken any more.
func (l *Ledger) safe(b *box) time.Time { return b.goes.Add(l.Times.Preempt + spareMargin) }

// spareMargin is for the beats and rounds that lie between a decision and us.
const spareMargin = 3 * time.Second

// away says in words what became of a lost node, as far as is known.
func (l *Ledger) away(name string) string {
	switch n := l.nodes[name]; {
	case n.condition == Ill && n.report != "":
		return fmt.Sprintf("its node %s became unhealthy: %s", name, n.report)
	case n.condition == Ill:
		return fmt.Sprintf("its node %s became unhealthy", name)
	case n.condition == Leaving:
		return fmt.Sprintf("its node %s was decommissioned", name)
	}
	return fmt.Sprintf("its node %s was lost", name)
}
