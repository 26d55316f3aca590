package session

import (
	"slices"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// A task that is preempted has not failed. It is told before, may save and end
// with statusSaved, and goes on in a new epoch once slots are there again:
//
//	 Preempting            ends by itself, or is killed         slots are there
//	───────────▶ told ───────────────────────────────▶ preempted ──────────▶ called
//	     ▲        │ withdrawn                              │ then: stop
//	     └────────┘                                        ▼
//	                                                the job is preempted
//
// A world of ranks cannot go on without one of them, so all that would start
// again are told at the same time, and may save together.

// statusSaved is what a task ends with that was told of its preemption and saved.
const statusSaved = 75

// warning is what the newest incarnation of a task was told.
type warning struct {
	serial   int       // counts what was told
	deadline time.Time // zero: withdrawn
	reason   string
}

// stands says that the task still has to go.
func (w *warning) stands() bool { return w != nil && !w.deadline.IsZero() }

// takePreempting tells the tasks concerned that slots will be taken, or that they
// stay after all.
func (s *Session) takePreempting(in Preempting) {
	if s.verdict != nil {
		return
	}
	if in.Deadline.IsZero() {
		s.takeSpared(in.Slots)
		return
	}
	var slots []string
	concerned := map[plan.TaskID]bool{}
	for _, id := range in.Slots {
		if sl := s.slots[id]; sl != nil && sl.released.IsZero() && sl.taken.IsZero() {
			slots = append(slots, id)
			s.concerns(sl, concerned)
		}
	}
	if len(slots) == 0 {
		return
	}
	tasks := s.chosen(func(t *task) bool {
		return concerned[t.id] && (!t.warned.stands() || in.Deadline.Before(t.warned.deadline))
	})
	s.emit(&event.PreemptionAnnounced{Slots: slots, Tasks: tasks, Deadline: in.Deadline, Reason: in.Reason})
}

func (s *Session) takeSpared(ids []string) {
	var slots []string
	for _, id := range ids {
		if sl := s.slots[id]; sl != nil && !sl.taken.IsZero() && sl.released.IsZero() {
			slots = append(slots, id)
		}
	}
	if len(slots) == 0 {
		return
	}
	concerned := map[plan.TaskID]bool{}
	for _, sl := range s.byID() {
		if !sl.taken.IsZero() && !slices.Contains(slots, sl.Slot) {
			s.concerns(sl, concerned)
		}
	}
	// Who is to be started again anyway keeps the time that he was told.
	tasks := s.chosen(func(t *task) bool { return t.warned.stands() && !concerned[t.id] && !t.restarted })
	s.emit(&event.PreemptionWithdrawn{Slots: slots, Tasks: tasks})
}

// concerns adds the open incarnations that end with a slot.
func (s *Session) concerns(sl *slot, to map[plan.TaskID]bool) {
	t := sl.task
	if t.slot != sl.Slot || !t.active() {
		return
	}
	for _, id := range s.inScope(t, s.along(t)) {
		if s.tasks[id].active() {
			to[id] = true
		}
	}
}

// along is how much starts again with a preempted task: what its role says of a
// restart; where it never restarts by itself, the whole world of ranks, which
// tasks without a framework are not.
func (s *Session) along(t *task) spec.Scope {
	switch {
	case t.role.OnFailure == spec.FailureRestart:
		return t.role.RestartScope
	case t.role.OnFailure == spec.FailureStop && s.plan.Framework != "" && s.plan.Framework != plain:
		return spec.ScopeJob
	}
	return spec.ScopeTask
}

// plain is the framework whose tasks know nothing of each other.
const plain = "plain"

func (s *Session) chosen(match func(*task) bool) []plan.TaskID {
	var out []plan.TaskID
	s.each(func(t *task) {
		if match(t) {
			out = append(out, t.id)
		}
	})
	return out
}

// takeRequeue gives all slots back and asks for new ones: what runs is told as if
// it were preempted.
func (s *Session) takeRequeue(in Requeue) {
	if s.verdict != nil || s.stop != nil || s.requeued[in.Request] || s.restart != nil && s.restart.Requeue != "" {
		return
	}
	stages := map[int]bool{}
	s.each(func(t *task) {
		if t.active() || t.restarted {
			stages[t.role.Stage] = true
		}
	})
	tasks := s.chosen(func(t *task) bool {
		return t.incarnation > 0 && stages[t.role.Stage] && (!s.final(t) || s.along(t) != spec.ScopeTask)
	})
	if len(tasks) == 0 {
		return // it waits for slots as it is
	}
	grace := time.Duration(0)
	for _, id := range tasks {
		r := s.tasks[id].role
		grace = max(grace, time.Duration(r.StopGrace))
		if r.OnPreempt != nil {
			grace = max(grace, time.Duration(r.OnPreempt.Before))
		}
	}
	why := "requeued"
	if in.By != "" {
		why += " by " + in.By
	}
	why += suffix(in.Reason)
	told := s.chosen(func(t *task) bool { return t.phase == running && slices.Contains(tasks, t.id) })
	s.emit(&event.PreemptionAnnounced{Tasks: told, Deadline: s.now.Add(grace), Reason: why})
	s.emit(&event.RestartDecided{Scope: string(spec.ScopeJob), Tasks: tasks, Free: true, Requeue: in.Request,
		Exit: event.Exit{Class: event.ClassPreempted, Status: statusSaved, At: s.now, Text: why}})
}

// asPreempted sees the hand of a preemption in the end of a task that was told.
func (s *Session) asPreempted(t *task, x event.Exit) event.Exit {
	sl := s.slots[t.slot]
	taken := sl != nil && !sl.taken.IsZero()
	switch told := t.warned != nil; {
	case told && x.Class == event.ClassExit && x.Status == statusSaved:
		x.Text = "it had been told to make room, and saved"
	case told && x.Class == event.ClassSignal && t.role.OnPreempt != nil && x.Signal == "SIG"+t.role.OnPreempt.Signal:
		x.Text = "it ended by the signal that tells of a preemption"
	case taken && x.Class == event.ClassLost:
		x.Text = "its slot was taken away"
	default:
		return x
	}
	x.Class, x.Stopped, x.Symptom = event.ClassPreempted, false, false
	return x
}

// displaced says that a task was preempted and nothing was decided about it yet.
func (t *task) displaced() bool {
	return t.phase == exited && t.exit.Class == event.ClassPreempted && !t.restarted
}

// judgePreempted decides what becomes of preempted tasks. It costs no restart.
func (s *Session) judgePreempted() {
	if s.verdict != nil {
		return
	}
	t := s.firstOf((*task).displaced)
	if t == nil {
		return
	}
	if p := t.role.OnPreempt; p != nil && p.Then == spec.ThenStop {
		s.conclude(s.preempted(t, "roles."+t.id.Role+".on_preempt.then is stop"))
		return
	}
	scope := s.along(t)
	s.emit(&event.RestartDecided{Cause: t.id, Scope: string(scope), Tasks: s.inScope(t, scope), Left: max(0, s.restartsLeft(t)), Exit: t.exit, Free: true})
}

// preempted is the outcome of a job that cannot go on since t was preempted.
func (s *Session) preempted(t *task, note string) event.Outcome {
	x := t.exit
	return event.Outcome{State: event.Preempted, Status: statusSaved, Origin: "muster", Task: t.id, Class: event.ClassPreempted,
		Text: s.describe(t, x) + "; " + note, Hint: "submit it again when there is room", Exit: &x}
}

// urge ends what does not end by itself although it is to be started again. Who
// was told and may be saving has time until the deadline; a slot that is taken
// is ended by the backend.
func (s *Session) urge() {
	if s.restart == nil || s.verdict != nil {
		return
	}
	why := "restart because " + s.restart.Exit.Text
	if c := s.tasks[s.restart.Cause]; c != nil {
		why = "restart because " + s.describe(c, s.restart.Exit)
	}
	for _, id := range s.restart.Tasks {
		t := s.tasks[id]
		if !t.active() || t.stopping != nil {
			continue
		}
		if at := s.urgedAt(t); at.IsZero() || s.now.Before(at) {
			if sl := s.slots[t.slot]; !at.IsZero() || sl != nil && !sl.taken.IsZero() {
				continue
			}
		}
		s.stopTask(t, why, t.warned.stands() && signalled(t))
	}
}

// urgedAt is when a task that is to be started again is ended; zero: at once, or,
// in a slot that is taken, when the backend does.
func (s *Session) urgedAt(t *task) time.Time {
	if sl := s.slots[t.slot]; sl != nil && !sl.taken.IsZero() || !t.warned.stands() || !signalled(t) {
		return time.Time{}
	}
	return t.warned.deadline
}

// signalled says that the role's tasks hear of a preemption when it is announced.
func signalled(t *task) bool { return t.role.OnPreempt != nil && t.role.OnPreempt.Signal != "" }

// makeRoom gives back slots that are to go once nothing runs in them.
func (s *Session) makeRoom() {
	if s.verdict != nil {
		return
	}
	requeued := map[plan.TaskID]bool{}
	if s.restart != nil && s.restart.Requeue != "" {
		for _, id := range s.restart.Tasks {
			requeued[id] = true
		}
	}
	for _, sl := range s.byID() {
		t := sl.task
		switch {
		case t.slot != sl.Slot || t.active() || !sl.released.IsZero():
		case !sl.taken.IsZero() && (t.phase == exited || t.restarted):
			s.release(sl, "it makes room: its task has ended", false)
		case requeued[t.id] && sl.Request <= s.restart.asked && !s.busy(s.restart.Tasks):
			s.release(sl, s.restart.Exit.Text, false)
		}
	}
}

// evolvePreempted notes who was told what.
func (s *Session) evolvePreempted(b event.Body) {
	tell := func(ids []plan.TaskID, deadline time.Time, reason string) {
		for _, id := range ids {
			if t := s.tasks[id]; t != nil {
				w := &warning{serial: 1, deadline: deadline, reason: reason}
				if t.warned != nil {
					w.serial = t.warned.serial + 1
				}
				t.warned = w
			}
		}
	}
	take := func(ids []string, at time.Time) {
		for _, id := range ids {
			if sl := s.slots[id]; sl != nil {
				sl.taken = at
			}
		}
	}
	switch b := b.(type) {
	case *event.PreemptionAnnounced:
		take(b.Slots, b.Deadline)
		tell(b.Tasks, b.Deadline, b.Reason)
	case *event.PreemptionWithdrawn:
		take(b.Slots, time.Time{})
		tell(b.Tasks, time.Time{}, "")
	}
}
