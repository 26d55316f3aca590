package plan

import (
	"cmp"
	"iter"
	"slices"
)

// Registration is one task's answer to a roll call, or the standing of a
// survivor that needs not answer.
type Registration struct {
	Task        TaskID
	Incarnation int
	Node        string
	Rack        string
	Host        string
	Control     string
	Ports       map[string]int
	Devices     []string
	// Survivor says that the task runs, or ended well, under the last roster:
	// its place there cannot change any more.
	Survivor bool
}

// BuildRoster ends a roll call. Ranks follow three rules:
//
//   - Counted roles come in the plan's order, and rank 0 is always task 0 of
//     the first of them: the program's master sits where its author expects it.
//   - Within a role, tasks on one node are neighbours, then those in one rack.
//     Nodes and racks are ordered by the lowest index they hold.
//   - A survivor keeps its ranks, since a running process cannot be told new
//     ones. A newcomer takes the ranks that its task had before if they are
//     free, else the first free ones. Only a job that shrank around survivors
//     has gaps.
//
// Each stage has ranks of its own: a job that prepares data and then trains
// must not train with the finished preparation's ranks missing for ever.
// LocalRank counts the counted processes of one node within a stage, whatever
// tasks they belong to. Framework variables may count otherwise and say so.
func BuildRoster(p *Plan, epoch int, reason string, present []Registration, last *Roster) *Roster {
	ro := &Roster{Job: p.ID, Epoch: epoch, Reason: reason}
	var counted, others []Member
	survivor := map[TaskID]bool{}
	for _, g := range inOrder(p, present) {
		role := p.Role(g.Task.Role)
		if role == nil {
			continue // not of this job
		}
		m := Member{
			Task: g.Task, Incarnation: g.Incarnation, Node: g.Node, Rack: g.Rack, Host: g.Host, Control: g.Control,
			Ports: g.Ports, Devices: g.Devices, Procs: role.Procs, Rank: -1, GroupRank: -1, LocalRank: -1,
		}
		survivor[g.Task] = g.Survivor
		if role.Counted {
			counted = append(counted, m)
		} else {
			others = append(others, m)
		}
	}
	for stage := 0; len(counted) > 0; stage++ {
		var now, later []Member
		for _, m := range counted {
			if p.Role(m.Task.Role).Stage <= stage {
				now = append(now, m)
			} else {
				later = append(later, m)
			}
		}
		counted = later
		if len(now) == 0 {
			continue
		}
		ro.World = rank(now, survivor, last)
		ro.Members = append(ro.Members, now...)
	}
	ro.Members = append(ro.Members, others...)
	ro.MakeIndex(p)
	return ro
}

// inOrder sorts registrations as a first roll call would rank them.
func inOrder(p *Plan, present []Registration) []Registration {
	role := map[string]int{}
	for i, r := range p.Roles {
		role[r.Name] = i
	}
	// The lowest index of a role in each rack and, within it, on each node.
	type place struct{ role, rack, node string }
	lowest := map[place]int{}
	note := func(pl place, index int) {
		if n, ok := lowest[pl]; !ok || index < n {
			lowest[pl] = index
		}
	}
	rack := func(g *Registration) place { return place{role: g.Task.Role, rack: g.Rack} }
	node := func(g *Registration) place { return place{g.Task.Role, g.Rack, "node " + g.Node} }
	for i := range present {
		note(rack(&present[i]), present[i].Task.Index)
		note(node(&present[i]), present[i].Task.Index)
	}
	type entry struct {
		key [4]int
		reg Registration
	}
	entries := make([]entry, len(present))
	for i := range present {
		g := &present[i]
		entries[i] = entry{[4]int{role[g.Task.Role], lowest[rack(g)], lowest[node(g)], g.Task.Index}, *g}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return slices.Compare(a.key[:], b.key[:]) })
	out := make([]Registration, len(entries))
	for i := range entries {
		out[i] = entries[i].reg
	}
	return out
}

// rank gives the members of one stage, which come in first order, their
// numbers, sorts them by rank and returns the size of their world.
func rank(ms []Member, survivor map[TaskID]bool, last *Roster) int {
	anySurvivor := slices.ContainsFunc(ms, func(m Member) bool { return survivor[m.Task] })
	old := func(m *Member) *Member {
		// Without survivors everybody starts anew, and ranks follow the nodes.
		if last == nil || !anySurvivor {
			return nil
		}
		if o := last.Member(m.Task); o != nil && o.Rank >= 0 {
			return o
		}
		return nil
	}
	var ranks, groups span
	local := map[string]*span{}
	for i := range ms {
		if local[ms[i].Node] == nil {
			local[ms[i].Node] = new(span)
		}
	}
	// Survivors first, then newcomers whose old place is free, then the rest.
	placed := make([]bool, len(ms))
	for _, survivors := range []bool{true, false} {
		for i := range ms {
			m, o := &ms[i], old(&ms[i])
			if o == nil || survivor[m.Task] != survivors || !ranks.free(o.Rank, m.Procs) || !groups.free(o.GroupRank, 1) {
				continue
			}
			m.Rank, m.GroupRank, placed[i] = o.Rank, o.GroupRank, true
			ranks.take(m.Rank, m.Procs)
			groups.take(m.GroupRank, 1)
			if survivors && local[m.Node].free(o.LocalRank, m.Procs) {
				m.LocalRank = o.LocalRank
				local[m.Node].take(m.LocalRank, m.Procs)
			}
		}
	}
	for i := range ms {
		m := &ms[i]
		if !placed[i] {
			m.Rank, m.GroupRank = ranks.first(m.Procs), groups.first(1)
			ranks.take(m.Rank, m.Procs)
			groups.take(m.GroupRank, 1)
		}
	}
	slices.SortStableFunc(ms, func(a, b Member) int { return cmp.Compare(a.Rank, b.Rank) })
	for i := range ms {
		if m := &ms[i]; m.LocalRank < 0 {
			m.LocalRank = local[m.Node].first(m.Procs)
			local[m.Node].take(m.LocalRank, m.Procs)
		}
	}
	return len(ranks.used)
}

// span is the numbers from 0 on that are taken.
type span struct {
	used []bool
	full int // everything below is taken
}

func (s *span) free(from, n int) bool {
	for i := from; i < from+n && i < len(s.used); i++ {
		if s.used[i] {
			return false
		}
	}
	return from >= 0
}

func (s *span) take(from, n int) {
	for len(s.used) < from+n {
		s.used = append(s.used, false)
	}
	for i := from; i < from+n; i++ {
		s.used[i] = true
	}
	for s.full < len(s.used) && s.used[s.full] {
		s.full++
	}
}

// first returns where n free numbers in a row begin.
func (s *span) first(n int) int {
	from := s.full
	for !s.free(from, n) {
		from++
	}
	return from
}

// Peers are the counted members that share a rank space with role: those of its
// stage, in rank order. None if the role is not counted. It copies nothing, as
// it is asked for every task of a job.
func (r *Roster) Peers(p *Plan, role string) iter.Seq[*Member] {
	return func(yield func(*Member) bool) {
		own := p.Role(role)
		if own == nil || !own.Counted {
			return
		}
		for i := range r.Members {
			m := &r.Members[i]
			if m.Rank < 0 {
				return // those without ranks come last
			}
			if other := p.Role(m.Task.Role); other != nil && other.Stage == own.Stage && !yield(m) {
				return
			}
		}
	}
}
