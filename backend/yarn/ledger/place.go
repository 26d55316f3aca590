package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-project/muster/gang"
)

// Where tasks stand to each other is decided here, from what the nodes have
// free, and asked for node by node: that works on every cluster, whether or not
// its scheduler knows placement constraints.

// spot is one node while a placement is made.
type spot struct {
	gang.Node
	free gang.Size
	has  map[string]int // tasks of this job, by role
}

// spots are the usable nodes with what they have free. What came after the look
// that told it is taken off.
func (l *Ledger) spots() []*spot {
	var out []*spot
	by := map[string]*spot{}
	for _, n := range l.sight.now() {
		s := &spot{Node: n, free: n.Capability.Plus(n.Used, -1), has: map[string]int{}}
		by[n.Name] = s
		if !l.faults.avoids(n.Name) {
			out = append(out, s)
		}
	}
	for _, b := range l.boxes {
		s := by[b.slot.Node]
		if s == nil || b.released {
			continue
		}
		s.has[l.roleName(b.class)]++
		if b.at.After(l.sight.view.At) {
			s.free = s.free.Plus(b.size, -1)
		}
	}
	return out
}

// together chooses as few nodes as hold n more of a class: the smallest that
// fits all, else the roomiest first. It is nil if the nodes are unknown or too
// full.
func (l *Ledger) together(sh Shape, n int) map[string]int {
	type seat struct {
		name string
		fits int
	}
	var seats []seat
	for _, s := range l.spots() {
		if k := sh.Size.Into(s.free, n+fullest); k > 0 && s.Partition == sh.Partition {
			seats = append(seats, seat{s.Name, k})
		}
	}
	slices.SortFunc(seats, func(a, b seat) int { return cmp.Or(cmp.Compare(b.fits, a.fits), cmp.Compare(a.name, b.name)) })
	out := map[string]int{}
	for i := 0; n > 0 && i < len(seats); i++ {
		if seats[i].fits >= n { // the last node that is needed is the smallest that suffices
			for i+1 < len(seats) && seats[i+1].fits >= n {
				i++
			}
		}
		k := min(n, seats[i].fits)
		out[seats[i].name] = k
		n -= k
	}
	if n > 0 {
		return nil
	}
	return out
}

// fullest is how much roomier than needed nodes are told apart.
const fullest = 1 << 10

// constrained says that tasks of a request may not stand just anywhere.
func (l *Ledger) constrained(q *request) bool {
	return slices.ContainsFunc(l.classes(q), func(c gang.Class) bool {
		sh := l.Shape(l.Plan.Role(c.Name))
		return sh.PerNode > 0 || sh.Spread || len(sh.Away)+len(sh.Together) > 0
	})
}

// seated plans where what is asked for now shall stand, for all roles of the
// request together, by role and node. What finds no place is left out, and is
// planned again after the next look.
func (l *Ledger) seated(q *request) map[string]map[string]int {
	if q.seats != nil {
		return q.seats
	}
	q.seats = map[string]map[string]int{}
	spots := l.spots()
	var roles []string
	for class, n := range q.want {
		if n > 0 {
			roles = append(roles, l.roleName(class))
		}
	}
	// Whom others must be near goes first, then who has the fewest places.
	slices.SortFunc(roles, func(a, b string) int {
		sa, sb := l.Shape(l.Plan.Role(a)), l.Shape(l.Plan.Role(b))
		return cmp.Or(cmp.Compare(len(sa.Together), len(sb.Together)), cmp.Compare(len(sb.Away), len(sa.Away)), cmp.Compare(a, b))
	})
	for _, role := range roles {
		sh := l.Shape(l.Plan.Role(role))
		for range q.want[l.class(q.Number, role)] {
			s := l.seat(spots, role, sh)
			if s == nil {
				break
			}
			s.has[role]++
			s.free = s.free.Plus(sh.Size, -1)
			if q.seats[role] == nil {
				q.seats[role] = map[string]int{}
			}
			q.seats[role][s.Name]++
		}
	}
	return q.seats
}

// unseated says in numbers which tasks find no place that their placement allows.
func (l *Ledger) unseated(q *request) []gang.Reason {
	if l.sight.nodes == nil || !l.constrained(q) {
		return nil
	}
	q.seats = nil // what is asked for may have changed
	seats := l.seated(q)
	var out []gang.Reason
	for _, class := range slices.Sorted(maps.Keys(q.want)) {
		role, seated := l.roleName(class), 0
		for _, n := range seats[role] {
			seated += n
		}
		if lacks := q.want[class] - seated; lacks > 0 {
			out = append(out, gang.Reason{Code: CodePlacement, Text: fmt.Sprintf("%d of %s find no node that has %s free and that their placement allows (%s)",
				lacks, role, l.Shape(l.Plan.Role(role)).Size, l.Shape(l.Plan.Role(role)).placement()), Numbers: map[string]float64{"unplaced": float64(lacks)}})
		}
	}
	return out
}

// CodePlacement is the reason that no node is left which a placement allows.
const CodePlacement = "placement"

// placement prints constraints as a job file has them.
func (s Shape) placement() string {
	var parts []string
	scope := "node"
	if s.Racks {
		scope = "rack"
	}
	if s.Spread || s.PerNode > 0 {
		parts = append(parts, "one on each "+scope)
	}
	if len(s.Away) > 0 {
		parts = append(parts, "on no "+scope+" with "+strings.Join(s.Away, ", "))
	}
	if len(s.Together) > 0 {
		parts = append(parts, "on a "+scope+" with "+strings.Join(s.Together, ", "))
	}
	return strings.Join(parts, "; ")
}

// seat finds the node for one more task of a role: the roomiest, or for who wants
// to stand close the one with the most of its role.
func (l *Ledger) seat(spots []*spot, role string, sh Shape) *spot {
	var best *spot
	for _, s := range spots {
		if s.Partition != sh.Partition || !sh.Size.Fits(s.free) || sh.PerNode > 0 && s.has[role] >= sh.PerNode || !l.allowed(spots, s, role, sh) {
			continue
		}
		if best == nil || sh.Pack && s.has[role] > best.has[role] || !(sh.Pack && s.has[role] < best.has[role]) && sh.Size.Into(s.free, fullest) > sh.Size.Into(best.free, fullest) {
			best = s
		}
	}
	return best
}

// allowed says whether the constraints let one more task of a role stand on a node.
func (l *Ledger) allowed(spots []*spot, at *spot, role string, sh Shape) bool {
	near := map[string]int{} // what shares the node, and what shares the rack
	inRack := map[string]int{}
	anywhere := map[string]int{}
	maps.Copy(near, at.has)
	for _, s := range spots {
		for r, n := range s.has {
			anywhere[r] += n
			if s.Rack == at.Rack {
				inRack[r] += n
			}
		}
	}
	if sh.Racks {
		near = inRack
	}
	if sh.Spread && near[role] > 0 {
		return false
	}
	if slices.ContainsFunc(sh.Away, func(r string) bool { return near[r] > 0 }) {
		return false
	}
	if slices.ContainsFunc(sh.Together, func(r string) bool { return anywhere[r] > 0 && near[r] == 0 }) {
		return false
	}
	for i := range l.Plan.Roles { // who must not stand beside this one says so alone
		other := l.Plan.Roles[i].Name
		o := l.Shape(&l.Plan.Roles[i])
		there := at.has[other]
		if o.Racks {
			there = inRack[other]
		}
		if other != role && there > 0 && slices.Contains(o.Away, role) {
			return false
		}
	}
	return true
}
