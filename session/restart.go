package session

import (
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// fastFailure is how soon after its start an incarnation must fail to count as
// one that cannot work; such failures are started again more and more slowly.
const fastFailure = 2 * time.Second

func restartDelay(fast int) time.Duration {
	if fast <= 1 {
		return 0
	}
	return min(time.Second<<min(fast-2, 5), 30*time.Second)
}

// spentKey names the purse that pays for a restart: the task's own, its
// role's, or the job's.
func spentKey(id plan.TaskID, r *plan.Role) string {
	switch r.RestartScope {
	case spec.ScopeJob:
		return ""
	case spec.ScopeRole:
		return id.Role
	}
	return id.String()
}

func (s *Session) restartsLeft(t *task) int { return t.role.Restarts - s.spent[spentKey(t.id, t.role)] }

// lostMost is how many restarts infrastructure gives for nothing: a job that
// itself ruins the nodes it runs on must not do so for ever.
const lostMost = 10

// free says that a restart after t's end costs none: what ran there did nothing
// wrong.
func (s *Session) free(t *task) bool {
	return t.exit.Blameless && s.lost[spentKey(t.id, t.role)] < lostMost
}

// inScope are the tasks that start again with t.
func (s *Session) inScope(t *task, scope spec.Scope) []plan.TaskID {
	return s.chosen(func(o *task) bool {
		switch scope {
		case spec.ScopeJob:
			return o.incarnation > 0 && o.role.Stage == t.role.Stage
		case spec.ScopeRole:
			return o.role == t.role && o.incarnation > 0
		}
		return o == t
	})
}

// decideRestart says what starts again because t failed.
func (s *Session) decideRestart(t *task, left int, free bool) {
	tasks := s.inScope(t, t.role.RestartScope)
	s.emit(&event.RestartDecided{Cause: t.id, Scope: string(t.role.RestartScope), Tasks: tasks, Left: left, Exit: t.exit, Free: free})
	for _, id := range tasks {
		s.stopTask(s.tasks[id], "restart because "+s.describe(t, t.exit), false)
	}
}
