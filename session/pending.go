package session

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Key names the action for as long as it means the same.
func (a Request) Key() string { return "request " + strconv.Itoa(a.Number) }

// Key names the action for as long as it means the same.
func (a Launch) Key() string { return "launch " + a.Slot.Slot }

// Key names the action for as long as it means the same.
func (a Prepare) Key() string { return "prepare " + a.Slot + " " + strconv.Itoa(a.Incarnation) }

// Key names the action for as long as it means the same.
func (a Start) Key() string { return "start " + a.Slot + " " + strconv.Itoa(a.Incarnation) }

// Key names the action for as long as it means the same.
func (a StopTask) Key() string { return fmt.Sprintf("stop %s %d %t", a.Slot, a.Incarnation, a.Now) }

// Key names the action for as long as it means the same.
func (a Preempt) Key() string {
	return fmt.Sprintf("preempt %s %d %d", a.Slot, a.Incarnation, a.Serial)
}

// Key names the action for as long as it means the same.
func (a SendSignal) Key() string { return "signal " + a.Request + " " + a.Slot }

// Key names the action for as long as it means the same.
func (a Release) Key() string { return fmt.Sprintf("release %s %t", a.Slot, a.Now) }

// Key names the action for as long as it means the same.
func (a Close) Key() string { return "close" }

// Pending returns everything that is decided and not yet acknowledged, in an
// order in which it may be done. Doing one of them again harms nothing.
func (s *Session) Pending() []Action {
	if s.plan == nil {
		return nil
	}
	if s.finished != nil {
		return []Action{Close{Outcome: *s.finished}}
	}
	var out []Action
	for n := 1; n <= len(s.requests); n++ {
		r := s.requests[n]
		if !r.complete && r.refused == "" && len(r.granted) < len(r.Tasks) && s.verdict == nil {
			out = append(out, Request{Number: n, Minimum: r.Minimum, Tasks: r.Tasks})
		}
	}
	for _, sl := range s.byID() {
		switch {
		case !sl.released.IsZero():
			out = append(out, Release{Slot: sl.Slot, Now: sl.now})
		case sl.accepted && !sl.started:
			out = append(out, Launch{Slot: sl.SlotGranted})
		}
	}
	signals := slices.Sorted(maps.Keys(s.signals))
	s.each(func(t *task) { out = s.pendingOf(t, signals, out) })
	return out
}

func (s *Session) pendingOf(t *task, signals []string, out []Action) []Action {
	sl := s.live(t)
	if sl == nil || !sl.started || !t.active() {
		return out
	}
	// Before the stop: what that ends finds in its deadline file why, and until when.
	if w := t.warned; w != nil && t.phase == running {
		p := Preempt{Slot: t.slot, Task: t.id, Incarnation: t.incarnation, Serial: w.serial, Deadline: w.deadline, Reason: w.reason}
		if on := t.role.OnPreempt; on != nil && w.stands() {
			p.Signal, p.Before = on.Signal, time.Duration(on.Before)
		}
		out = append(out, p)
	}
	switch {
	case t.stopping != nil:
		out = append(out, StopTask{Slot: t.slot, Task: t.id, Incarnation: t.incarnation,
			Grace: time.Duration(t.role.StopGrace), Now: t.stopping.Now, Reason: t.stopping.Reason})
	case t.phase == called:
		out = append(out, Prepare{Slot: t.slot, Task: t.id, Incarnation: t.incarnation, Epoch: t.epoch})
	case t.phase == held && s.verdict == nil:
		if ok, _ := s.startable(t); ok {
			out = append(out, Start{Slot: t.slot, Task: t.id, Incarnation: t.incarnation, Roster: s.roster})
		}
	}
	for _, id := range signals {
		if sg := s.signals[id]; sg.pending[t.id] && t.phase == running {
			out = append(out, SendSignal{Slot: t.slot, Request: id, Incarnation: t.incarnation, Signal: sg.Signal})
		}
	}
	return out
}

// Slots returns the slots that the backend may still know, for a gang that is
// opened again.
func (s *Session) Slots() []Slot {
	var out []Slot
	for _, sl := range s.byID() {
		out = append(out, Slot{SlotGranted: sl.SlotGranted, Started: sl.started, Control: sl.control, Native: sl.native})
	}
	return out
}

// Holds says that a slot is part of the job.
func (s *Session) Holds(slot string) bool { return s.slots[slot] != nil }
