package ledger

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
)

// expect notes a slot of the journal, of which the resource manager has not
// spoken yet.
func (l *Ledger) expect(k backend.Slot, now time.Time) {
	b := &box{slot: k, phase: starting, known: true, ever: true, at: now, limit: now.Add(l.Times.Recover)}
	var n Native
	if json.Unmarshal(k.Native, &n) == nil {
		b.class = n.Class
	}
	if b.class == 0 {
		b.class = l.class(k.Request, k.Task.Role)
	}
	b.size = l.Shape(l.role(k.Task)).Size
	l.boxes[k.ID] = b
	l.stage = max(l.stage, l.role(k.Task).Stage)
}

// Registered notes the containers that the resource manager kept from earlier
// coordinators. Those that the journal knows are looked at on their nodes; the
// others nobody knows, so they end.
func (l *Ledger) Registered(previous []Container, now time.Time) {
	for _, c := range previous {
		l.recover(c, now)
	}
	l.grown = true
}

func (l *Ledger) recover(c Container, now time.Time) {
	b := l.boxes[c.ID]
	switch {
	case b == nil:
		if !l.isDropping(c.ID) {
			l.drops[c.ID] = true
		}
	case b.known && b.address == "":
		b.address, b.class, b.size = c.Address, c.Class, c.Size
		// It is still localising, or runs: what is ours is told by its node.
		b.limit = now.Add(l.Times.Localise)
	}
}

// Forgotten notes that the resource manager has restarted: it learns from its
// nodes what runs, and never of what was granted and not started. That it would
// not confirm as gone, however often it is given back.
func (l *Ledger) Forgotten(now time.Time) {
	l.forgot = now
	for _, id := range l.ids() {
		if b := l.boxes[id]; !b.known && !b.ever {
			l.vanish(b)
		}
	}
}

// vanish takes a container off the books in which nothing was started and that
// the resource manager knows nothing of.
func (l *Ledger) vanish(b *box) {
	id := b.slot.ID
	delete(l.boxes, id)
	delete(l.drops, id)
	delete(l.dropping, id)
	l.grown = true
	switch {
	case b.phase == held:
	case b.released:
		l.gone(id, verdict{})
	default:
		l.gone(id, verdict{class: event.ClassLost, reason: "the resource manager restarted before anything was started in it", blameless: true})
	}
}

// Missing gives up the slots of the journal that nobody has reported in time. A
// resource manager that has just restarted learns of containers late, and a
// container that lives although its slot is gone would have a twin.
func (l *Ledger) Missing(now time.Time) {
	for _, id := range l.ids() {
		b := l.boxes[id]
		if !b.known || b.address != "" {
			continue
		}
		if !now.Before(b.limit) {
			why := fmt.Sprintf("the resource manager has no container %s any more", id)
			if b.slot.Native == nil {
				why = "it was granted to an earlier coordinator, which ended before anything was started in it"
			}
			delete(l.boxes, id)
			l.grown = true
			if b.released {
				l.gone(id, verdict{})
				continue
			}
			l.gone(id, verdict{class: event.ClassLost, reason: why, blameless: true})
		}
	}
}
