package session

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// settleTime is how long an elastic gang that has its minimum waits for more.
const settleTime = 2 * time.Second

// fillGang asks for the slots that are missing and gives back what is too much.
func (s *Session) fillGang() {
	for _, sl := range s.byID() {
		if sl.task.slot != sl.Slot && sl.released.IsZero() {
			s.release(sl, "more than needed", false)
		}
	}
	if s.verdict != nil {
		return
	}
	if s.restart != nil {
		if !s.busy(s.restart.Tasks) {
			s.ask(s.restart.Tasks, s.stage(), true, s.restart.Exit.Class == event.ClassPreempted)
		}
		return
	}
	stage := s.stage()
	for n := range stage + 1 {
		if !s.stageAsked(n) {
			var tasks []plan.TaskID
			s.each(func(t *task) {
				if t.role.Stage == n {
					tasks = append(tasks, t.id)
				}
			})
			s.ask(tasks, n, false, false)
		}
	}
}

// ask requests slots for those of the tasks that have none.
func (s *Session) ask(tasks []plan.TaskID, stage int, replace, preempted bool) {
	missing := slices.DeleteFunc(slices.Clone(tasks), func(id plan.TaskID) bool {
		return s.live(s.tasks[id]) != nil || s.asked(id)
	})
	if len(missing) == 0 {
		return
	}
	minimum := 0
	for i := range s.plan.Roles {
		r := &s.plan.Roles[i]
		want := 0
		for _, id := range missing {
			if id.Role == r.Name {
				want++
			}
		}
		minimum += min(want, max(0, r.Instances.Min-s.have(r)))
	}
	s.emit(&event.SlotsRequested{Request: len(s.requests) + 1, Stage: stage, Tasks: missing, Minimum: minimum, Replace: replace, Preempted: preempted})
}

// have counts the tasks of a role that hold a slot, or need none any more.
func (s *Session) have(r *plan.Role) int {
	n := 0
	s.each(func(t *task) {
		if t.role == r && (s.live(t) != nil || s.final(t)) {
			n++
		}
	})
	return n
}

func (s *Session) stageAsked(n int) bool {
	for _, r := range s.requests {
		if r.Stage == n && !r.Replace {
			return true
		}
	}
	return false
}

// stage is the highest stage whose conditions hold.
func (s *Session) stage() int {
	n := 0
	for {
		found, open := false, true
		for i := range s.plan.Roles {
			r := &s.plan.Roles[i]
			if r.Stage != n+1 {
				continue
			}
			found = true
			for _, a := range r.After {
				if a.Is == spec.Succeeded && !s.roleSucceeded(a.Role) {
					open = false
				}
			}
		}
		if !found || !open {
			return n
		}
		n++
	}
}

// asked says that a request for the task is open.
func (s *Session) asked(id plan.TaskID) bool {
	for _, r := range s.requests {
		if !r.complete && r.refused == "" && slices.Contains(r.Tasks, id) && r.granted[id] == "" {
			return true
		}
	}
	return false
}

// gathered says that no request still waits. One that has its minimum is waited
// for no longer than patience allows: then the gang goes on smaller.
func (s *Session) gathered() bool {
	for _, r := range s.requests {
		if !r.complete && r.refused == "" && len(r.granted) < len(r.Tasks) &&
			(r.enough.IsZero() || s.now.Before(r.enough.Add(s.patience(r)))) {
			return false
		}
	}
	return true
}

func (s *Session) patience(r *request) time.Duration {
	if r.Replace {
		return time.Duration(s.plan.Timing.ReplaceWait)
	}
	return settleTime
}

// openEpoch calls the roll of everybody who has a slot and no open incarnation.
func (s *Session) openEpoch() {
	if s.verdict != nil || !s.gathered() || !s.minimal() {
		return
	}
	if s.restart != nil && (s.busy(s.restart.Tasks) || s.now.Before(s.restart.at)) {
		return
	}
	waits := func(t *task) bool { return !t.active() && s.live(t) != nil && (t.phase == idle || t.restarted) }
	if s.restart == nil && !slices.ContainsFunc(s.order, waits) {
		return
	}
	tasks := map[plan.TaskID]int{}
	var survivors []plan.TaskID
	s.each(func(t *task) {
		switch {
		case t.active():
			survivors = append(survivors, t.id)
		case waits(t):
			tasks[t.id] = t.incarnation + 1
		}
	})
	s.emit(&event.EpochOpened{Epoch: s.epoch.number + 1, Reason: s.epochReason(), Tasks: tasks, Survivors: survivors})
}

// minimal says that every role that was asked for has as many slots as it must
// have.
func (s *Session) minimal() bool {
	for i := range s.plan.Roles {
		if r := &s.plan.Roles[i]; s.stageAsked(r.Stage) && s.have(r) < r.Instances.Min {
			return false
		}
	}
	return true
}

func (s *Session) epochReason() string {
	switch {
	case s.restart != nil && s.tasks[s.restart.Cause] == nil:
		return s.restart.Exit.Text
	case s.restart != nil:
		return s.describe(s.tasks[s.restart.Cause], s.restart.Exit)
	case s.epoch.number == 0:
		return "start"
	}
	return fmt.Sprintf("stage %d", s.stage())
}

// busy says that one of the tasks still has an open incarnation.
func (s *Session) busy(tasks []plan.TaskID) bool {
	return slices.ContainsFunc(tasks, func(id plan.TaskID) bool { return s.tasks[id].active() })
}

// completeRoster ends the roll call once everybody answered.
func (s *Session) completeRoster() {
	if s.verdict != nil || s.restart != nil || s.epoch.number == 0 || s.roster != nil && s.roster.Epoch == s.epoch.number {
		return
	}
	if slices.ContainsFunc(s.order, func(t *task) bool { return t.phase == called }) {
		return
	}
	var present []plan.Registration
	s.each(func(t *task) {
		switch t.phase {
		case held, running:
			present = append(present, s.registration(t))
		case exited:
			// A task that ended well keeps its place: ranks do not move.
			if t.epoch > 0 && !t.restarted && s.inRoster(t.id) {
				present = append(present, s.registration(t))
			}
		}
	})
	if len(present) == 0 {
		return
	}
	s.emit(&event.RosterCompleted{Roster: plan.BuildRoster(s.plan, s.epoch.number, s.epoch.reason, present, s.roster)})
}

func (s *Session) inRoster(id plan.TaskID) bool { return s.roster != nil && s.roster.Member(id) != nil }

func (s *Session) registration(t *task) plan.Registration {
	r := plan.Registration{Task: t.id, Incarnation: t.incarnation, Host: t.registered.Host,
		Control: t.registered.Control, Ports: t.registered.Ports}
	if sl := s.slots[t.slot]; sl != nil {
		r.Node, r.Rack, r.Devices = sl.Node, sl.Rack, sl.Devices
	} else if m := s.inOld(t.id); m != nil {
		r.Node, r.Rack, r.Devices = m.Node, m.Rack, m.Devices
	}
	r.Survivor = t.epoch < s.epoch.number
	return r
}

func (s *Session) inOld(id plan.TaskID) *plan.Member {
	if s.roster == nil {
		return nil
	}
	return s.roster.Member(id)
}
