package yarn

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/yarn/ledger"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/plan"
)

// master is the coordinator's side of an application. One loop owns the ledger;
// every call goes on beside it and hands its answer in:
//
//	coordinator ┐                        ┌▶ scheduler  (allocate: one at a time)
//	scheduler   ├▶ queue ▶ loop ▶ ledger ┼▶ nodes      (start, stop, status: in bulk)
//	nodes       ┤                        ├▶ scout      (look-ups, the ticket)
//	scout       ┘                        └▶ feed       (events)
type master struct {
	Opener
	plan      *plan.Plan
	settings  *Settings
	scheduler *hadoop.Master
	nodes     *hadoop.Nodes
	scout     *scout
	feed      *backend.Feed

	life  context.Context // of the loop and all calls
	end   context.CancelFunc
	owned sync.WaitGroup

	mu         sync.Mutex
	queue      []func(now time.Time)
	news       chan struct{} // of size 1
	superseded bool

	empty chan struct{} // closed once nothing is left after Close
	lost  chan struct{} // closed once another coordinator has the job

	// The loop's own.
	book     *ledger.Ledger
	most     Size
	starts   map[string]backend.Start
	gave     map[string]*yarnpb.Container // granted, with the token that starts them
	busy     map[string]bool              // nodes that are being asked for statuses
	fraction float64
	closing  bool
	aside    *Aside
	beating  bool // an allocate is under way
	refused  bool // the last one: what is to be said waits for its turn
	beat     time.Time
	pace     time.Duration
	looking  bool
	ticketed bool // the own ticket lies there
	emptied  bool
}

// Paces of the heartbeat.
const (
	paceFirst = 40 * time.Millisecond  // while containers are awaited, at first
	paceMost  = 250 * time.Millisecond // and later
	heartbeat = time.Second            // else
)

// loop is the only one that touches the ledger.
func (m *master) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-m.news:
		case <-timer.C:
		case <-m.life.Done():
			return
		}
		now := time.Now()
		for _, in := range m.take() {
			in(now)
		}
		if m.isSuperseded() {
			continue // until the coordinator leaves
		}
		timer.Reset(max(0, m.round(now).Sub(now)))
	}
}

func (m *master) isSuperseded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.superseded
}

// round concludes from what is known, acts, and says when it must be called again
// if nothing happens.
func (m *master) round(now time.Time) time.Time {
	m.book.Conclude(now)
	m.tell()
	m.work(now)
	wake := m.heart(now)
	for _, at := range []time.Time{m.lookup(now), m.book.Wake(now)} {
		if !at.IsZero() && at.Before(wake) {
			wake = at
		}
	}
	m.tell()
	if m.closing && !m.emptied && m.book.Empty() {
		m.emptied = true
		close(m.empty)
	}
	return wake
}

// tell passes on what the ledger has to say.
func (m *master) tell() {
	for _, e := range m.book.Events() {
		if e.Granted != nil {
			m.Log.Debug("granted", "slot", e.Granted.ID, "task", e.Granted.Task, "node", e.Granted.Node)
		}
		if e.Aside != nil {
			m.aside = m.asideOf(m.book.Aside())
		}
		switch {
		case e.Gone != nil:
			m.forget(e.Gone.Slot)
		case e.Started != nil:
			m.forget(e.Started.Slot) // its private key has gone where it belongs
		}
		m.feed.Tell(e)
	}
}

// forget drops what was kept to start a slot.
func (m *master) forget(slot string) {
	delete(m.starts, slot)
	delete(m.gave, slot)
}

// heart makes the next call to the scheduler when it is due: at once when
// something is to be said, quickly while something is awaited.
func (m *master) heart(now time.Time) time.Time {
	if m.beating {
		return now.Add(time.Hour) // its answer wakes the loop
	}
	due := m.beat.Add(m.interval(now))
	if m.book.Pending(now) && !m.refused {
		due, m.pace = now, 0
	}
	if now.Before(due) {
		return due
	}
	m.beating, m.beat = true, now
	m.pace = min(paceMost, max(paceFirst, m.pace*5/4))
	b := m.book.Beat(now)
	req := m.request(b)
	m.owned.Go(func() {
		resp, err := m.scheduler.Allocate(m.life, req)
		_ = m.put(func(now time.Time) { m.beating = false; m.answer(b, resp, err, now) })
	})
	return now.Add(time.Hour)
}

// interval is how long after the last call the next one is due if there is
// nothing to say.
func (m *master) interval(now time.Time) time.Duration {
	every := heartbeat
	if d := time.Duration(m.AM.Heartbeat); d > 0 {
		every = d
	}
	if m.book.Asking(now) && !m.refused {
		return min(every, max(paceFirst, m.pace))
	}
	m.pace = 0
	return every
}

// answer takes what the scheduler said.
func (m *master) answer(b ledger.Beat, resp *yarnpb.AllocateResponse, err error, now time.Time) {
	m.refused = false
	switch {
	case err == nil:
		m.nodes.Keep(resp.GetNmTokens())
		m.book.Answer(b, m.answerOf(resp), now)
	case m.life.Err() != nil:
	case errors.Is(err, hadoop.ErrResync):
		m.Log.Warn("the resource manager forgot this application's coordinator: registering again", "error", err)
		m.again()
	case errors.Is(err, hadoop.ErrGone):
		m.supersede(err)
	case errors.Is(err, hadoop.InvalidRequest), errors.Is(err, hadoop.InvalidLabel):
		m.book.Resync()
		m.book.RefuseAll("the resource manager refuses what was asked for: " + cause(err))
	default:
		m.Log.Error("the resource manager refused a heartbeat", "error", err)
		m.refused = true
		m.book.Resync()
	}
}

// again registers with a resource manager that has restarted. Everything is
// asked for anew; containers stay.
func (m *master) again() {
	m.beating = true
	m.owned.Go(func() {
		r, err := m.scheduler.Register(m.life, m.Host, m.URL)
		_ = m.put(func(now time.Time) {
			m.beating = false
			switch {
			case err == nil:
				m.book.Resync()
				m.book.Forgotten(now)
				m.registered(r, now)
			case errors.Is(err, hadoop.ErrGone):
				m.supersede(err)
			case m.life.Err() == nil:
				m.Log.Error("cannot register again", "error", err)
			}
		})
	})
}

// lookup looks at the other gangs when it is time.
func (m *master) lookup(now time.Time) time.Time {
	at, ticket := m.book.Due()
	switch {
	case m.looking:
		return time.Time{}
	case !at.IsZero() && now.Before(at):
		return at
	case at.IsZero() && !m.ticketed:
		return time.Time{} // nothing is gathered
	}
	m.looking, m.ticketed = true, ticket
	m.owned.Go(func() {
		m.scout.keepTicket(m.life, ticket)
		done := func(time.Time) { m.looking = false }
		if !at.IsZero() {
			v := m.scout.look(m.life)
			done = func(time.Time) { m.looking = false; m.see(v) }
		}
		_ = m.put(done)
	})
	return time.Time{}
}

func (m *master) see(v view) { m.book.Look(v.View, v.nodes, v.shares, chance()) }
