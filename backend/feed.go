package backend

import "sync"

// Feed is how a Gang delivers its events: in order, and without ever making
// somebody who has news wait for somebody who is busy with older news. Every
// gang may use one.
type Feed struct {
	out  chan Event
	news chan struct{} // of size 1
	end  chan struct{}
	once sync.Once
	pump sync.WaitGroup

	mu    sync.Mutex
	queue []Event
}

// NewFeed starts delivering. Close must be called.
func NewFeed() *Feed {
	f := &Feed{out: make(chan Event), news: make(chan struct{}, 1), end: make(chan struct{})}
	f.pump.Go(f.deliver)
	return f
}

// Events is where the news come out; it is closed by Close.
func (f *Feed) Events() <-chan Event { return f.out }

// Tell adds news to the queue, which has no bound. After Close it is forgotten.
func (f *Feed) Tell(e Event) {
	f.mu.Lock()
	f.queue = append(f.queue, e)
	f.mu.Unlock()
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// Close ends the delivery, whatever is still in the queue. It may be repeated.
func (f *Feed) Close() {
	f.once.Do(func() { close(f.end) })
	f.pump.Wait()
}

func (f *Feed) deliver() {
	defer close(f.out)
	for {
		f.mu.Lock()
		batch := f.queue
		f.queue = nil
		f.mu.Unlock()
		for _, e := range batch {
			select {
			case f.out <- e:
			case <-f.end:
				return
			}
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-f.news:
		case <-f.end:
			return
		}
	}
}
