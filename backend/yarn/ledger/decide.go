package ledger

import (
	"slices"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/gang"
)

// Conclude draws the conclusions from everything that is known now. The gang
// rule has clocks of its own, so it is asked whenever something is gathered.
func (l *Ledger) Conclude(now time.Time) {
	l.Missing(now)
	l.spared(now)
	l.faults.decay(now)
	for _, q := range l.requests {
		q.seats = nil
	}
	for range concludeMost {
		l.grown = false
		l.decide(now)
		if !l.grown {
			return
		}
	}
}

// concludeMost bounds how often one conclusion may change what another rests on.
const concludeMost = 4

// decide applies the gang rule to the request that gathers.
func (l *Ledger) decide(now time.Time) {
	q := l.current()
	if q == nil {
		l.idle(now)
		return
	}
	if q.replace && !l.stands() { // nothing is left of what was to be completed
		q.replace = false
		l.Rule.Next()
	}
	d := l.Rule.Decide(l.snapshot(q), now)
	q.yields = d.Yield
	l.look, l.ticket = d.Look, d.Ticket
	for _, id := range d.Release {
		if b := l.boxes[id]; b != nil && b.phase == held {
			l.drop(b)
		}
	}
	if d.Refuse != nil {
		l.refuse(q, d.Refuse.Text)
		return
	}
	if d.Complete {
		l.grant(q, d.Keep)
		q.complete = q.complete || l.satisfied(q)
	}
	clear(q.want)
	q.where = d.Where
	for name, n := range d.Ask {
		q.want[l.class(q.Number, name)] = n
	}
	if d.Aside != nil {
		l.stepAside(q, d.Aside.Text, d.Aside, now)
	}
	if d.Rejoin {
		l.stepAside(q, "lost slots of its gang could not be replaced: it gathers anew", nil, now)
	}
	if !q.complete {
		l.waits(q, append(d.Waiting, l.unseated(q)...), now)
	}
}

// satisfied says that the request's minimum was granted.
func (l *Ledger) satisfied(q *request) bool {
	for _, id := range q.tasks[:min(q.Minimum, len(q.tasks))] {
		if q.granted[id] == "" {
			return false
		}
	}
	return true
}

// idle is a job that asks for nothing. It keeps looking at nobody.
func (l *Ledger) idle(now time.Time) {
	l.look, l.ticket = time.Time{}, false
	for _, q := range l.requests {
		clear(q.want)
	}
	for _, b := range l.boxes {
		if b.phase == held { // came too late for anybody
			l.drop(b)
		}
	}
}

// stepAside tells once that this coordinator must end. Without a keeper it would
// be the job's end, so it is not done then: the rule itself is told so, too.
func (l *Ledger) stepAside(q *request, why string, to *gang.Aside, now time.Time) {
	if l.aside != nil || !l.Kept {
		return
	}
	if to == nil {
		to = &gang.Aside{App: l.App, At: now, Text: why}
	}
	l.aside = to
	l.tell(backend.Event{Aside: &backend.Aside{Request: q.Number, Reason: why}})
}

func (l *Ledger) refuse(q *request, why string) {
	q.refused, q.want = true, map[int64]int{}
	for _, b := range l.boxes {
		if b.phase == held && numberOf(b.class) == q.Number {
			l.drop(b)
		}
	}
	l.tell(backend.Event{Refused: &backend.Refused{Request: q.Number, Reason: why}})
	l.grown = true
}

// RefuseAll is the resource manager's word that what was asked for last can
// never be granted.
func (l *Ledger) RefuseAll(why string) {
	for _, q := range l.requests {
		if !q.complete && !q.refused {
			l.refuse(q, why)
		}
	}
}

// snapshot is what the rule is shown of a request.
func (l *Ledger) snapshot(q *request) gang.Snapshot {
	s := gang.Snapshot{App: l.App, View: l.sight.view, Need: l.classes(q), Kept: []gang.Holding{l.Master},
		Nodes: l.sight.now(), Shares: l.sight.shares, Headroom: l.sight.headroom, Chance: l.sight.chance, Times: l.Gang,
		Preempted: l.preempted(q)}
	needed := func(role string) bool {
		return slices.ContainsFunc(s.Need, func(c gang.Class) bool { return c.Name == role })
	}
	for _, id := range l.ids() {
		b := l.boxes[id]
		sl := gang.Slot{ID: id, Class: l.roleName(b.class), Node: b.slot.Node, Rack: l.rack(b.slot.Node), At: b.at, Started: b.phase > held}
		switch {
		case b.phase == held:
			if numberOf(b.class) == q.Number {
				s.Held = append(s.Held, sl)
			}
		case b.ours() && (q.replace && needed(sl.Class) || b.slot.Request == q.Number):
			s.Held = append(s.Held, sl)
		default:
			s.Kept = append(s.Kept, gang.Holding{Size: b.size, Node: b.slot.Node, Partition: l.Shape(l.role(b.slot.Task)).Partition})
		}
	}
	return s
}

func (l *Ledger) rack(node string) string {
	for i := range l.sight.nodes {
		if l.sight.nodes[i].Name == node {
			return l.sight.nodes[i].Rack
		}
	}
	return ""
}
