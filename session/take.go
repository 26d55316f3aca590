package session

import (
	"fmt"
	"slices"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
)

// take turns one input into the facts that it says directly. What is old,
// repeated or about something unknown says nothing.
func (s *Session) take(in Input) {
	switch in := in.(type) {
	case Granted:
		if s.slots[in.Slot.Slot] == nil && s.requests[in.Slot.Request] != nil && s.tasks[in.Slot.Task] != nil {
			s.emit(&in.Slot)
		}
	case Waiting:
		if r := s.requests[in.Request]; r != nil && !r.complete && !slices.Equal(r.reasons, in.Reasons) {
			s.emit(&event.JobWaiting{Request: in.Request, Reasons: in.Reasons})
		}
	case Warned:
		if !slices.Contains(s.warned, in.Text) {
			s.emit(&event.JobWarned{Text: in.Text, Hint: in.Hint})
		}
	case Refused:
		if r := s.requests[in.Request]; r != nil && !r.complete && r.refused == "" {
			s.emit(&event.RequestRefused{Request: in.Request, Reason: in.Reason})
		}
	case Launched:
		s.takeLaunched(in)
	case Gone:
		s.takeGone(in)
	case Stop:
		if s.stop == nil || in.Now && !s.stop.Now {
			s.emit(&event.StopRequested{Reason: in.Reason, By: in.By, Class: event.ClassCancelled, Now: in.Now})
		}
	case Signal:
		s.takeSignal(in)
	case Signalled:
		if sl := s.slots[in.Slot]; sl != nil {
			if sg := s.signals[in.Request]; sg != nil && sg.pending[sl.Task] {
				s.emit(&event.SignalSent{Request: in.Request, Task: sl.Task, Error: in.Error})
			}
		}
	case Preempting:
		s.takePreempting(in)
	case Requeue:
		s.takeRequeue(in)
	case Progress:
		if len(in.Tasks) > 0 {
			s.emit(&event.ProgressReported{Tasks: in.Tasks})
		}
	case Linked:
		s.takeLinked(in)
	case Unlinked:
		s.lose(in.Slot, "its executor could not be reached any more")
	case Silent:
		s.lose(in.Slot, "its executor stopped answering")
	default:
		s.takeTask(in)
	}
}

func (s *Session) takeLaunched(in Launched) {
	sl := s.slots[in.Slot]
	switch {
	case sl == nil:
	case in.Err == "":
		// An executor may link before the backend says that it started it; what
		// finds it again after a takeover must be noted all the same.
		if !sl.started || sl.native == nil && in.Native != nil {
			s.emit(&event.ExecutorStarted{Slot: in.Slot, Native: in.Native})
		}
	case sl.started:
	default:
		if t := s.tasks[sl.Task]; t.slot == in.Slot && t.active() {
			s.exit(t, event.Exit{Class: event.ClassPrepare, Status: 126, At: s.now, Text: "its executor did not start: " + in.Err})
		}
		s.release(sl, "its executor did not start", true)
	}
}

// takeGone ends what was in the slot. A task that still ran there was lost,
// unless it was being stopped anyway.
func (s *Session) takeGone(in Gone) {
	sl := s.slots[in.Slot]
	if sl == nil {
		return
	}
	t := s.tasks[sl.Task]
	gone := &event.SlotGone{Slot: in.Slot}
	if sl.released.IsZero() { // else it ended because we wanted it to
		gone.Class, gone.Reason, gone.Status, gone.Blameless = in.Class, in.Reason, in.Status, in.Blameless
	}
	s.emit(gone)
	if t.slot != in.Slot || !t.active() {
		return
	}
	x := event.Exit{Class: in.Class, Status: in.Status, At: s.now, Text: in.Reason, Stopped: t.stopping != nil || s.verdict != nil, Blameless: in.Blameless}
	if x.Stopped {
		x.Class, x.Status, x.Text, x.Blameless = event.ClassCancelled, 143, sl.reason, false
	}
	if x.Class == event.ClassNone {
		x.Class = event.ClassLost
	}
	if x.Text == "" {
		x.Text = sl.reason
	}
	if x.Status == 0 {
		x.Status = 137
	}
	s.exit(t, x)
}

func (s *Session) takeSignal(in Signal) {
	if s.signals[in.Request] != nil {
		return
	}
	tasks := slices.Clone(in.Tasks)
	if len(tasks) == 0 {
		s.each(func(t *task) { tasks = append(tasks, t.id) })
	}
	tasks = slices.DeleteFunc(tasks, func(id plan.TaskID) bool {
		t := s.tasks[id]
		return t == nil || t.phase != running
	})
	s.emit(&event.SignalRequested{Request: in.Request, Signal: in.Signal, Tasks: tasks, By: in.By})
}

