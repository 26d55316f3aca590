package session

import (
	"cmp"
	"slices"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
)

// Evolve applies one fact. It is the only change of a session's state, takes
// every fact as true and decides nothing.
func (s *Session) Evolve(e event.Event) {
	s.seq = e.Seq
	switch b := e.Body.(type) {
	case *event.JobSubmitted:
		s.evolveSubmitted(b, e)
	case *event.TermOpened:
		s.term = b.Term
	case *event.SlotsRequested, *event.JobWaiting, *event.SlotGranted, *event.RequestRefused,
		*event.ExecutorStarted, *event.SlotReleased, *event.SlotGone:
		s.evolveSlot(b, e)
	case *event.JobWarned:
		s.warned = append(s.warned, b.Text)
	case *event.EpochOpened:
		s.evolveEpoch(b, e)
	case *event.RosterCompleted:
		s.roster = b.Roster
		s.roster.MakeIndex(s.plan) // one from the journal has none
	case *event.RestartDecided:
		s.evolveRestart(b, e)
	case *event.PreemptionAnnounced, *event.PreemptionWithdrawn:
		s.evolvePreempted(b)
	case *event.SignalRequested:
		sg := &signal{SignalRequested: *b, pending: map[plan.TaskID]bool{}}
		for _, id := range b.Tasks {
			sg.pending[id] = true
		}
		s.signals[b.Request] = sg
	case *event.SignalSent:
		if sg := s.signals[b.Request]; sg != nil {
			delete(sg.pending, b.Task)
		}
	case *event.StopRequested:
		if s.stop == nil {
			stop := *b
			s.stop = &stop
		} else {
			s.stop.Now = s.stop.Now || b.Now
		}
	case *event.VerdictReached:
		s.verdict, s.judged = &b.Outcome, e.At
	case *event.JobFinished:
		s.finished, s.ended = &b.Outcome, e.At
	default:
		s.evolveTask(e)
	}
}

func (s *Session) evolveSubmitted(b *event.JobSubmitted, e event.Event) {
	s.plan, s.by, s.submitted = b.Plan, b.By, e.At
	for i := range b.Plan.Roles {
		r := &b.Plan.Roles[i]
		for n := range r.Instances.Max {
			id := plan.TaskID{Role: r.Name, Index: n}
			t := &task{id: id, role: r}
			s.tasks[id] = t
			s.order = append(s.order, t)
		}
	}
}

func (s *Session) evolveSlot(b event.Body, e event.Event) {
	switch b := b.(type) {
	case *event.SlotsRequested:
		r := &request{SlotsRequested: *b, at: e.At, granted: map[plan.TaskID]string{}}
		if b.Minimum == 0 {
			r.enough = e.At
		}
		s.requests[b.Request] = r
	case *event.JobWaiting:
		if r := s.requests[b.Request]; r != nil {
			r.reasons = b.Reasons
		}
	case *event.RequestRefused:
		if r := s.requests[b.Request]; r != nil {
			r.refused = b.Reason
		}
	case *event.SlotGranted:
		t, r := s.tasks[b.Task], s.requests[b.Request]
		sl := &slot{SlotGranted: *b, task: t}
		s.slots[b.Slot], s.sorted = sl, nil
		if t == nil || r == nil || r.complete || s.live(t) != nil {
			return // surplus; fillGang releases it
		}
		t.slot, t.held = b.Slot, sl
		r.granted[b.Task] = b.Slot
		if len(r.granted) >= r.Minimum && r.enough.IsZero() {
			r.enough = e.At
		}
	case *event.ExecutorStarted:
		if sl := s.slots[b.Slot]; sl != nil {
			sl.started = true
			if b.Control != "" {
				sl.control = b.Control
			}
			if b.Native != nil {
				sl.native = b.Native
			}
		}
	case *event.SlotReleased:
		if sl := s.slots[b.Slot]; sl != nil {
			if sl.released.IsZero() {
				sl.released, sl.reason = e.At, b.Reason
			}
			sl.now = sl.now || b.Now
		}
	case *event.SlotGone:
		if sl := s.slots[b.Slot]; sl != nil {
			sl.gone = true
			delete(s.slots, b.Slot)
			s.sorted = nil
			s.explain(sl.task, b)
		}
	}
}

