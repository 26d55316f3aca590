package coordinator

import (
	"context"

	"github.com/muster-project/muster/wire"
)

// Credentials is where what executors log in to storage with comes from, if it
// wears out while a job runs. They are no decision of the session's: whoever is
// connected has the newest ones, and a restarted coordinator has its own.
type Credentials interface {
	// Newest gives the newest ones with their number, which grows also from one
	// coordinator to the next; 0 while there are none but those that executors are
	// started with. changed is closed once there are newer ones.
	Newest() (serial int64, data []byte, changed <-chan struct{})
}

// supply gives every executor that is connected what is new, until ctx is done.
func (l *links) supply(ctx context.Context, from Credentials) {
	for {
		serial, data, changed := from.Newest()
		l.renew(wire.Credentials{Serial: serial, Data: data})
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// renew notes what every executor is to have, and gives it to those that are
// connected.
func (l *links) renew(c wire.Credentials) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.Serial <= l.newest.Serial {
		return
	}
	l.newest = c
	for _, p := range l.slots {
		if p.link != nil {
			l.give(p.link)
		}
	}
}

// give hands the newest credentials to an executor. The caller holds mu.
func (l *links) give(link *wire.Link) {
	if l.newest.Serial == 0 {
		return
	}
	c := l.newest
	if link.Send(wire.Directive{Credentials: &c}) != nil {
		link.Close() // the executor comes again and gets them then
	}
}
