package gang

import (
	"fmt"
	"slices"
	"time"
)

// stepAside is rule R3. A master that waits occupies a container of its own, and
// that may be just what the head lacks. If only gathering masters hold anything,
// nothing else will ever be given back: after Yield the youngest of them ends.
// If others hold something their end may bring what is lacking, so it waits for
// Stall without any movement on the nodes. It is one at a time: the next one is
// the youngest only from then on, and waits as long. It is never the head, and
// never for a head that may be dead: a job that comes back remembers no tickets,
// and would step aside for the same dead head again and again.
func (d *decider) stepAside(rivals []Member) {
	self := *d.sight.self
	if rivals[len(rivals)-1].compare(self) > 0 {
		d.last = watched{}
		return
	}
	head := rivals[0]
	d.last = d.last.see(head.App, d.now)
	others := d.in.View.Foreign + d.sight.holders()
	d.watch(others > 0)
	span, why, since := d.in.Times.Yield, "only gathering gangs hold anything", d.alone
	if others > 0 {
		if d.in.Nodes == nil {
			return
		}
		span, why, since = d.in.Times.Stall, fmt.Sprintf("%d other applications hold resources and none was given back", others), d.still.since
	}
	waited := min(d.now.Sub(since), d.now.Sub(d.last.since))
	if waited < span || !head.proved || d.now.Sub(d.in.View.At) > 2*d.in.Times.Look {
		return
	}
	text := fmt.Sprintf("stepped aside for %s%s: for %s %s, and this is the youngest of %d", head.App, named(head), waited.Round(roundTo), why, len(rivals)+1)
	d.out.Aside = &Aside{App: self.App, Ticket: self.Ticket, Partitions: self.Partitions, Head: head.App, At: d.now, Text: text}
}

// watch notes since when nobody else holds anything, and since when nothing was
// given out or back on the nodes.
func (d *decider) watch(others bool) {
	switch {
	case others:
		d.alone = time.Time{}
	case d.alone.IsZero():
		d.alone = d.now
	}
	var used Size
	for _, n := range d.in.Nodes {
		used = used.Plus(n.Used, 1)
	}
	if d.still.since.IsZero() || !used.Equal(d.still.used) {
		d.still = stillness{used: used, since: d.now}
	}
}

// MayReturn says whether a job that stepped aside is submitted again: as soon as
// it would be first. Everybody before it in the order holds or will hold what it
// needs, and their number only shrinks, since newcomers have later tickets. A
// keeper passes the State of its last call, or a zero one. The sentence says
// what is waited for.
//
// Whoever cannot see the gangs submits again after Hold: then the job waits
// inside, and may step aside once more.
func MayReturn(s State, a Aside, v View, t Times, now time.Time) (State, bool, string) {
	s = s.clone()
	self := Member{Ticket: a.Ticket, App: a.App, Partitions: a.Partitions}
	// The keeper's own job is not running, so it is not in the view.
	seen := s.judge("", v, t, now)
	seen.self = &self
	if v.At.IsZero() {
		return s, false, "no look-up yet"
	}
	if seen.blind != "" {
		if wait := t.Hold - now.Sub(a.At); wait > 0 {
			return s, false, fmt.Sprintf("stepped aside for %s; %s, so it is submitted again in %s", a.Head, seen.blind, wait.Round(roundTo))
		}
		return s, true, "the other gangs cannot be seen"
	}
	ahead := slices.DeleteFunc(seen.rivals(), func(m Member) bool { return !m.before(self) })
	if len(ahead) > 0 {
		return s, false, fmt.Sprintf("stepped aside for %s; waits until %s%s is complete or over; gangs before this one: %d", a.Head, ahead[0].App, named(ahead[0]), len(ahead))
	}
	return s, true, "no gang gathers before this one"
}
