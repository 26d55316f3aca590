package gang_test

import (
	"slices"
	"time"

	"github.com/muster-project/muster/gang"
)

// truth is the member that an application really is, seen with no delay.
func (w *world) truth(a *app) (gang.Ticket, bool) {
	if a.state != gang.Running || a.job == nil || a.launched.IsZero() {
		return gang.Ticket{}, false
	}
	claim := gang.Application{ID: a.id, User: a.user, Job: a.job.id, Priority: a.priority, Launched: a.launched, First: a.first}
	if a.first == "" {
		return gang.Claim(claim, nil), true
	}
	f := a.job.apps[0]
	return gang.Claim(claim, &gang.Application{ID: f.id, User: f.user, Job: f.job.id, Launched: f.launched, State: f.state}), true
}

// gathers says that an application takes part in the order.
func gathers(a *app) bool {
	return a.job != nil && a.state == gang.Running && a.hands != nil && a.progress == 0
}

func meet(a, b *app) bool {
	for _, p := range a.parts {
		if slices.Contains(b.parts, p) {
			return true
		}
	}
	return false
}

// older says that b is before a in the order.
func (w *world) older(a, b *app) bool {
	ta, _ := w.truth(a)
	tb, _ := w.truth(b)
	c := tb.Compare(ta)
	return c < 0 || c == 0 && b.id < a.id
}

// notice is the time after which everybody must have learnt of something: a
// look-up with its delay, and a beat.
func (w *world) notice() time.Duration { return w.demand.Look + w.lag + 2*w.every + 2*tick }

// check holds the present to what must be true at every moment.
func (w *world) check() {
	if w.quiet {
		return
	}
	for _, j := range w.jobs {
		if at := w.now.Sub(epoch); j.due > 0 && j.outcome == "" && at > j.due {
			w.fault("%s is not over", j.id)
		}
	}
	for _, n := range w.nodes {
		if used := w.usedOn(n); !used.Fits(n.size) {
			w.fault("%s holds %v of %v", n.name, used, n.size)
		}
	}
	for _, a := range w.apps {
		calm := gathers(a) && !w.now.Before(a.hands.paused) && !w.blind()
		if !calm {
			a.asSince, a.holdsSince = time.Time{}, time.Time{}
			continue
		}
		if a.asSince.IsZero() {
			a.asSince = w.now
		}
		w.checkID(a)
	}
	for _, a := range w.apps {
		if !a.asSince.IsZero() {
			w.checkHolds(a)
		}
	}
}

// blind says that somebody could not look within the time that views live.
func (w *world) blind() bool {
	at := w.now.Sub(epoch)
	for _, spans := range [][]span{w.reportsOff, w.ticketsOff} {
		for _, s := range spans {
			if at >= s.from && at < s.to+w.demand.Dead+w.demand.Stale {
				return true
			}
		}
	}
	return false
}

// checkID: whatever happened, a job is one job with one place in the order.
func (w *world) checkID(a *app) {
	t, _ := w.truth(a)
	if a.job.first == (gang.Ticket{}) {
		a.job.first = t
	}
	if t != a.job.first {
		w.fault("%s had the ticket %v and now has %v", a.job.id, a.job.first, t)
	}
	running := 0
	for _, o := range a.job.apps {
		if o.state != gang.Over {
			running++
		}
	}
	if running > 1 {
		w.fault("%s runs %d times", a.job.id, running)
	}
}

// checkHolds: whoever knows of an older gang that gathers holds something for no
// longer than one attempt at backfill. So there are never two heads for longer
// than it takes to notice.
func (w *world) checkHolds(a *app) {
	holds := false
	for _, b := range w.boxes {
		holds = holds || b.app == a && b.class != ""
	}
	behind := false
	for _, o := range w.apps {
		if o != a && !o.asSince.IsZero() && w.now.Sub(o.asSince) > w.notice() && w.now.Sub(a.asSince) > w.notice() && meet(a, o) && w.older(a, o) {
			behind = true
		}
	}
	if !holds || !behind {
		a.holdsSince = time.Time{}
		return
	}
	if a.holdsSince.IsZero() {
		a.holdsSince = w.now
	}
	if most := w.demand.Try + w.notice(); w.now.Sub(a.holdsSince) > most {
		w.fault("%s holds slots for %v although an older gang gathers", a.job.id, w.now.Sub(a.holdsSince))
	}
}

// completes: once a gang is old enough, no younger one of its queue comes first.
func (w *world) completes(a *app) {
	if w.quiet || a.asSince.IsZero() {
		return
	}
	margin := w.demand.Try + w.notice()
	for _, o := range w.apps {
		if o == a || !gathers(o) || o.asSince.IsZero() || !meet(a, o) || o.queue != a.queue || !w.older(a, o) {
			continue
		}
		t, _ := w.truth(o)
		if w.now.Sub(t.Time) > w.demand.Starve+margin && w.now.Sub(o.asSince) > margin && w.now.Sub(a.asSince) > margin {
			w.fault("%s is complete before %s, which is older and has waited for %v", a.job.id, o.job.id, w.now.Sub(t.Time))
		}
	}
}
