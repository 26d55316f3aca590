package gang

import (
	"fmt"
	"time"
)

// Decide is the ticket rule for one master at one moment. It may be called as
// often as one likes; between two look-ups the same view is passed again.
func Decide(s State, in Snapshot, now time.Time) (State, Decision) {
	d := &decider{State: s.clone(), in: in, now: now}
	if d.began.IsZero() {
		d.began = now
	}
	d.sight = d.judge(in.App, in.View, in.Times, now)
	d.held = count(in.Held)
	d.decide()
	d.out.Ticket = !d.out.Complete && !d.out.Yield && d.out.Refuse == nil && d.out.Aside == nil
	d.out.Look = d.nextLook()
	return d.State, d.out
}

// decider is one decision in the making.
type decider struct {
	State

	in    Snapshot
	now   time.Time
	sight sight
	room  room
	held  map[string]int
	out   Decision
}

func (d *decider) decide() {
	if !d.fit() {
		return
	}
	if d.complete && !d.lapse() {
		d.serve()
		return
	}
	d.room = newRoom(d.in.Nodes)
	if !d.lapsed && d.lacking() == nil {
		d.finish() // it came together, by whatever right: complete gangs block nobody
		return
	}
	if d.yields() {
		return
	}
	if d.sight.blind != "" {
		d.grope()
		return
	}
	if d.sight.unseen != "" {
		d.unseen()
		return
	}
	d.blind = attempt{}
	rivals := d.sight.rivals()
	if len(rivals) == 0 || d.sight.self.before(rivals[0]) {
		d.head = d.head.see(d.in.App, d.now)
		d.try, d.last = attempt{}, watched{}
		d.gather()
		return
	}
	d.head = d.head.see(rivals[0].App, d.now)
	d.behind(rivals)
}

// nextLook is when the view must be renewed. A complete gang looks now and then,
// to learn whether it may grow.
func (d *decider) nextLook() time.Time {
	every := d.in.Times.Look
	if d.out.Complete {
		every = d.in.Times.Calm
	}
	return d.in.View.At.Add(every)
}

// finish is the moment at which the minimum is held.
func (d *decider) finish() {
	d.complete, d.lapsed = true, false
	d.try, d.blind, d.last, d.lost, d.stuck, d.plan = attempt{}, attempt{}, watched{}, time.Time{}, time.Time{}, false
	d.serve()
}

// serve goes on with a complete gang (rule R2): it replaces what it lost without
// waiting for anybody, and grows beyond its minimum only while no other gang
// gathers where it asks.
func (d *decider) serve() {
	d.out.Complete = true
	grow := d.sight.blind == "" && d.sight.unseen == "" && len(d.sight.rivals()) == 0
	d.want(func(c Class) int {
		if grow {
			return c.Count
		}
		return c.Minimum
	})
	d.keep(func(c Class) int { return c.Count })
	if lacking := d.lacking(); lacking != nil {
		d.wait(CodeReplacing, fmt.Sprintf("replaces lost slots: %s; gathers anew in %s", d.progress(), d.left(d.lost, d.in.Times.Replace)), nil)
	}
}

// lapse says that a complete gang has been below its minimum for too long: then
// it takes part in the order again, with its old ticket. Two such gangs might
// otherwise each wait for the other for ever.
func (d *decider) lapse() bool {
	if d.lacking() == nil {
		d.lost = time.Time{}
		return false
	}
	if d.lost.IsZero() {
		d.lost = d.now
	}
	if d.now.Sub(d.lost) < d.in.Times.Replace {
		return false
	}
	d.complete, d.lapsed, d.lost = false, true, time.Time{}
	return true
}

// gather is what the head does (rule R1): it asks for what it lacks and keeps
// what it gets. A lapsed head also keeps its running tasks.
func (d *decider) gather() {
	if d.lacking() == nil {
		d.finish()
		return
	}
	d.hold()
	d.explain()
}

// hold asks for the minimum and keeps it.
func (d *decider) hold() {
	if d.unlock() {
		return
	}
	minimum := func(c Class) int { return c.Minimum }
	d.exchange()
	d.want(minimum)
	d.keep(minimum)
	d.direct()
}

// behind is what everybody but the head does: it holds nothing (rule R1), tries
// briefly where that harms nobody (rule R5), and makes room where its own
// container is what the head lacks (rule R3).
func (d *decider) behind(rivals []Member) {
	head := rivals[0]
	if d.lapsed {
		d.rejoin()
	} else if d.mayTry(rivals) {
		d.last = watched{}
		d.hold()
		d.wait(CodeTrying, fmt.Sprintf("all of it fits beside %s now: %s, given back in %s", head.App, d.progress(), d.left(d.try.since, d.in.Times.Try)), nil)
		return
	} else {
		d.drop()
	}
	ahead := 0
	for _, m := range rivals {
		if m.before(*d.sight.self) {
			ahead++
		}
	}
	d.wait(CodeBehind, fmt.Sprintf("behind %s%s, which has waited since %s; gangs before this one: %d",
		head.App, named(head), head.Time.UTC().Format(time.RFC3339), ahead),
		map[string]float64{"ahead": float64(ahead), "gathering": float64(len(rivals) + 1)})
	d.stepAside(rivals)
}

// unseen waits for its own place in the order. A lapsed gang keeps what runs
// until it knows it.
func (d *decider) unseen() {
	d.wait(CodeUnseen, d.sight.unseen, nil)
	if d.lapsed {
		d.keep(func(c Class) int { return c.Count })
		return
	}
	d.drop()
}

// rejoin gives everything back that a lapsed gang has.
func (d *decider) rejoin() {
	d.out.Rejoin = true
	d.lapsed = false
	d.drop()
}

// drop holds nothing.
func (d *decider) drop() {
	d.stuck, d.plan = time.Time{}, false
	d.out.Ask, d.out.Where, d.out.Keep = nil, nil, nil
	d.out.Release = nil
	for _, h := range d.in.Held {
		d.out.Release = append(d.out.Release, h.ID)
	}
}

func (d *decider) wait(code Code, text string, numbers map[string]float64) {
	d.out.Waiting = append(d.out.Waiting, Reason{Code: code, Text: text, Numbers: numbers})
}

// left is what remains of a span, for people.
func (d *decider) left(since time.Time, span time.Duration) time.Duration {
	return max(0, span-d.now.Sub(since)).Round(time.Second)
}

func named(m Member) string {
	switch {
	case m.Job != "" && m.User != "":
		return fmt.Sprintf(" (job %s of %s)", m.Job, m.User)
	case m.User != "":
		return fmt.Sprintf(" (of %s)", m.User)
	}
	return ""
}