// explain puts the backend's word on why a slot went in place of its executor's,
// which knew only that it was told to end.
func (s *Session) explain(t *task, b *event.SlotGone) {
	if t == nil || t.slot != b.Slot || t.phase != exited || t.restarted || t.exit.Class != event.ClassLost || b.Class == event.ClassNone {
		return
	}
	t.exit.Class, t.exit.Text, t.exit.Blameless, t.exit.Signal = b.Class, b.Reason, b.Blameless, ""
	if b.Status != 0 {
		t.exit.Status = b.Status
	}
}

func (s *Session) evolveEpoch(b *event.EpochOpened, e event.Event) {
	s.epoch = epoch{number: b.Epoch, reason: b.Reason, at: e.At}
	s.restart = nil
	for id, n := range b.Tasks {
		t := s.tasks[id]
		*t = task{id: t.id, role: t.role, phase: called, incarnation: n, epoch: b.Epoch, slot: t.slot, held: t.held, fast: t.fast,
			published: t.published}
	}
	for _, r := range s.requests {
		if r.complete || r.enough.IsZero() {
			continue
		}
		r.complete = true
		for _, id := range r.Tasks {
			s.tasks[id].absent = r.granted[id] == ""
		}
	}
	for _, sl := range s.slots {
		if t := s.tasks[sl.Task]; t.slot == sl.Slot {
			sl.accepted = true
		}
	}
}

// evolveRestart forgets incarnations that had not started: the next epoch calls
// them again. Those that run are stopped first.
func (s *Session) evolveRestart(b *event.RestartDecided, e event.Event) {
	r := &restart{RestartDecided: *b, at: e.At, asked: len(s.requests)}
	cause := s.tasks[b.Cause]
	switch {
	case b.Requeue != "":
		s.requeued[b.Requeue] = true
	case cause == nil:
	case b.Exit.Class == event.ClassPreempted:
		s.taken++
	case b.Free:
		s.lost[spentKey(b.Cause, cause.role)]++
	default:
		s.spent[spentKey(b.Cause, cause.role)]++
		if e.At.Sub(cause.started) < fastFailure {
			cause.fast++
		} else {
			cause.fast = 0
		}
		r.at = e.At.Add(restartDelay(cause.fast))
	}
	if s.restart != nil { // one more failure before the next epoch: both are answered by it
		known := make(map[plan.TaskID]bool, len(s.restart.Tasks))
		for _, id := range s.restart.Tasks {
			known[id] = true
		}
		r.Tasks = slices.Concat(s.restart.Tasks, slices.DeleteFunc(slices.Clone(b.Tasks), func(id plan.TaskID) bool { return known[id] }))
		if s.restart.at.After(r.at) {
			r.at = s.restart.at
		}
		// What was wanted before stays wanted.
		r.Requeue, r.asked = cmp.Or(r.Requeue, s.restart.Requeue), max(r.asked, s.restart.asked)
	}
	s.restart = r
	for _, id := range b.Tasks {
		t := s.tasks[id]
		t.restarted = true
		if t.phase == called || t.phase == held {
			t.phase = idle
		}
	}
}

func (s *Session) evolveTask(e event.Event) {
	switch b := e.Body.(type) {
	case *event.TaskRegistered:
		if t := s.at(b.Task, b.Incarnation); t != nil && t.phase == called {
			t.phase, t.registered = held, *b
		}
	case *event.TaskStarted:
		if t := s.at(b.Task, b.Incarnation); t != nil && t.active() {
			t.phase, t.started, t.pids = running, e.At, b.PIDs
			if s.ran.IsZero() {
				s.ran = e.At
			}
		}
	case *event.TaskReady:
		if t := s.at(b.Task, b.Incarnation); t != nil {
			t.ready = true
		}
	case *event.TaskStopping:
		if t := s.at(b.Task, b.Incarnation); t != nil {
			if t.stopping == nil {
				t.stopAt = e.At
			}
			t.stopping = b
		}
	case *event.TaskExited:
		if t := s.at(b.Task, b.Incarnation); t != nil && t.active() {
			t.phase, t.exit, t.exitedAt = exited, b.Exit, e.At
		}
	case *event.TaskPublished:
		if t := s.tasks[b.Task]; t != nil {
			if t.published == nil {
				t.published = map[string]string{}
			}
			t.published[b.Key] = b.Value
		}
	case *event.ProgressReported:
		for id, p := range b.Tasks {
			if t := s.tasks[id]; t != nil {
				t.progress = &p
			}
		}
	}
}

// at returns the task if n is its newest incarnation.
func (s *Session) at(id plan.TaskID, n int) *task {
	if t := s.tasks[id]; t != nil && t.incarnation == n {
		return t
	}
	return nil
}
