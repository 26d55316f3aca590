package coordinator

import (
	"sync"

	"github.com/muster-project/muster/session"
)

// inbox holds inputs until the loop takes them. It has no bound: nobody who
// has news may wait for the loop, which may be waiting for a disk. What can be
// sent without end, beats, does not come here.
type inbox struct {
	mu    sync.Mutex
	queue []session.Input
	fatal error
	aside bool          // to leave once what is in the queue is written down
	news  chan struct{} // of size 1
}

func newInbox() *inbox { return &inbox{news: make(chan struct{}, 1)} }

func (b *inbox) put(in ...session.Input) {
	b.mu.Lock()
	b.queue = append(b.queue, in...)
	b.mu.Unlock()
	b.ring()
}

// fail makes the loop end with err.
func (b *inbox) fail(err error) {
	b.mu.Lock()
	if b.fatal == nil {
		b.fatal = err
	}
	b.mu.Unlock()
	b.ring()
}

// depart makes the loop leave the job after the next round.
func (b *inbox) depart() {
	b.mu.Lock()
	b.aside = true
	b.mu.Unlock()
	b.ring()
}

// departs says so once nothing is left in the queue.
func (b *inbox) departs() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.aside && len(b.queue) == 0
}

func (b *inbox) ring() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

func (b *inbox) take() ([]session.Input, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.queue
	b.queue = nil
	return out, b.fatal
}
