package yarn

import (
	"cmp"
	"fmt"
	"slices"
)

// nodes says what no node can hold, and whether the rest is worth asking.
func (w *why) nodes(l lack) bool {
	machines := w.Cluster.machines(l.label, true)
	if len(machines) == 0 {
		away := len(w.Cluster.machines(l.label, false))
		w.add(reasonLabel, map[string]float64{"running": 0, "away": float64(away)}, "muster doctor --on yarn counts the nodes; an administrator starts or labels them",
			"%s: no node%s runs; away: %d", l.text(), with(l.label), away)
		return false
	}
	if w.queue != nil {
		if !reaches(w.queue, l.label) || nothing(w.queue, l.label) {
			w.add(reasonLabel, nil, "submit it to another queue, or ask an administrator for a capacity of that label",
				"queue %s has nothing of the nodes with the label %s", w.Queue, l.label)
			return false
		}
	}
	fits := true
	for _, n := range l.wants {
		if slices.ContainsFunc(machines, func(m machine) bool { return w.counted(n.size).Fits(m.Total) }) {
			continue
		}
		fits = false
		var largest Size
		for _, m := range machines {
			for _, name := range parts(n.size) {
				largest = largest.With(name, max(largest.Get(name), m.Total.Get(name)))
			}
		}
		names := parts(w.counted(n.size))
		w.add(reasonNodeSize, numbers(map[string]Size{"asked": n.size, "largest": largest}, names), "submit it again with smaller tasks, or wait for a larger node",
			"%s asks for %s on one node, the largest that runs has %s%s", n.what, only(n.size, names), only(largest, names), in(l.label))
	}
	return fits
}

// room compares what is lacked with what is free at present.
func (w *why) room(l lack) {
	machines := w.Cluster.machines(l.label, true)
	var free, total Size
	for _, m := range machines {
		free, total = free.Add(positive(m.free())), total.Add(m.Total)
	}
	need := w.counted(l.total)
	if !need.Fits(free) {
		names := slices.DeleteFunc(parts(need), func(name string) bool { return need.Get(name) <= free.Get(name) })
		w.add(reasonFull, numbers(map[string]Size{"asked": l.total, "free": free, "total": total}, names), "wait until other jobs have ended; a smaller gang may start sooner",
			"%s need %s; free: %s of %s%s", l.text(), only(l.total, names), only(free, names), only(total, names), in(l.label))
		return
	}
	fit, asked := pour(l.wants, machines, w.counted)
	if fit == asked {
		return
	}
	names := parts(need)
	n := numbers(map[string]Size{"asked": l.total, "free": free}, names)
	n["fit"], n["wanted"] = float64(fit), float64(asked)
	w.add(reasonFragments, n, "wait until jobs have ended; smaller tasks fit into smaller gaps",
		"%s are free%s, but in pieces: %d of %s fit on the nodes as they are (%s)", only(free, names), in(l.label), fit, tasks(asked), l.text())
}

// with names a partition after a node.
func with(label string) string {
	if label == "" {
		return ""
	}
	return " with the label " + label
}

func tasks(n int) string {
	if n == 1 {
		return "1 task"
	}
	return fmt.Sprintf("%d tasks", n)
}

func positive(s Size) Size {
	for _, name := range s.Names() {
		s = s.With(name, max(0, s.Get(name)))
	}
	return s
}

// pour puts wants onto the free room of nodes, the largest first, and says how
// many found room.
func pour(wants []want, machines []machine, counted func(Size) Size) (placed, asked int) {
	var free []Size
	for _, m := range machines {
		free = append(free, positive(m.free()))
	}
	order := slices.Clone(wants)
	slices.SortStableFunc(order, func(a, b want) int {
		return cmp.Or(cmp.Compare(b.size.Get(GPU), a.size.Get(GPU)), cmp.Compare(b.size.Memory, a.size.Memory), cmp.Compare(b.size.VCores, a.size.VCores))
	})
	for _, n := range order {
		asked += n.count
		for range n.count {
			at := slices.IndexFunc(free, func(f Size) bool { return counted(n.size).Fits(f) })
			if at < 0 {
				break
			}
			free[at] = free[at].Sub(counted(n.size))
			placed++
		}
	}
	return placed, asked
}