// takeLinked catches up with what an executor went through while no
// coordinator listened.
func (s *Session) takeLinked(in Linked) {
	sl := s.slots[in.Slot]
	if sl == nil {
		return
	}
	if !sl.started || in.Control != "" && sl.control != in.Control {
		s.emit(&event.ExecutorStarted{Slot: in.Slot, Control: in.Control})
	}
	if in.Incarnation == 0 {
		return
	}
	// What has run and ended meanwhile did start, and its logs are there.
	ran := in.Phase == "running" || len(in.PIDs) > 0
	if ran || in.Phase == "held" {
		s.takeTask(Registered{Slot: in.Slot, Incarnation: in.Incarnation, Host: in.Host, Ports: in.Ports})
	}
	if ran {
		s.takeTask(Started{Slot: in.Slot, Incarnation: in.Incarnation, PIDs: in.PIDs})
	}
	if in.Ready {
		s.takeTask(Ready{Slot: in.Slot, Incarnation: in.Incarnation})
	}
	if in.Exit != nil {
		s.takeTask(Exited{Slot: in.Slot, Incarnation: in.Incarnation, Exit: *in.Exit})
	}
}

// takeTask handles what executors say of their incarnation.
func (s *Session) takeTask(in Input) {
	switch in := in.(type) {
	case Registered:
		t := s.in(in.Slot, in.Incarnation)
		switch {
		case t == nil || t.phase != called:
		case in.Exit != nil:
			s.exit(t, *in.Exit)
		default:
			s.emit(&event.TaskRegistered{Task: t.id, Incarnation: t.incarnation, Slot: in.Slot, Host: in.Host,
				Control: s.slots[in.Slot].control, Ports: in.Ports})
		}
	case Started:
		if t := s.in(in.Slot, in.Incarnation); t != nil && t.phase == held {
			s.emit(&event.TaskStarted{Task: t.id, Incarnation: t.incarnation, PIDs: in.PIDs})
		}
	case Ready:
		if t := s.in(in.Slot, in.Incarnation); t != nil && t.active() && !t.ready {
			s.emit(&event.TaskReady{Task: t.id, Incarnation: t.incarnation})
		}
	case Exited:
		if t := s.in(in.Slot, in.Incarnation); t != nil && t.active() {
			s.exit(t, in.Exit)
		}
	case Published:
		if sl := s.slots[in.Slot]; sl != nil && s.tasks[sl.Task].published[in.Key] != in.Value {
			s.emit(&event.TaskPublished{Task: sl.Task, Key: in.Key, Value: in.Value})
		}
	}
}

// in returns the task that a slot holds if n is its newest incarnation.
func (s *Session) in(slot string, n int) *task {
	if sl := s.slots[slot]; sl != nil {
		if t := s.at(sl.Task, n); t != nil && t.slot == slot {
			return t
		}
	}
	return nil
}

// exit records the end of an incarnation. It is ours only if we had decided so.
func (s *Session) exit(t *task, x event.Exit) {
	x.Stopped = x.Stopped && (t.stopping != nil || s.verdict != nil && t.phase != running)
	if x.At.IsZero() {
		x.At = s.now
	}
	if s.verdict != nil && t.phase != running && x.Class == event.ClassLost {
		// Nothing of it ever ran: its executor ended because we released its slot.
		x = event.Exit{Class: event.ClassCancelled, Status: 143, At: x.At, Stopped: true, Text: s.verdict.Text}
	}
	if s.verdict == nil {
		x = s.asPreempted(t, x)
	}
	s.emit(&event.TaskExited{Task: t.id, Incarnation: t.incarnation, Exit: x})
}

// lose gives up a slot whose executor is out of reach. The task counts as lost
// only once the backend confirms the end: no twins.
func (s *Session) lose(id, why string) {
	sl := s.slots[id]
	if sl == nil || !sl.started {
		return
	}
	s.release(sl, why, true)
}

func (s *Session) release(sl *slot, why string, now bool) {
	if sl.released.IsZero() || now && !sl.now {
		s.emit(&event.SlotReleased{Slot: sl.Slot, Reason: why, Now: now})
	}
}

func (s *Session) stopTask(t *task, why string, now bool) {
	if t.active() && (t.stopping == nil || now && !t.stopping.Now) {
		s.emit(&event.TaskStopping{Task: t.id, Incarnation: t.incarnation, Reason: why, Now: now})
	}
}

func (s *Session) describe(t *task, x event.Exit) string {
	text, _ := x.Said()
	switch x.Class {
	case event.ClassNone:
		return fmt.Sprintf("%s succeeded", t.id)
	case event.ClassSignal:
		return fmt.Sprintf("%s was killed by %s", t.id, x.Signal)
	case event.ClassMemory:
		return fmt.Sprintf("%s ran out of memory%s", t.id, suffix(text))
	case event.ClassExit:
		return fmt.Sprintf("%s exited with %d%s", t.id, x.Status, suffix(text))
	case event.ClassStart, event.ClassPrepare:
		return fmt.Sprintf("%s did not start%s", t.id, suffix(text))
	case event.ClassRegister:
		return fmt.Sprintf("%s did not answer the roll call%s", t.id, suffix(text))
	case event.ClassLost:
		return fmt.Sprintf("%s was lost%s", t.id, suffix(text))
	case event.ClassPreempted:
		return fmt.Sprintf("%s was preempted%s", t.id, suffix(text))
	}
	return fmt.Sprintf("%s: %s%s", t.id, x.Class, suffix(text))
}

func suffix(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
