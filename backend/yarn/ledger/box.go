package ledger

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/gang"
)

// phase is how far a container is.
type phase int

const (
	held     phase = iota // for a gang that is not complete; the coordinator knows nothing of it
	granted               // told, nothing started
	starting              // told to its node, not seen to run
	running
)

// box is one container.
type box struct {
	slot    backend.Slot
	address string // of its node
	class   int64
	size    gang.Size
	at      time.Time
	phase   phase

	known    bool // from the journal: Adopted or Gone is still to be told
	sent     bool // its node is being told to start it
	accepted bool // its node has said yes
	ever     bool // a start was sent, so something may run
	tried    int
	retry    time.Time // of a start whose answer was lost
	limit    time.Time // when it must run; for a known one that nobody reports, when it is given up

	released bool
	killAt   time.Time // when its node is told to end it
	insisted int
	warned   warning
	goes     time.Time // when it was said to go
	fault    string    // it could not be started: told once nothing is left

	looked time.Time // at its node
	pace   time.Duration
}

// ours says that the coordinator was granted it and has not given it back.
func (b *box) ours() bool { return b.phase > held && !b.released && b.fault == "" }

// Native is what finds an executor's container again.
type Native struct {
	Address string `json:"address"` // of its node
	Class   int64  `json:"class"`
}

func (b *box) native() []byte {
	data, err := json.Marshal(Native{Address: b.address, Class: b.class})
	if err != nil {
		return nil // a string and a number always can be written
	}
	return data
}

// ids of all containers, in order.
func (l *Ledger) ids() []string { return slices.Sorted(maps.Keys(l.boxes)) }

// Launch begins starting executors; Started acknowledges each.
func (l *Ledger) Launch(slots []string, now time.Time) {
	for _, id := range slots {
		b := l.boxes[id]
		switch {
		case b == nil || b.phase == held:
			l.failed(id, "it is not held any more")
		case b.released:
			l.failed(id, "it was released before its start")
		case b.fault != "":
			l.failed(id, b.fault)
		case b.phase == granted:
			b.phase, b.limit = starting, now.Add(l.Times.Localise)
			l.settle(b.slot.Request)
		case b.phase == running && !b.known:
			l.started(b)
		}
	}
}

// settle ends the wait for what is welcome: the gang starts as it is.
func (l *Ledger) settle(number int) {
	for _, q := range l.requests {
		if q.Number == number && q.complete {
			q.settled, l.grown = true, true
		}
	}
}

func (l *Ledger) started(b *box) {
	l.tell(backend.Event{Started: &backend.Started{Slot: b.slot.ID, Native: b.native()}})
}

func (l *Ledger) failed(id, why string) {
	l.tell(backend.Event{Started: &backend.Started{Slot: id, Err: fmt.Errorf("container %s: %s", id, why)}})
}

// Release ends slots. What runs is asked to end by the coordinator first, and
// has its tasks' grace unless at once is set.
func (l *Ledger) Release(slots []string, atOnce bool, now time.Time) {
	for _, id := range slots {
		b := l.boxes[id]
		if b == nil {
			l.gone(id, verdict{})
			continue
		}
		end := now
		if b.phase == running && !atOnce {
			end = now.Add(time.Duration(l.role(b.slot.Task).StopGrace) + l.Times.Margin)
		}
		if b.released && b.killAt.Before(end) {
			continue
		}
		b.released, b.killAt, b.pace = true, end, 0
		if b.warned == byScheduler {
			l.took = now
		}
		if !b.ever && !b.known {
			l.drop(b)
		}
	}
}

// drop gives a container back to the resource manager. What nobody was told of
// is forgotten; everything else waits for the word that it is gone.
func (l *Ledger) drop(b *box) {
	id := b.slot.ID
	if !l.isDropping(id) {
		l.drops[id] = true
	}
	if b.phase == held {
		l.give(b)
		delete(l.boxes, id)
	}
}

// Work is what is to be done on nodes now. Every start is answered by Started;
// statuses may be answered by Seen.
type Work struct {
	Start, Stop, Status []Task
}

// Task is one container on one node.
type Task struct{ ID, Address string }

