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
	Leaving   []string // addresses of nodes that are to go
}

// Answer notes what the resource manager said to the beat that it answers.
func (l *Ledger) Answer(sent Beat, a Answer, now time.Time) {
	l.grown = true
	l.sight.headroom, l.sight.count = a.Headroom, a.Nodes
	fresh := map[int64]bool{}
	for _, ask := range sent.Asks {
		fresh[ask.Class] = true
	}
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
	l.warn(a, now)
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
		l.end(b, s)
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
		l.end(b, s)
	}
}

// end is the one place where a container leaves the books.
func (l *Ledger) end(b *box, s Status) {
	id := b.slot.ID
	delete(l.boxes, id)
	delete(l.drops, id)
	l.grown = true
	class, reason, status := l.judge(b, s)
	switch {
	case b.phase == held:
	case b.released:
		l.gone(id, "", "", 0)
	case b.known && b.fault != "":
		l.gone(id, event.ClassLost, b.fault, status)
	case b.fault != "":
		l.failed(id, b.fault)
	case b.phase == starting && !b.known:
		if s.Exit == exitInvalid {
			l.faults.blame(b.slot.Node, l.sight.count)
		}
		l.failed(id, reason)
	default:
		l.gone(id, class, reason, status)
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

// warn tells of what will be taken away.
func (l *Ledger) warn(a Answer, now time.Time) {
	var slots []string
	for _, id := range a.Preempt {
		if b := l.boxes[id]; b != nil && b.phase > held && !b.warned {
			b.warned = true
			slots = append(slots, id)
		}
	}
	for _, address := range a.Leaving {
		for _, id := range l.ids() {
			if b := l.boxes[id]; b.address == address && b.phase > held && !b.warned {
				b.warned = true
				slots = append(slots, id)
			}
		}
	}
	if len(slots) > 0 {
		l.tell(backend.Event{Preempting: &backend.Preempting{Slots: slots, Deadline: now.Add(l.Times.Preempt)}})
	}
}

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
