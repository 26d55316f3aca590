package session

import (
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// judgeSuccess reaches the verdict once all that the job waits for is done.
func (s *Session) judgeSuccess() {
	if s.verdict != nil || s.epoch.number == 0 || s.restart != nil || s.firstFailure() != nil {
		return
	}
	if !s.mainIsDone() {
		return
	}
	if until := s.lingerUntil(); s.now.Before(until) {
		return
	}
	if t := s.unforgiven(); t != nil {
		s.conclude(s.outcomeOf(t, "the rest of the job went on"))
		return
	}
	s.conclude(event.Outcome{State: event.Succeeded, Origin: "task", Text: "all tasks that the job waits for succeeded"})
}

// mainIsDone says that a role that ends the job is done, or, where there is
// none, every role that is waited for.
func (s *Session) mainIsDone() bool {
	ends, waits, all := false, false, true
	for i := range s.plan.Roles {
		r := &s.plan.Roles[i]
		if r.EndsJob {
			ends = true
			if s.roleDone(r.Name) {
				return true
			}
		}
		if r.Wait {
			waits = true
			all = all && s.roleDone(r.Name)
		}
	}
	if ends {
		return false
	}
	if !waits {
		for i := range s.plan.Roles {
			all = all && s.roleDone(s.plan.Roles[i].Name)
		}
	}
	return all
}

// roleDone says that every task of a role has ended for good.
func (s *Session) roleDone(name string) bool {
	ran, done := false, true
	s.each(func(t *task) {
		if t.role.Name == name && !t.absent {
			ran = ran || t.incarnation > 0
			done = done && s.final(t)
		}
	})
	return ran && done
}

// roleSucceeded says that a role is done and that what failed of it is forgiven.
func (s *Session) roleSucceeded(name string) bool {
	r := s.plan.Role(name)
	return s.roleDone(name) && (r.OnFailure == spec.FailureIgnore || s.failures(r) <= s.forgiven(r))
}

// judgeStages ends the job when a stage can never be reached because the role
// that it waits for is done without success.
func (s *Session) judgeStages() {
	if s.verdict != nil || s.restart != nil {
		return
	}
	stage := s.stage()
	for i := range s.plan.Roles {
		r := &s.plan.Roles[i]
		if r.Stage != stage+1 {
			continue
		}
		for _, a := range r.After {
			if a.Is != spec.Succeeded || !s.roleDone(a.Role) || s.roleSucceeded(a.Role) {
				continue
			}
			if t := s.firstOf(func(t *task) bool { return t.role.Name == a.Role && t.exit.Failed() }); t != nil {
				s.conclude(s.outcomeOf(t, r.Name+" could not start without it"))
			}
		}
	}
}

// doneAt is when the last task of the main roles ended.
func (s *Session) doneAt() time.Time {
	var at time.Time
	s.each(func(t *task) {
		if (t.role.EndsJob || t.role.Wait) && t.phase == exited && t.exitedAt.After(at) {
			at = t.exitedAt
		}
	})
	return at
}

// lingerUntil is how long roles that may linger hold up the verdict; zero if
// none still runs.
func (s *Session) lingerUntil() time.Time {
	var until time.Time
	s.each(func(t *task) {
		if t.role.Linger != nil && t.active() && t.stopping == nil {
			if at := s.doneAt().Add(time.Duration(t.role.Linger.For)); at.After(until) {
				until = at
			}
		}
	})
	return until
}

// unforgiven is the first failure of a tolerant role that forgives none: the
// rest went on, but the job has failed.
func (s *Session) unforgiven() *task {
	return s.firstOf(func(t *task) bool {
		return t.role.OnFailure == spec.FailureTolerate && t.role.MaxFailures == (spec.Failures{}) && t.exit.Failed()
	})
}

// firstOf is the ended task that ended first among those that match.
func (s *Session) firstOf(match func(*task) bool) *task {
	var first *task
	s.each(func(t *task) {
		if t.phase == exited && !t.restarted && match(t) && (first == nil || before(t.exit, first.exit)) {
			first = t
		}
	})
	return first
}

// startable says whether a held task may start now, and if not, why.
func (s *Session) startable(t *task) (bool, string) {
	if s.roster == nil || s.roster.Epoch != s.epoch.number || s.roster.Member(t.id) == nil {
		return false, "the roll call"
	}
	for _, a := range t.role.After {
		for _, o := range s.order {
			if o.id.Role != a.Role || o.absent {
				continue
			}
			ok := s.final(o)
			switch a.Is {
			case spec.Started:
				ok = ok || o.phase == running
			case spec.Ready:
				ok = ok || o.phase == running && o.ready
			case spec.Succeeded:
				ok = s.roleSucceeded(a.Role)
			}
			if !ok {
				return false, o.id.String() + " to be " + string(a.Is)
			}
		}
	}
	if s.opt.Ready != nil {
		return s.opt.Ready(s.plan, s.roster, t.id, func(id plan.TaskID) bool {
			o := s.tasks[id]
			return o != nil && o.phase == running && o.ready
		})
	}
	return true, ""
}
