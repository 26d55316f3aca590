package gang

import (
	"cmp"
	"fmt"
	"slices"
)

// packBudget bounds the search for a placement, beyond one walk over the nodes.
// Gangs of one class never need it; those of several find theirs at the first
// try nearly always.
const packBudget = 50_000

// packed is what a search for a placement found.
type packed struct {
	fits  bool
	sure  bool                      // false if the search was given up
	where map[string]map[string]int // class → node → slots, if it fits
}

// pack says whether Minimum slots of each class have room all at once, and
// where. It fills node after node with as many of the most demanding class as
// fit, then of the next; where that fails it goes back and tries fewer.
func pack(classes []Class, r room) packed {
	s := &packing{classes: slices.Clone(classes), spots: r.spots, dead: map[string]bool{}, budget: packBudget + 4*len(r.spots)*(len(classes)+1)}
	slices.SortStableFunc(s.classes, func(a, b Class) int {
		return cmp.Or(cmp.Compare(r.weight(b), r.weight(a)), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range s.classes {
		n := 0
		for i := range s.spots {
			if n += s.spots[i].into(c, s.spots[i].free, c.Minimum); n >= c.Minimum {
				break
			}
		}
		if n < c.Minimum {
			return packed{sure: true}
		}
	}
	left := make([]int, len(s.classes))
	for i, c := range s.classes {
		left[i] = c.Minimum
	}
	fits := s.next(0, left)
	p := packed{fits: fits, sure: fits || s.budget > 0}
	if fits {
		p.where = map[string]map[string]int{}
		for _, t := range s.taken {
			m := p.where[t.class]
			if m == nil {
				m = map[string]int{}
				p.where[t.class] = m
			}
			m[t.node] += t.n
		}
	}
	return p
}

type packing struct {
	classes []Class
	spots   []spot
	taken   []take
	dead    map[string]bool // what was left before a node and could not be placed from there on
	budget  int
}

type take struct {
	class, node string
	n           int
}

// next goes on with the n-th node.
func (s *packing) next(n int, left []int) bool {
	if !slices.ContainsFunc(left, func(v int) bool { return v > 0 }) {
		return true
	}
	if n == len(s.spots) {
		return false
	}
	if len(s.classes) == 1 { // nothing to choose
		return s.fill(n, 0, s.spots[n].free, left)
	}
	key := fmt.Sprint(n, left)
	if s.dead[key] {
		return false
	}
	if s.fill(n, 0, s.spots[n].free, left) {
		return true
	}
	s.dead[key] = true
	return false
}

// fill decides how many slots of the k-th class stand on the n-th node, of which
// free is left.
func (s *packing) fill(n, k int, free Size, left []int) bool {
	if s.budget--; s.budget <= 0 && len(s.classes) > 1 {
		return false
	}
	if k == len(s.classes) {
		return s.next(n+1, left)
	}
	c := s.classes[k]
	most := s.spots[n].into(c, free, left[k])
	if most == 0 {
		return s.fill(n, k+1, free, left)
	}
	least := 0
	if len(s.classes) == 1 {
		least = most
	}
	for take := most; take >= least; take-- {
		after, rest, mark := left, free, len(s.taken)
		if take > 0 {
			after = slices.Clone(left)
			after[k] -= take
			rest = free.Plus(c.Size, -take)
			s.taken = append(s.taken, one(c.Name, s.spots[n].name, take))
		}
		if s.fill(n, k+1, rest, after) {
			return true
		}
		s.taken = s.taken[:mark]
	}
	return false
}

func one(class, node string, n int) take { return take{class: class, node: node, n: n} }

// room is where slots may stand.
type room struct{ spots []spot }

// spot is one node: what it has, what of it is free, and how many slots of each
// class the gang has there.
type spot struct {
	name, partition string
	shared          bool
	whole, free     Size
	has             map[string]int
}

// newRoom is what the nodes report as free.
func newRoom(nodes []Node) room {
	var r room
	for _, n := range nodes {
		r.spots = append(r.spots, spot{name: n.Name, partition: n.Partition, shared: n.Shared, whole: n.Capability, free: n.Capability.Plus(n.Used, -1)})
	}
	return r
}

// emptyRoom is what the nodes have when nothing else runs than what is kept.
func emptyRoom(nodes []Node, kept []Holding) room {
	var r room
	for _, n := range nodes {
		free := n.Capability
		for _, k := range kept {
			if k.Node == n.Name {
				free = free.Plus(k.Size, -1)
			}
		}
		r.spots = append(r.spots, spot{name: n.Name, partition: n.Partition, shared: n.Shared, whole: n.Capability, free: free})
	}
	return r
}

// with is the room if the held slots were given back.
func (r room) with(need []Class, held []Slot) room {
	sizes := map[string]Size{}
	for _, c := range need {
		sizes[c.Name] = c.Size
	}
	back := map[string]Size{}
	for _, h := range held {
		back[h.Node] = back[h.Node].Plus(sizes[h.Class], 1)
	}
	out := room{spots: slices.Clone(r.spots)}
	for i := range out.spots {
		s := &out.spots[i]
		if b, ok := back[s.name]; ok {
			s.free = s.free.Plus(b, 1).Least(s.whole)
		}
		s.has = nil
	}
	return out
}

// beside is the room beside the held slots, which count for PerNode.
func (r room) beside(held []Slot) room {
	on := map[string]map[string]int{}
	for _, h := range held {
		if on[h.Node] == nil {
			on[h.Node] = map[string]int{}
		}
		on[h.Node][h.Class]++
	}
	out := room{spots: slices.Clone(r.spots)}
	for i := range out.spots {
		out.spots[i].has = on[out.spots[i].name]
	}
	return out
}

// takes says that slots of a class may stand here at all.
func (s *spot) takes(c Class) bool {
	return s.partition == c.Partition || s.shared && c.Partition == ""
}

// into is how many slots of a class, at most n, find room in free.
func (s *spot) into(c Class, free Size, n int) int {
	if !s.takes(c) {
		return 0
	}
	if c.PerNode > 0 {
		n = min(n, max(0, c.PerNode-s.has[c.Name]))
	}
	return c.Size.Into(free, n)
}

// weight is how demanding a class is: the largest part of all that there is
// which one slot of it takes.
func (r room) weight(c Class) float64 {
	w := 0.0
	for k, v := range c.Size {
		total := int64(0)
		for i := range r.spots {
			if r.spots[i].takes(c) {
				total += r.spots[i].whole[k]
			}
		}
		if total > 0 {
			w = max(w, float64(v)/float64(total))
		}
	}
	return w
}
