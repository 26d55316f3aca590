package gang

import (
	"slices"
	"time"
)

// sight is what a view amounts to.
type sight struct {
	self   *Member
	others []Member // alive, without self, in the order of their tickets
	blind  string   // why the view cannot be relied upon
	unseen string   // why nothing can be said yet
}

// judge makes members of applications. Who is not running has no rank (rule R4),
// nor has a gathering one whose ticket file nobody refreshed for Dead. The times
// of ticket files are compared with themselves only: a file counts as refreshed
// when its time changes, so that no two clocks need to agree.
func (s *State) judge(app string, v View, t Times, now time.Time) sight {
	if v.At.IsZero() {
		return sight{unseen: "no look-up yet"}
	}
	fresh := s.taken.Before(v.At)
	s.taken = v.At
	known := map[string]*Application{}
	for i := range v.Applications {
		known[v.Applications[i].ID] = &v.Applications[i]
	}
	seen := map[string]stamp{}
	var out sight
	for i := range v.Applications {
		a := &v.Applications[i]
		if a.State != Running || a.Launched.IsZero() {
			continue
		}
		if !a.Stamp.IsZero() {
			last, ok := s.stamps[a.ID]
			if !ok || fresh && !last.value.Equal(a.Stamp) {
				last = stamp{value: a.Stamp, at: now, moved: ok}
			}
			seen[a.ID] = last
		}
		m := Member{Ticket: Claim(*a, known[a.First]), App: a.ID, Job: a.Job, User: a.User, Queue: a.Queue, Partitions: a.Partitions, Launched: a.Launched, away: a.Away}
		if a.ID == app {
			out.self = &m
			continue
		}
		if a.Stamp.IsZero() {
			m.Gathering, m.proved = a.Visible && a.Progress == 0, true
			if !a.Visible && !v.Tickets {
				out.blind = "neither the progress of " + a.ID + " nor its ticket can be read"
			}
		} else {
			m.proved = seen[a.ID].moved
			m.Gathering = now.Sub(seen[a.ID].at) < t.Dead && (!a.Visible || a.Progress == 0)
		}
		out.others = append(out.others, m)
	}
	s.stamps = seen
	slices.SortFunc(out.others, Member.compare)
	switch {
	case !v.Reports:
		out.blind = "the resource manager's reports cannot be read"
	case now.Sub(v.At) > t.Stale:
		out.blind = "the last look-up is " + now.Sub(v.At).Round(time.Second).String() + " old"
	case out.self == nil:
		out.unseen = "the resource manager does not show this application as running yet"
	}
	return out
}

// rivals are the other gathering members that ask where this one asks.
func (v sight) rivals() []Member {
	if v.self == nil {
		return nil
	}
	var out []Member
	for _, m := range v.others {
		if m.Gathering && m.meets(*v.self) {
			out = append(out, m)
		}
	}
	return out
}

// holders counts the complete gangs that ask where this one asks.
func (v sight) holders() int {
	n := 0
	for _, m := range v.others {
		if !m.Gathering && v.self != nil && m.meets(*v.self) {
			n++
		}
	}
	return n
}
