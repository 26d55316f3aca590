package ledger

import (
	"slices"
	"time"

	"github.com/muster-project/muster/gang"
)

// freed is a container that was given back since the last look at the nodes,
// which still counts it as used. Without it a gang that gives everything back to
// stand elsewhere would find no room for itself at once, ask for just any nodes
// again, and be granted the same ones.
type freed struct {
	id   string
	node string
	size gang.Size
	told time.Time // when the resource manager was told; zero: not yet
}

// give notes a container that goes back.
func (l *Ledger) give(b *box) {
	if !b.at.After(l.sight.view.At) {
		l.sight.freed = append(l.sight.freed, freed{id: b.slot.ID, node: b.slot.Node, size: b.size})
	}
}

// toldFreed notes when the resource manager hears of it.
func (s *sight) toldFreed(id string, now time.Time) {
	for i := range s.freed {
		if s.freed[i].id == id {
			s.freed[i].told = now
		}
	}
}

// forget drops what a look that began at this time does not count any more.
func (s *sight) forget(at time.Time) {
	s.freed = slices.DeleteFunc(s.freed, func(f freed) bool { return !f.told.IsZero() && f.told.Before(at) })
}

// now is the nodes with what was given back taken off; nil where they are unknown.
func (s *sight) now() []gang.Node {
	if len(s.freed) == 0 {
		return s.nodes
	}
	nodes := slices.Clone(s.nodes)
	for _, f := range s.freed {
		if i := slices.IndexFunc(nodes, func(n gang.Node) bool { return n.Name == f.node }); i >= 0 {
			nodes[i].Used = nodes[i].Used.Plus(f.size, -1)
		}
	}
	return nodes
}
