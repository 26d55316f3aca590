package gang

import "time"

// mayTry is rule R5: a gang that is not first may gather nevertheless if all of
// it fits by what the nodes report, for Try at a time, and not any more once the
// head is as old as Starve. The age counts from the head's ticket, so that no
// stream of newcomers, each of which has just met it, keeps it waiting for ever.
// What the own queue is guaranteed nobody can starve for: there its first gang
// may always try.
func (d *decider) mayTry(rivals []Member) bool {
	allowed := d.in.Nodes != nil && (d.age(rivals[0]) < d.in.Times.Starve || d.guaranteed(rivals))
	if !d.try.since.IsZero() {
		if allowed && d.now.Before(d.try.end) {
			return true
		}
		d.try.fail(d.now, d.in.Times.Rest, d.in.Times.Starve, d.in.Chance)
		return false
	}
	if !allowed || d.now.Before(d.try.until) || !d.fitsNow() {
		return false
	}
	d.try.since, d.try.end = d.now, d.now.Add(d.in.Times.Try)
	return true
}

// age is how long a member has waited since its ticket's time. This master's own
// launch and first decision connect the resource manager's clock with its own.
func (d *decider) age(m Member) time.Duration {
	launched := d.in.Launched
	if launched.IsZero() {
		launched = d.sight.self.Launched
	}
	byTicket := launched.Sub(m.Time) + d.now.Sub(d.began)
	return max(byTicket, d.now.Sub(d.head.since))
}

// guaranteed says that the gang is the first of its queue, that the head is not
// of that queue, and that the queue stays within what it is guaranteed.
func (d *decider) guaranteed(rivals []Member) bool {
	self := d.sight.self
	for _, m := range rivals {
		if m.Queue == self.Queue && m.before(*self) {
			return false
		}
	}
	for _, p := range partitions(d.in.Need) {
		s := d.share(p)
		if s == nil || s.Guaranteed == nil || !s.Used.Plus(total(d.minimal(d.held), p), 1).within(s.Guaranteed, nil) {
			return false
		}
	}
	return true
}

// fitsNow says that all of the gang would find room now, as far as one can see.
func (d *decider) fitsNow() bool {
	if !pack(d.minimal(nil), d.room.with(d.in.Need, d.in.Held)).fits {
		return false
	}
	lacking := d.minimal(d.held)
	sum := Size{}
	for _, p := range partitions(lacking) {
		part := total(lacking, p)
		sum = sum.Plus(part, 1)
		if s := d.share(p); s != nil && s.Maximum != nil && !s.Used.Plus(part, 1).within(s.Maximum, nil) {
			return false
		}
	}
	return d.in.Headroom == nil || sum.within(d.in.Headroom, nil)
}

func (d *decider) share(partition string) *Share {
	for i := range d.in.Shares {
		if d.in.Shares[i].Partition == partition {
			return &d.in.Shares[i]
		}
	}
	return nil
}

// fail ends an attempt and rests, twice as long after each, never longer than
// most. Chance spreads those who failed together.
func (a *attempt) fail(now time.Time, rest, most time.Duration, chance float64) {
	for range a.spent {
		if rest *= 2; rest >= most {
			rest = most
			break
		}
	}
	*a = attempt{until: now.Add(time.Duration(float64(rest) * (0.5 + chance))), spent: a.spent + 1}
}