// Paces of looking at a container on its node.
const (
	paceFirst = 50 * time.Millisecond
	paceMost  = 500 * time.Millisecond
	paceEach  = 2 * time.Millisecond // for each container of a large job
)

// Work takes what is to be done on nodes. What is not done comes again.
func (l *Ledger) Work(now time.Time) Work {
	var w Work
	most := max(paceMost, time.Duration(len(l.boxes))*paceEach)
	for _, id := range l.ids() {
		b := l.boxes[id]
		t := Task{ID: id, Address: b.address}
		switch {
		case b.phase < starting || b.address == "":
			continue
		case (b.released || b.fault != "") && !b.sent:
			if now.Before(b.killAt) {
				break
			}
			if !b.ever {
				l.drop(b)
				b.killAt = now.Add(l.Times.Insist)
				break
			}
			w.Stop = append(w.Stop, t)
			b.insisted++
			b.killAt = now.Add(l.Times.Insist)
			if b.insisted > insistMost { // the node does not hear, or does not do it
				l.drop(b)
			}
		case b.phase == starting && !b.accepted && !b.known && !b.sent && !now.Before(b.retry):
			w.Start = append(w.Start, t)
			b.sent, b.ever = true, true
			b.tried++
		case b.phase == starting && !b.sent && !b.limit.IsZero() && !now.Before(b.limit):
			l.expire(b, now)
		}
		if l.watched(b) && !now.Before(b.looked.Add(b.pace)) {
			w.Status = append(w.Status, t)
			b.looked, b.pace = now, min(most, max(paceFirst, b.pace*5/4))
		}
	}
	return w
}

// insistMost is how often a node is told to end a container before the resource
// manager is.
const insistMost = 6

// watched says that a node's word on a container is awaited.
func (l *Ledger) watched(b *box) bool {
	return b.phase >= starting && b.address != "" && (b.accepted || b.known) && (b.phase == starting || b.released || b.fault != "")
}

// expire gives up a container that never got as far as running.
func (l *Ledger) expire(b *box, now time.Time) {
	b.fault = fmt.Sprintf("its executor did not run %s after its start: it may still have been localising", l.Times.Localise)
	b.killAt = now
	l.faults.blame(b.slot.Node, l.sight.count, false, now)
}

// Started is a node's answer to a start. certain says that nothing was started;
// else the answer was lost, and the start is repeated.
func (l *Ledger) Started(id string, err error, certain bool, now time.Time) {
	b := l.boxes[id]
	if b == nil {
		return
	}
	b.sent = false
	switch {
	case err == nil:
		b.accepted, b.pace, b.looked = true, paceFirst, now
	case certain && b.at.Before(l.forgot): // its token is of a resource manager of before
		l.vanish(b)
	case certain || !now.Before(b.limit.Add(l.Times.Reach-l.Times.Localise)):
		b.fault, b.killAt = "its node did not start it: "+err.Error(), now
		l.faults.blame(b.slot.Node, l.sight.count, false, now)
		if certain {
			b.ever, b.killAt = false, now.Add(l.Times.Insist)
		}
		l.drop(b)
	default:
		b.retry = now.Add(min(retryMost, retryFirst<<min(b.tried, retryShift)))
	}
}

const (
	retryFirst = 250 * time.Millisecond
	retryMost  = 5 * time.Second
	retryShift = 5
)

// Wake is when Work or Beat has something to do although nothing happens; zero
// for never.
func (l *Ledger) Wake(now time.Time) time.Time {
	var at time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	for _, b := range l.boxes {
		switch {
		case b.phase < starting:
			continue
		case b.sent:
		case b.released || b.fault != "":
			sooner(b.killAt)
		case b.phase == starting && !b.accepted && !b.known:
			sooner(later(now, b.retry))
		case b.phase == starting:
			sooner(b.limit)
		}
		if l.watched(b) {
			sooner(b.looked.Add(b.pace))
		}
		if b.warned == byScheduler && b.ours() {
			sooner(later(now, l.safe(b)))
		}
	}
	sooner(l.faults.wake())
	for _, q := range l.requests {
		if end := q.since.Add(l.Times.Pack); now.Before(end) && len(q.want) > 0 {
			sooner(end)
		}
	}
	return at
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
