package gang

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// count is how many slots of each class are held.
func count(held []Slot) map[string]int {
	out := map[string]int{}
	for _, h := range held {
		out[h.Class]++
	}
	return out
}

// lacking are the classes below their minimum; nil if there is none.
func (d *decider) lacking() []Class {
	var out []Class
	for _, c := range d.in.Need {
		if d.held[c.Name] < c.Minimum {
			out = append(out, c)
		}
	}
	return out
}

// progress is what is held, for people.
func (d *decider) progress() string {
	var parts []string
	for _, c := range d.in.Need {
		if c.Minimum > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d %s", min(d.held[c.Name], c.Minimum), c.Minimum, c.Name))
		}
	}
	return strings.Join(parts, ", ")
}

// want asks for what is missing up to a number for each class.
func (d *decider) want(up func(Class) int) {
	d.out.Ask = map[string]int{}
	for _, c := range d.in.Need {
		if n := up(c) - d.held[c.Name]; n > 0 {
			d.out.Ask[c.Name] = n
		}
	}
}

// keep keeps up to a number of each class, those that lie closest together, and
// gives the others back.
func (d *decider) keep(up func(Class) int) {
	limit := map[string]int{}
	for _, c := range d.in.Need {
		limit[c.Name] = up(c)
	}
	keep, surplus := Choose(limit, d.in.Held)
	for _, h := range surplus {
		d.out.Release = append(d.out.Release, h.ID)
	}
	d.out.Keep = Order(keep)
}

// exchange gives back slots in which nothing was started before the resource
// manager takes them back by itself. They are asked for again at once.
func (d *decider) exchange() {
	if d.in.Times.Expiry <= 0 {
		return
	}
	var rest []Slot
	for _, h := range d.in.Held {
		if !h.Started && d.now.Sub(h.At) >= d.in.Times.Expiry {
			d.out.Release = append(d.out.Release, h.ID)
			continue
		}
		rest = append(rest, h)
	}
	d.in.Held, d.held = rest, count(rest)
}

// minimal is the smallest form of the gang, without what held has of it.
func (d *decider) minimal(held map[string]int) []Class {
	var out []Class
	for _, c := range d.in.Need {
		if n := c.Minimum - held[c.Name]; n > 0 {
			c.Minimum = n
			out = append(out, c)
		}
	}
	return out
}

// unlock notices that the gang's own slots stand in its way: what it lacks fits
// nowhere, but all of it would if it stood elsewhere. After Try it gives back
// everything, a lapsed gang its running tasks too, and from then on asks node by
// node.
func (d *decider) unlock() bool {
	if len(d.in.Need) < 2 || d.in.Nodes == nil {
		return false
	}
	if len(d.in.Held) == 0 {
		d.stuck = time.Time{}
		return false
	}
	now := d.room.beside(d.in.Held)
	if p := pack(d.minimal(d.held), now); p.fits || !p.sure {
		d.stuck = time.Time{}
		return false
	}
	if !pack(d.minimal(nil), d.room.with(d.in.Need, d.in.Held)).fits {
		d.stuck = time.Time{}
		return false
	}
	if d.stuck.IsZero() {
		d.stuck = d.now
	}
	if d.now.Sub(d.stuck) < d.in.Times.Try {
		return false
	}
	at := d.room.with(d.in.Need, d.in.Held)
	d.wait(CodeFragmented, fmt.Sprintf("held %s, which left no room for the rest: gave all back and asks node by node", d.progress()), nil)
	d.giveBack()
	d.plan = true
	d.held, d.in.Held, d.room = map[string]int{}, nil, at
	d.want(func(c Class) int { return c.Minimum })
	d.direct()
	return true
}

// direct says where the outstanding slots shall be, if that has to be said.
func (d *decider) direct() {
	if !d.plan {
		return
	}
	if p := pack(d.minimal(d.held), d.room.beside(d.in.Held)); p.fits {
		d.out.Where = p.where
	}
}

// Choose keeps at most limit slots of each class, and of those as many together
// as possible: first the running ones, then those on the nodes, then in the
// racks, where most of the gang is.
func Choose(limit map[string]int, held []Slot) (keep, surplus []Slot) {
	onNode, inRack := map[string]int{}, map[string]int{}
	for _, h := range held {
		onNode[h.Node]++
		inRack[h.Rack]++
	}
	sorted := slices.Clone(held)
	slices.SortStableFunc(sorted, func(a, b Slot) int {
		return cmp.Or(first(a.Started, b.Started), cmp.Compare(inRack[b.Rack], inRack[a.Rack]), cmp.Compare(onNode[b.Node], onNode[a.Node]),
			cmp.Compare(a.Rack, b.Rack), cmp.Compare(a.Node, b.Node), compareID(a.ID, b.ID))
	})
	taken := map[string]int{}
	for _, h := range sorted {
		if taken[h.Class] < limit[h.Class] {
			taken[h.Class]++
			keep = append(keep, h)
		} else {
			surplus = append(surplus, h)
		}
	}
	return keep, surplus
}

// Order sorts slots for ranks: by class, and within it the rack, then the node
// with most of them first, so that neighbours in rank are neighbours in place.
func Order(held []Slot) []Slot {
	type place struct{ class, at string }
	onNode, inRack := map[place]int{}, map[place]int{}
	for _, h := range held {
		onNode[place{h.Class, h.Node}]++
		inRack[place{h.Class, h.Rack}]++
	}
	out := slices.Clone(held)
	slices.SortStableFunc(out, func(a, b Slot) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class),
			cmp.Compare(inRack[place{b.Class, b.Rack}], inRack[place{a.Class, a.Rack}]), cmp.Compare(a.Rack, b.Rack),
			cmp.Compare(onNode[place{b.Class, b.Node}], onNode[place{a.Class, a.Node}]), cmp.Compare(a.Node, b.Node),
			compareID(a.ID, b.ID))
	})
	return out
}

func first(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}
