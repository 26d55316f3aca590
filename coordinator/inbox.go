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
