package plan

import (
	"cmp"
	"fmt"
	"slices"
)

// packBudget bounds the search for a placement. It is spent in well under a
// second, and settles every gang of one role and every small cluster.
const packBudget = 200_000

// pack says whether the smallest form of a gang can stand on empty nodes all at
// once. It fills node after node, the largest first, with as many of the most
// demanding role as fit, which is first-fit decreasing; where that fails it
// goes back and tries the others. sure is false if it gave up.
func pack(gang []*Role, nodes []Node) (fits, sure bool) {
	for _, r := range gang {
		room := 0
		for _, n := range nodes {
			room += fitting(r, n.Resources)
		}
		if room < r.Instances.Min {
			return false, true
		}
	}
	s := &packing{gang: slices.Clone(gang), nodes: slices.Clone(nodes), dead: map[string]bool{}, budget: packBudget}
	slices.SortStableFunc(s.gang, func(a, b *Role) int { return -compareSize(a.Resources, b.Resources) })
	slices.SortStableFunc(s.nodes, func(a, b Node) int { return -compareSize(a.Resources, b.Resources) })
	left := make([]int, len(gang))
	for i, r := range s.gang {
		left[i] = r.Instances.Min
	}
	fits = s.fill(0, 0, s.nodes[0].Resources, left, nil)
	return fits, fits || s.budget > 0
}

func compareSize(a, b Resources) int {
	return cmp.Or(cmp.Compare(a.GPUs, b.GPUs), cmp.Compare(a.Memory, b.Memory), cmp.Compare(a.CPUs, b.CPUs))
}

type packing struct {
	gang   []*Role
	nodes  []Node
	dead   map[string]bool // what was left before a node, and could not be placed on it and those after it
	budget int
}

// fill decides how many tasks of the k-th role stand on the n-th node, of which
// room is left and ports are taken.
func (s *packing) fill(n, k int, room Resources, left []int, ports []int) bool {
	if s.budget--; s.budget <= 0 {
		return false
	}
	if k == len(s.gang) {
		return s.next(n+1, left)
	}
	r := s.gang[k]
	most := min(left[k], fitting(r, room))
	for _, p := range r.Ports {
		if p.Number != 0 && slices.Contains(ports, p.Number) {
			most = 0
		}
	}
	for take := most; take >= 0; take-- {
		after := slices.Clone(left)
		after[k] -= take
		rest := Resources{
			CPUs:   room.CPUs - float64(take)*r.Resources.CPUs,
			Memory: room.Memory - int64(take)*r.Resources.Memory,
			GPUs:   room.GPUs - take*r.Resources.GPUs,
		}
		taken := ports
		if take > 0 {
			taken = slices.Clone(ports)
			for _, p := range r.Ports {
				if p.Number != 0 {
					taken = append(taken, p.Number)
				}
			}
		}
		if s.fill(n, k+1, rest, after, taken) {
			return true
		}
	}
	return false
}

// next goes on with the n-th node.
func (s *packing) next(n int, left []int) bool {
	if !slices.ContainsFunc(left, func(v int) bool { return v > 0 }) {
		return true
	}
	if n == len(s.nodes) {
		return false
	}
	key := fmt.Sprint(n, left)
	if s.dead[key] {
		return false
	}
	if s.fill(n, 0, s.nodes[n].Resources, left, nil) {
		return true
	}
	s.dead[key] = true
	return false
}

// fitting is how many tasks of a role fit into room, at most what its role asks.
func fitting(r *Role, room Resources) int {
	n := r.Instances.Min
	for n > 0 {
		if float64(n)*r.Resources.CPUs <= room.CPUs+slack && int64(n)*r.Resources.Memory <= room.Memory && n*r.Resources.GPUs <= room.GPUs {
			break
		}
		n--
	}
	if slices.ContainsFunc(r.Ports, func(p Port) bool { return p.Number != 0 }) {
		n = min(n, 1)
	}
	return n
}
