package coordinator

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/wire"
)

// links knows which executor is connected, what it was told on this connection,
// and how long it has been away. The session is told of an executor's silence
// only when it has lasted too long: connections come and go, facts do not.
type links struct {
	timing plan.Timing // for a job of this size
	term   int64
	in     *inbox

	mu       sync.Mutex
	slots    map[string]*presence
	progress *reports
	looked   time.Time        // when silence was last looked for
	awake    time.Time        // since when this has been done without a gap
	newest   wire.Credentials // what every executor is to have; Serial 0: none but those of its start
}

// presence is what is known of one slot's executor.
type presence struct {
	link    *wire.Link
	told    map[string]bool // keys of actions, on this connection
	away    time.Time       // since when there is no link
	met     bool            // there was one in this term
	started bool            // an executor is expected
	missed  bool            // the session knows that it is away
	usage   wire.Usage      // from the last beat
}

// firstLink is how much longer than on a reconnect is waited for a new executor.
const firstLink = 4

// watchEvery is how often silence is looked for and progress handed on.
const watchEvery = 500 * time.Millisecond

// napLeast is the least gap between two looks that means that this process did
// not run: it was stopped, its machine slept, or the disk of its memory did.
// Who does not run does not hear either, so such a time says nothing about
// executors.
const napLeast = 4 * watchEvery

func newLinks(s *session.Session, term int64, in *inbox) *links {
	p := s.Plan()
	l := &links{timing: p.Timing.For(len(p.Tasks())), term: term, in: in, slots: map[string]*presence{}, progress: newReports(len(p.Tasks()), time.Now())}
	for _, sl := range s.Slots() {
		p := l.at(sl.Slot)
		p.started = sl.Started
	}
	return l
}

// at returns the presence of a slot. The caller holds mu, or is alone.
func (l *links) at(slot string) *presence {
	p := l.slots[slot]
	if p == nil {
		p = &presence{told: map[string]bool{}, away: time.Now()}
		l.slots[slot] = p
	}
	return p
}

// note follows the journal: which executors are to be expected.
func (l *links) note(events []event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		switch b := e.Body.(type) {
		case *event.ExecutorStarted:
			p := l.at(b.Slot)
			if !p.started && p.link == nil {
				p.away = e.At
			}
			p.started = true
		case *event.SlotGone:
			delete(l.slots, b.Slot)
		}
	}
}

// of is the link of a task's executor; nil if there is none now.
func (l *links) of(id plan.TaskID) *wire.Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.slots {
		if p.link != nil && p.link.Task() == id {
			return p.link
		}
	}
	return nil
}

// send tells an executor something, once per connection. Without a connection
// nothing happens: what is still pending is told to the next one.
func (l *links) send(slot, key string, d wire.Directive) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.slots[slot]
	if p == nil || p.link == nil || p.told[key] || d == (wire.Directive{}) {
		return
	}
	p.told[key] = true
	if p.link.Send(d) != nil {
		p.link.Close() // the executor comes again and is told then
	}
}

// sent says that nothing is left to be told: it was, or nobody listens.
func (l *links) sent(slot, key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.slots[slot]
	return p == nil || p.link == nil || p.told[key]
}

// Linked is wire's word that an executor connected.
func (l *links) Linked(link *wire.Link, h wire.Hello) (wire.Welcome, error) {
	l.mu.Lock()
	p := l.at(h.Slot)
	p.link, p.told, p.met, p.missed = link, map[string]bool{}, true, false
	l.give(link)
	l.mu.Unlock()
	l.in.put(session.Linked{Slot: h.Slot, Task: h.Task, Control: h.Control, Host: h.Host, Incarnation: h.Incarnation,
		Phase: string(h.Phase), Ports: h.Ports, PIDs: h.PIDs, Ready: h.Ready, Exit: h.Exit})
	return wire.Welcome{Term: l.term, Beat: time.Duration(l.timing.Beat), Lease: time.Duration(l.timing.Lease)}, nil
}

