package session

import (
	"slices"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// clearUp ends what is not needed any more, and seals the job once the verdict
// is reached and nothing of it is left.
func (s *Session) clearUp() {
	if s.verdict != nil {
		now := s.stop != nil && s.stop.Now
		s.each(func(t *task) {
			if t.phase == running {
				s.stopTask(t, s.verdict.Text, now)
			}
		})
	}
	s.hasten()
	again := map[*plan.Role]bool{}
	for i := range s.plan.Roles {
		again[&s.plan.Roles[i]] = s.mayRunAgain(&s.plan.Roles[i])
	}
	for _, sl := range s.byID() {
		s.clearSlot(sl, again)
	}
	if s.verdict == nil || len(s.slots) > 0 {
		return
	}
	s.each(func(t *task) { // called, but never got as far as a slot
		if t.active() {
			s.emit(&event.TaskExited{Task: t.id, Incarnation: t.incarnation,
				Exit: event.Exit{Class: event.ClassCancelled, Status: 143, At: s.now, Stopped: true}})
		}
	})
	s.emit(&event.JobFinished{Outcome: *s.verdict})
}

// hasten takes the slot of a task that did not end although it was told to.
func (s *Session) hasten() {
	s.each(func(t *task) {
		if sl := t.held; t.active() && t.stopping != nil && sl != nil && !sl.gone && !s.now.Before(s.stopEnds(t)) {
			s.release(sl, "it did not end when told to", true)
		}
	})
}

// clearSlot releases a slot that nobody needs, and gives up on one whose end
// the backend never confirms. again names the roles that may be started again.
func (s *Session) clearSlot(sl *slot, again map[*plan.Role]bool) {
	t := sl.task
	if !sl.released.IsZero() {
		if !s.now.Before(s.releaseEnds(sl)) {
			s.takeGone(Gone{Slot: sl.Slot, Class: event.ClassLost, Reason: "the end of its slot was never confirmed: " + sl.reason})
		}
		return
	}
	if t.slot != sl.Slot {
		return
	}
	switch {
	case s.verdict != nil && t.phase != running:
		s.release(sl, s.verdict.Text, false)
	case s.verdict == nil && !again[t.role] && s.final(t):
		s.release(sl, s.describe(t, t.exit), false)
	}
}

// mayRunAgain says that a failure of another task could start a task of the role
// again that has ended for good.
func (s *Session) mayRunAgain(r *plan.Role) bool {
	return slices.ContainsFunc(s.order, func(o *task) bool {
		if o.role.OnFailure != spec.FailureRestart || o.role.Stage != r.Stage || s.final(o) {
			return false
		}
		all := o.role.RestartScope == spec.ScopeJob || o.role.RestartScope == spec.ScopeRole && o.role == r
		return all && s.restartsLeft(o) > 0
	})
}
