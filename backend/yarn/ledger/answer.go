package ledger

import (
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/gang"
)

// Container is one that the resource manager gave, or still has from an earlier
// coordinator.
type Container struct {
	ID      string
	Address string // of its node, host:port
	Class   int64
	Size    gang.Size // as granted
	Slot    backend.Slot
}

// Answer is what the resource manager said to one beat.
type Answer struct {
	Allocated []Container
	Completed []Status
	Previous  []Container // of an earlier coordinator, reported late
	Headroom  gang.Size
	Nodes     int
	Preempt   []string // containers that are to go
	News      []News   // of nodes whose condition has changed
}

// Answer notes what the resource manager said to the beat that it answers.
func (l *Ledger) Answer(sent Beat, a Answer, now time.Time) {
	l.grown = true
	l.sight.headroom, l.sight.count = a.Headroom, a.Nodes
	fresh := map[int64]bool{}
	for _, ask := range sent.Asks {
		fresh[ask.Class] = true
	}
	l.hear(a.News, now) // first: it explains what has ended
	for _, c := range a.Previous {
		l.recover(c, now)
	}
	for _, c := range a.Allocated {
		// What comes with the answer to a new ask was allocated for the old one.
		if !fresh[c.Class] {
			l.countDown(c.Class, l.Named(c.Address))
		}
		l.hold(c, now)
	}
	for _, s := range a.Completed {
		l.Completed(s, now)
	}
	l.preempting(a.Preempt, now)
}

// hold takes a container for the request that it was asked for. What nobody
// wants any more goes back at once.
func (l *Ledger) hold(c Container, now time.Time) {
	if l.boxes[c.ID] != nil || l.drops[c.ID] || l.isDropping(c.ID) {
		return
	}
	b := &box{slot: c.Slot, address: c.Address, class: c.Class, size: c.Size, at: now}
	b.slot.ID, b.slot.Request, b.slot.Node = c.ID, numberOf(c.Class), l.Named(c.Address)
	b.slot.Rack = l.rack(b.slot.Node)
	q := l.requestOf(c.Class)
	if role := l.roleOf(c.Class); q == nil || role == nil || l.closed || q.settled || len(q.lacking(role.Name)) == 0 {
		l.drop(b)
		return
	}
	l.boxes[c.ID] = b
}

func (l *Ledger) isDropping(id string) bool { _, ok := l.dropping[id]; return ok }

// Status is what the resource manager or a node says of a container.
type Status struct {
	ID      string
	Running bool // its process runs
	Ended   bool // nothing of it is left
	Exit    int
	Text    string // diagnostics
}

// Seen is a node's word on one of its containers.
func (l *Ledger) Seen(s Status, now time.Time) {
	b := l.boxes[s.ID]
	switch {
	case b == nil:
	case s.Ended:
		l.end(b, s, now)
	case s.Running && b.phase == starting && b.fault == "":
		b.phase, b.accepted, b.limit = running, true, time.Time{}
		if b.known {
			b.known = false
			slot := b.slot
			slot.Native = b.native()
			l.tell(backend.Event{Adopted: &slot})
			return
		}
		l.started(b)
	}
}

// Completed is the resource manager's word that a container has ended.
func (l *Ledger) Completed(s Status, now time.Time) {
	delete(l.drops, s.ID)
	delete(l.dropping, s.ID)
	if b := l.boxes[s.ID]; b != nil {
		l.end(b, s, now)
	}
}

// end is the one place where a container leaves the books.
func (l *Ledger) end(b *box, s Status, now time.Time) {
	id := b.slot.ID
	delete(l.boxes, id)
	delete(l.drops, id)
	l.grown = true
	v := l.judge(b, s)
	if v.class == event.ClassPreempted || b.warned == byScheduler {
		l.took = now
	}
	if !b.released {
		switch {
		case v.node == ill, b.phase == starting && !b.known && s.Exit == exitInvalid:
			l.faults.blame(b.slot.Node, l.sight.count, v.node == ill, now)
		case v.node == suspect && b.phase == running:
			l.faults.strike(b.slot.Node, l.sight.count, now)
		}
	}
	switch {
	case b.phase == held:
	case b.released:
		l.gone(id, verdict{})
	case b.known && b.fault != "":
		l.gone(id, verdict{class: event.ClassLost, reason: b.fault, status: v.status})
	case b.fault != "":
		l.failed(id, b.fault)
	case b.phase == starting && !b.known && !v.blameless:
		l.failed(id, v.reason)
	default:
		l.gone(id, v)
	}
	for _, q := range l.requests { // granted, lost, and still being gathered: the session asks anew
		if q.granted[b.slot.Task] == id {
			q.granted[b.slot.Task] = lostSlot
		}
	}
}

// lostSlot stands for a slot that was granted and is gone: its replacement is a
// new request.
const lostSlot = "gone"

// Resync forgets what the resource manager was told: a new one knows nothing of
// it. Containers stay.
func (l *Ledger) Resync() {
	clear(l.asked)
	for id := range l.dropping {
		l.drops[id] = true
	}
	clear(l.dropping)
	l.faults.forget()
	l.grown = true
}
