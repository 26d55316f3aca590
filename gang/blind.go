package gang

import "fmt"

// grope is what a master does that cannot see the others: it holds what it gets,
// but at most for Hold, and then gives everything back and rests, twice as long
// each time. Of several that do so one comes through at last with probability 1,
// but nobody can say when.
func (d *decider) grope() {
	d.head, d.last, d.try = watched{}, watched{}, attempt{}
	t := d.in.Times
	if d.now.Before(d.blind.until) {
		d.giveBack()
		d.wait(CodeBlind, fmt.Sprintf("%s: rests for %s, then tries again", d.sight.blind, d.blind.until.Sub(d.now).Round(roundTo)), nil)
		return
	}
	if d.blind.since.IsZero() {
		d.blind.since, d.blind.end = d.now, d.now.Add(share(t.Hold, 0.5+d.in.Chance/2))
	}
	if !d.now.Before(d.blind.end) {
		d.blind.fail(d.now, t.Hold, max(t.Hold, t.Starve), d.in.Chance)
		d.giveBack()
		d.wait(CodeBlind, fmt.Sprintf("%s: gave back what it held, rests for %s", d.sight.blind, d.blind.until.Sub(d.now).Round(roundTo)), nil)
		return
	}
	d.hold()
	d.wait(CodeBlind, fmt.Sprintf("%s, so there is no order: holds %s, at most for %s more, and no end can be promised",
		d.sight.blind, d.progress(), d.blind.end.Sub(d.now).Round(roundTo)), nil)
}

// giveBack holds nothing any more, by the way that fits what was held.
func (d *decider) giveBack() {
	if d.lapsed {
		d.rejoin()
		return
	}
	d.drop()
}
