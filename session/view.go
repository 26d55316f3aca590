package session

import (
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
)

// View is what people are shown of a job. It is computed from the journal
// alone, so anybody who may read that can have it.
type View struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	User      string         `json:"user"`
	Framework string         `json:"framework"`
	Backend   string         `json:"backend"`
	Queue     string         `json:"queue,omitempty"`
	State     string         `json:"state"` // queued, starting, running, restarting, stopping, or an event.State
	Submitted time.Time      `json:"submitted"`
	Started   time.Time      `json:"started,omitzero"` // the first task ran
	Ended     time.Time      `json:"ended,omitzero"`
	Term      int64          `json:"term"`
	Epoch     int            `json:"epoch"`
	Seq       int64          `json:"seq"`
	Waiting   []string       `json:"waiting,omitempty"` // why the gang is not complete
	Warned    []string       `json:"warned,omitempty"`  // what will go wrong if nobody does anything
	Restarts  int            `json:"restarts,omitempty"`
	Preempted int            `json:"preempted,omitempty"` // how often it went on after a preemption; no restarts
	Tasks     []TaskView     `json:"tasks"`
	Outcome   *event.Outcome `json:"outcome,omitempty"` // from the verdict on
}

// TaskView is what people are shown of a task.
type TaskView struct {
	Task        plan.TaskID       `json:"task"`
	State       string            `json:"state"` // waiting, granted, called, held, running, ready, stopping, succeeded, failed, stopped, lost, preempted
	WaitsFor    string            `json:"waits_for,omitempty"`
	Rank        int               `json:"rank"` // -1: none
	Incarnation int               `json:"incarnation"`
	Node        string            `json:"node,omitempty"`
	Host        string            `json:"host,omitempty"`
	Ports       map[string]int    `json:"ports,omitempty"`
	Devices     []string          `json:"devices,omitempty"`
	Slot        string            `json:"slot,omitempty"`
	PIDs        []int             `json:"pids,omitempty"`
	Started     time.Time         `json:"started,omitzero"`
	Ended       time.Time         `json:"ended,omitzero"`
	Deadline    time.Time         `json:"deadline,omitzero"` // it was told that its slot will be taken away then
	Reason      string            `json:"reason,omitempty"`  // of the deadline
	Exit        *event.Exit       `json:"exit,omitempty"`
	Progress    *event.Progress   `json:"progress,omitempty"`
	Published   map[string]string `json:"published,omitempty"`
}

// View returns what is known of the job now.
func (s *Session) View() View {
	if s.plan == nil {
		return View{}
	}
	v := View{ID: s.plan.ID, Name: s.plan.Name, User: s.plan.User, Framework: s.plan.Framework, Backend: s.plan.Backend,
		Queue: s.plan.Queue, Submitted: s.submitted, Started: s.ran, Ended: s.ended, Term: s.term, Epoch: s.epoch.number,
		Seq: s.seq, State: s.state(), Warned: s.warned, Outcome: s.verdict}
	if s.finished != nil {
		v.Outcome = s.finished
	}
	for _, n := range s.spent {
		v.Restarts += n
	}
	for _, n := range s.lost {
		v.Restarts += n
	}
	v.Preempted = s.taken
	if v.State == "queued" || s.restart != nil {
		for n := 1; n <= len(s.requests); n++ {
			if r := s.requests[n]; !r.complete {
				v.Waiting = append(v.Waiting, r.reasons...)
			}
		}
	}
	s.each(func(t *task) { v.Tasks = append(v.Tasks, s.viewTask(t)) })
	return v
}

func (s *Session) state() string {
	switch {
	case s.finished != nil:
		return string(s.finished.State)
	case s.verdict != nil:
		return "stopping"
	case s.restart != nil && s.restart.Exit.Class == event.ClassPreempted && len(s.slots) == 0:
		return "queued"
	case s.restart != nil:
		return "restarting"
	case s.epoch.number == 0:
		return "queued"
	case s.ran.IsZero() || s.roster == nil || s.roster.Epoch != s.epoch.number:
		return "starting"
	}
	return "running"
}

func (s *Session) viewTask(t *task) TaskView {
	v := TaskView{Task: t.id, Rank: -1, Incarnation: t.incarnation, Host: t.registered.Host, Ports: t.registered.Ports,
		Slot: t.slot, PIDs: t.pids, Started: t.started, Progress: t.progress, Published: t.published, State: s.taskState(t)}
	if sl := s.slots[t.slot]; sl != nil {
		v.Node, v.Devices = sl.Node, sl.Devices
	}
	if m := s.inOld(t.id); m != nil {
		v.Rank = m.Rank
		if v.Node == "" {
			v.Node, v.Devices = m.Node, m.Devices
		}
	}
	if t.phase == exited {
		x := t.exit
		v.Exit, v.Ended = &x, t.exitedAt
	}
	if t.active() && t.warned.stands() {
		v.Deadline, v.Reason = t.warned.deadline, t.warned.reason
	}
	if t.phase == held && s.verdict == nil {
		_, v.WaitsFor = s.startable(t)
	}
	return v
}

func (s *Session) taskState(t *task) string {
	switch {
	case t.phase == exited && t.exit.Class == event.ClassNone:
		return "succeeded"
	case t.phase == exited && t.exit.Stopped:
		return "stopped"
	case t.phase == exited && t.exit.Class == event.ClassLost:
		return "lost"
	case t.phase == exited && t.exit.Class == event.ClassPreempted:
		return "preempted"
	case t.phase == exited:
		return "failed"
	case t.absent:
		return "absent"
	case t.active() && t.stopping != nil:
		return "stopping"
	case t.phase == running && t.ready:
		return "ready"
	case t.phase == running:
		return "running"
	case t.phase == held:
		return "held"
	case t.phase == called:
		return "called"
	case s.live(t) != nil:
		return "granted"
	}
	return "waiting"
}
