package ledger

import (
	"maps"
	"slices"
	"time"
)

// Any is the resource name that every node answers to.
const Any = "*"

// Ask is one line of what the resource manager is asked for: an absolute count
// for a class and a place.
type Ask struct {
	Class     int64
	Role      string
	Priority  int32
	Place     string // Any, a rack or a node
	Count     int
	Relax     bool
	Partition string // on Any only
}

// Beat is what goes to the resource manager with one call.
type Beat struct {
	Asks           []Ask
	Release        []string
	Block, Unblock []string // nodes
}

// Empty says that the call would say nothing.
func (b Beat) Empty() bool {
	return len(b.Asks)+len(b.Release)+len(b.Block)+len(b.Unblock) == 0
}

// line is what is outstanding for one place.
type line struct {
	count int
	relax bool
}

// lines are what is outstanding for a class, by place.
type lines map[string]line

// Pending says that the resource manager has something to hear.
func (l *Ledger) Pending(now time.Time) bool {
	if len(l.drops) > 0 || l.faults.changed {
		return true
	}
	for _, class := range l.askClasses() {
		if !maps.Equal(l.asked[class], l.wanted(class, now)) {
			return true
		}
	}
	return false
}

// Beat takes what is to be said with the next call. The call must be made: what
// it says is not said again unless Resync is told.
func (l *Ledger) Beat(now time.Time) Beat {
	var b Beat
	for _, class := range l.askClasses() {
		want := l.wanted(class, now)
		if maps.Equal(l.asked[class], want) {
			continue
		}
		b.Asks = append(b.Asks, l.change(class, want)...)
		if len(want) == 0 {
			delete(l.asked, class)
		} else {
			l.asked[class] = want
		}
	}
	for id := range l.drops {
		b.Release = append(b.Release, id)
		l.dropping[id] = now
		l.sight.toldFreed(id, now)
	}
	slices.Sort(b.Release)
	clear(l.drops)
	b.Block, b.Unblock = l.faults.take()
	return b
}

// Asking says that containers are awaited.
func (l *Ledger) Asking(now time.Time) bool {
	for _, lines := range l.asked {
		if lines[Any].count > 0 {
			return true
		}
	}
	for _, at := range l.dropping {
		if now.Sub(at) < l.Times.Recover {
			return true
		}
	}
	return false
}

// askClasses are all classes that are or should be asked for.
func (l *Ledger) askClasses() []int64 {
	all := map[int64]bool{}
	for class := range l.asked {
		all[class] = true
	}
	for _, q := range l.requests {
		for class := range q.want {
			all[class] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// wanted is what should be outstanding for a class.
func (l *Ledger) wanted(class int64, now time.Time) lines {
	q, role := l.requestOf(class), l.roleOf(class)
	if q == nil || role == nil || l.closed || q.want[class] <= 0 {
		return nil
	}
	n := q.want[class]
	sh := l.Shape(role)
	switch {
	case q.where[role.Name] != nil:
		return l.strict(q.where[role.Name])
	case l.constrained(q) && l.sight.nodes != nil:
		return l.strict(l.seated(q)[role.Name])
	case sh.Pack && now.Before(q.since.Add(l.Times.Pack)):
		if old := l.asked[class]; len(old) > 1 && old[Any].count == n {
			return old // a plan is kept while it is carried out
		}
		if places := l.together(sh, n); places != nil {
			return l.strict(places)
		}
	}
	return lines{Any: {count: n, relax: true}}
}

func (l *Ledger) requestOf(class int64) *request {
	for _, q := range l.requests {
		if q.Number == numberOf(class) {
			return q
		}
	}
	return nil
}

// strict asks for nodes and nothing else. Locality may be relaxed on the nodes
// themselves but on nothing above them.
func (l *Ledger) strict(places map[string]int) lines {
	out := lines{}
	if len(places) == 0 {
		return nil
	}
	for node, n := range places {
		out[node] = line{count: n, relax: true}
		for _, above := range []string{l.rack(node), Any} {
			if above != "" {
				out[above] = line{count: out[above].count + n}
			}
		}
	}
	return out
}

// change are the lines that turn what is outstanding into want.
func (l *Ledger) change(class int64, want lines) []Ask {
	role := l.roleOf(class)
	if role == nil {
		return nil
	}
	sh := l.Shape(role)
	var out []Ask
	places := map[string]bool{}
	for p := range l.asked[class] {
		places[p] = true
	}
	for p := range want {
		places[p] = true
	}
	places[Any] = true // carries the total, and must be there to cancel
	for _, p := range slices.Sorted(maps.Keys(places)) {
		ln, ok := want[p]
		a := Ask{Class: class, Role: role.Name, Priority: int32(class & (1<<roleBits - 1)), Place: p, Count: ln.count, Relax: ln.relax || !ok}
		if p == Any {
			a.Partition = sh.Partition
		}
		out = append(out, a)
	}
	return out
}

// countDown notes that the resource manager has one less outstanding.
func (l *Ledger) countDown(class int64, node string) {
	lines := l.asked[class]
	for _, p := range []string{Any, l.rack(node), node} {
		if ln, ok := lines[p]; ok {
			if ln.count--; ln.count <= 0 {
				delete(lines, p)
			} else {
				lines[p] = ln
			}
		}
	}
	if len(lines) == 0 {
		delete(l.asked, class)
	}
}