// Unlinked is wire's word that a connection ended.
func (l *links) Unlinked(link *wire.Link, err error) {
	l.mu.Lock()
	if p := l.slots[link.Slot()]; p != nil && p.link == link {
		p.link, p.away = nil, time.Now()
	}
	l.mu.Unlock()
	if errors.Is(err, wire.ErrSuperseded) {
		l.in.fail(ErrSuperseded)
	}
}

// Received is wire's word of one message.
func (l *links) Received(link *wire.Link, m wire.Message) {
	slot := link.Slot()
	switch {
	case m.Beat != nil:
		l.uses(slot, m.Beat.Usage)
		if m.Beat.Progress != nil {
			l.mu.Lock()
			l.progress.put(link.Task(), *m.Beat.Progress)
			l.mu.Unlock()
		}
	case m.Registered != nil:
		l.in.put(session.Registered{Slot: slot, Incarnation: m.Registered.Incarnation, Host: m.Registered.Host,
			Ports: m.Registered.Ports, Exit: corrected(link, m.Registered.Exit)})
	case m.Started != nil:
		l.in.put(session.Started{Slot: slot, Incarnation: m.Started.Incarnation, PIDs: m.Started.PIDs})
	case m.Ready != nil:
		l.in.put(session.Ready{Slot: slot, Incarnation: m.Ready.Incarnation})
	case m.Published != nil:
		l.in.put(session.Published{Slot: slot, Key: m.Published.Key, Value: m.Published.Value})
	case m.Signalled != nil:
		l.in.put(session.Signalled{Slot: slot, Request: m.Signalled.Request, Error: m.Signalled.Error})
	case m.Exited != nil:
		l.flush(func(r *reports, now time.Time) map[plan.TaskID]event.Progress { return r.last(link.Task(), now) })
		l.in.put(session.Exited{Slot: slot, Incarnation: m.Exited.Incarnation, Exit: *corrected(link, &m.Exited.Exit)})
	}
}

// uses keeps what a task was seen to use.
func (l *links) uses(slot string, u wire.Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.slots[slot]; p != nil {
		p.usage = u
	}
}

// usage is what each task with a link used when it was last heard of.
func (l *links) usage() map[plan.TaskID]wire.Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[plan.TaskID]wire.Usage{}
	for _, p := range l.slots {
		if p.link != nil {
			out[p.link.Task()] = p.usage
		}
	}
	return out
}

// corrected puts an exit onto the coordinator's clock.
func corrected(link *wire.Link, x *event.Exit) *event.Exit {
	if x == nil || x.At.IsZero() {
		return x
	}
	y := *x
	y.At = x.At.Add(link.Offset())
	return &y
}

// flush hands over what tasks reported of their progress, as far as it is wanted.
func (l *links) flush(wanted func(*reports, time.Time) map[plan.TaskID]event.Progress) {
	l.mu.Lock()
	p := wanted(l.progress, time.Now())
	l.mu.Unlock()
	if len(p) > 0 {
		l.in.put(session.Progress{Tasks: p})
	}
}

// watch tells the session of executors that have been silent for too long.
func (l *links) watch(ctx context.Context) {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			l.flush((*reports).due)
			l.miss(time.Now())
		case <-ctx.Done():
			return
		}
	}
}

func (l *links) miss(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.awake.IsZero() || now.Sub(l.looked) > napLeast {
		l.awake = now
	}
	l.looked = now
	silent := func(heard time.Time) time.Duration {
		if heard.Before(l.awake) {
			heard = l.awake
		}
		return now.Sub(heard)
	}
	for slot, p := range l.slots {
		switch {
		case !p.started || p.missed:
		case p.link != nil:
			if silent(p.link.LastBeat()) > time.Duration(l.timing.Silence) {
				p.missed = true
				l.in.put(session.Silent{Slot: slot})
			}
		default:
			limit := time.Duration(l.timing.LinkLoss)
			if !p.met {
				limit *= firstLink
			}
			if silent(p.away) > limit {
				p.missed = true
				l.in.put(session.Unlinked{Slot: slot})
			}
		}
	}
}
