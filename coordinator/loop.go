package coordinator

import (
	"context"
	"errors"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/history"
	"github.com/muster-project/muster/session"
)

// Waits between two tries of a journal that cannot be written now.
const (
	retryFirst = 100 * time.Millisecond
	retryMost  = 5 * time.Second
)

// loop owns the session: it takes all inputs that came, writes down what
// follows from them, and only then acts. outer ends it without an end of the
// job; inner is what its own work runs under.
func (k *coordinator) loop(outer, inner context.Context, address string) error {
	timer := time.NewTimer(0) // the first round concludes what the replay left open
	defer timer.Stop()
	for {
		if err := k.round(inner, address); err != nil {
			return errors.Join(err, k.gang.Leave())
		}
		k.rest(outer, inner)
		if k.in.departs() {
			return errors.Join(ErrAside, k.gang.Leave())
		}
		if o, sealed := k.session.Outcome(); sealed {
			k.Log.Info("job has ended", "state", o.State, "why", o.Text)
			return k.gang.Close(inner, o)
		}
		if at, ok := k.session.Deadline(); ok {
			timer.Reset(max(0, time.Until(at)))
		} else {
			timer.Stop()
		}
		select {
		case <-k.in.news:
		case <-timer.C:
		case <-outer.Done():
			return k.gang.Leave()
		case <-inner.Done(): // a sibling failed and tells its own error
			return k.gang.Leave()
		}
	}
}

// round is one batch: inputs, facts, acknowledgement, actions.
func (k *coordinator) round(ctx context.Context, address string) error {
	inputs, err := k.in.take()
	if err != nil {
		return err
	}
	letters := k.mail.take()
	for _, l := range letters {
		if l.input != nil {
			inputs = append(inputs, l.input)
		}
	}
	events := k.decide(inputs, time.Now())
	if err := k.append(ctx, events); err != nil {
		return err
	}
	k.removeMail(ctx, letters)
	k.links.note(events)
	k.report(events)
	k.quitStrangers(inputs)
	return k.act(ctx, address)
}

// rest leaves time for more to come after a round that took long: each looks at
// the whole job, so ten thousand executors that answer one after the other must
// not be ten thousand rounds.
func (k *coordinator) rest(outer, inner context.Context) {
	pause := min(restShare*k.thought, restMost)
	if pause < restLeast {
		return
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-outer.Done():
	case <-inner.Done():
	}
}

// Rounds take a small share of one processor at most, and nobody waits long for
// the next one. Jobs of a few hundred tasks know no rest.
const (
	restShare = 20
	restMost  = 100 * time.Millisecond
	restLeast = time.Millisecond
)

// decide is the only place where the session changes once the replay is over.
func (k *coordinator) decide(inputs []session.Input, now time.Time) []event.Event {
	k.mu.Lock()
	defer k.mu.Unlock()
	defer func() { k.thought = time.Since(now) }()
	return k.session.Decide(now, inputs...)
}

// report tells a resource manager that shows it how far the job is.
func (k *coordinator) report(events []event.Event) {
	r, ok := k.gang.(backend.Reporter)
	if !ok {
		return
	}
	for _, e := range events {
		if _, is := e.Body.(*event.ProgressReported); is {
			r.Report(fraction(k.session.View()))
			return
		}
	}
}

// fraction is how far the tasks are that say so, the slowest counting: 0 to 1.
func fraction(v session.View) float64 {
	least := 1.0
	said := false
	for _, t := range v.Tasks {
		if p := t.Progress; p != nil && p.Total > 0 {
			said = true
			least = min(least, float64(p.Step)/float64(p.Total))
		}
	}
	if !said {
		return 0
	}
	return max(0, least)
}

// append writes a batch and waits as long as it takes: a full disk must not end
// a job. Only a successor or the end of this coordinator stops it.
func (k *coordinator) append(ctx context.Context, events []event.Event) error {
	wait := retryFirst
	for {
		over := k.watchWrite()
		err := k.journal.Append(ctx, events)
		over()
		if err == nil || errors.Is(err, history.ErrSuperseded) || errors.Is(err, history.ErrFinished) {
			return err
		}
		k.Log.Error("journal cannot be written; trying again", "error", err, "in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
		wait = min(2*wait, retryMost)
	}
}

// hear turns what the gang says into inputs.
func (k *coordinator) hear(ctx context.Context) {
	for {
		select {
		case e, ok := <-k.gang.Events():
			if !ok {
				return
			}
			k.heard(e)
		case <-ctx.Done():
			return
		}
	}
}

func (k *coordinator) heard(e backend.Event) {
	switch {
	case e.Waiting != nil:
		k.in.put(session.Waiting{Request: e.Waiting.Request, Reasons: e.Waiting.Reasons})
	case e.Granted != nil:
		g := e.Granted
		k.in.put(session.Granted{Slot: event.SlotGranted{Slot: g.ID, Request: g.Request, Task: g.Task, Node: g.Node, Rack: g.Rack,
			Resources: g.Resources, Devices: g.Devices, CPUSet: g.CPUSet}})
	case e.Refused != nil:
		k.in.put(session.Refused{Request: e.Refused.Request, Reason: e.Refused.Reason})
	case e.Started != nil:
		in := session.Launched{Slot: e.Started.Slot, Native: e.Started.Native}
		if e.Started.Err != nil {
			in.Err = e.Started.Err.Error()
		}
		k.in.put(in)
	case e.Adopted != nil:
		k.in.put(session.Launched{Slot: e.Adopted.ID, Native: e.Adopted.Native})
	case e.Gone != nil:
		k.in.put(session.Gone{Slot: e.Gone.Slot, Class: e.Gone.Class, Reason: e.Gone.Reason, Status: e.Gone.Status,
			Blameless: e.Gone.Blameless})
	case e.Preempting != nil:
		k.in.put(session.Preempting{Slots: e.Preempting.Slots, Deadline: e.Preempting.Deadline, Reason: e.Preempting.Reason})
	case e.Warning != nil:
		k.in.put(session.Warned{Text: e.Warning.Text, Hint: e.Warning.Hint})
	case e.Aside != nil:
		k.in.put(session.Waiting{Request: e.Aside.Request, Reasons: []string{e.Aside.Reason}})
		k.in.depart()
	case e.Superseded:
		k.in.fail(ErrSuperseded)
	}
}
