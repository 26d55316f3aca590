package session

import (
	"fmt"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/spec"
)

const (
	// startLimit bounds the roll call where the job sets no timeout.start: an
	// executor that never answers must not hold the job for ever.
	startLimit = 10 * time.Minute
	// stopMargin is what an executor gets beyond the grace before its slot is
	// taken from it.
	stopMargin = 15 * time.Second
	// releaseLimit is how long the backend may take to confirm the end of a slot,
	// where no lease says otherwise.
	releaseLimit = time.Minute
)

// judgeStop reaches the verdict that somebody asked for.
func (s *Session) judgeStop() {
	if s.stop == nil || s.verdict != nil {
		return
	}
	text := "stopped"
	if s.stop.By != "" {
		text += " by " + s.stop.By
	}
	s.conclude(event.Outcome{State: event.Stopped, Status: 130, Origin: "muster", Class: event.ClassCancelled,
		Text: text + suffix(s.stop.Reason)})
}

// judgeTimeouts reaches the verdict when a phase took longer than the job allows.
func (s *Session) judgeTimeouts() {
	if s.verdict != nil {
		return
	}
	limit := s.plan.Timeout
	if at := s.queueEnds(); !at.IsZero() && !s.now.Before(at) {
		s.timeOut("queue", limit.Queue, "the gang was not granted in time"+suffix(s.waitsFor()))
		return
	}
	if at := s.startEnds(); !at.IsZero() && !s.now.Before(at) {
		for _, t := range s.order {
			if t.phase == called && t.exit.Class == event.ClassNone {
				s.exit(t, event.Exit{Class: event.ClassRegister, Status: 124, At: s.now,
					Text: fmt.Sprintf("nothing heard of it for %s", s.startLimit())})
			}
		}
		return
	}
	if t, at := s.heldEnds(); t != nil && !s.now.Before(at) {
		_, waits := s.startable(t)
		s.timeOut("start", limit.Start, t.id.String()+" still waits for "+waits)
		return
	}
	if at := s.runEnds(); !at.IsZero() && !s.now.Before(at) {
		s.timeOut("run", limit.Run, "the job ran longer than it may")
	}
}

func (s *Session) timeOut(phase string, limit spec.Duration, text string) {
	s.conclude(event.Outcome{State: event.TimedOut, Status: 124, Origin: "muster", Class: event.ClassTimeout,
		Text: fmt.Sprintf("timeout.%s: %s: %s", phase, time.Duration(limit), text)})
}

func (s *Session) queueEnds() time.Time {
	if s.plan.Timeout.Queue == 0 || s.epoch.number > 0 {
		return time.Time{}
	}
	return s.submitted.Add(time.Duration(s.plan.Timeout.Queue))
}

func (s *Session) startLimit() time.Duration {
	if d := time.Duration(s.plan.Timeout.Start); d > 0 {
		return d
	}
	return startLimit
}

// startEnds is when everybody must have answered the roll call that is open.
func (s *Session) startEnds() time.Time {
	for _, t := range s.order {
		if t.phase == called {
			return s.epoch.at.Add(s.startLimit())
		}
	}
	return time.Time{}
}

// heldEnds is when everybody must have been started, where the job says so, and
// the first task that has not been. Who is held because of others would wait for
// ever if they never get ready.
func (s *Session) heldEnds() (*task, time.Time) {
	if s.plan.Timeout.Start == 0 || s.roster == nil || s.roster.Epoch != s.epoch.number || s.firstFailure() != nil {
		return nil, time.Time{}
	}
	for _, t := range s.order {
		if t.phase == held {
			return t, s.epoch.at.Add(s.startLimit())
		}
	}
	return nil, time.Time{}
}

func (s *Session) runEnds() time.Time {
	if s.plan.Timeout.Run == 0 || s.ran.IsZero() {
		return time.Time{}
	}
	return s.ran.Add(time.Duration(s.plan.Timeout.Run))
}

// judgeGang ends the job when its gang can never be complete.
func (s *Session) judgeGang() {
	if s.verdict != nil {
		return
	}
	for _, r := range s.requests {
		if r.refused != "" && !r.complete {
			s.conclude(event.Outcome{State: event.Failed, Status: 69, Origin: "muster", Class: event.ClassRefused, Text: r.refused})
			return
		}
		if r.Replace && !r.complete && r.enough.IsZero() && !s.now.Before(r.at.Add(s.patience(r))) {
			t := s.tasks[r.Tasks[0]]
			if r.Preempted {
				if s.waitsAlone(r) {
					continue
				}
				s.conclude(s.preempted(t, fmt.Sprintf("no slot in its place was granted within %s%s", s.patience(r), suffix(s.waitsFor()))))
				return
			}
			s.conclude(event.Outcome{State: event.Failed, Status: 75, Origin: "muster", Task: t.id, Class: event.ClassLost,
				Text: fmt.Sprintf("no slot in place of %s's was granted within %s%s", t.id, s.patience(r), suffix(s.waitsFor()))})
			return
		}
	}
}

// waitsAlone says that the job holds nothing while the request waits: then it
// may wait as long as a job in its queue.
func (s *Session) waitsAlone(r *request) bool {
	for _, sl := range s.slots {
		if sl.Request != r.Request && sl.released.IsZero() {
			return false
		}
	}
	return true
}

// waitsFor is why the newest open request waits.
func (s *Session) waitsFor() string {
	for n := len(s.requests); n > 0; n-- {
		if r := s.requests[n]; !r.complete && len(r.reasons) > 0 {
			return r.reasons[0]
		}
	}
	return ""
}

// Deadline returns the next time at which a Tick would say something.
func (s *Session) Deadline() (time.Time, bool) {
	var at time.Time
	add := func(t time.Time) {
		if !t.IsZero() && t.After(s.now) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if s.plan == nil || s.finished != nil {
		return at, false
	}
	if s.verdict == nil {
		add(s.queueEnds())
		add(s.startEnds())
		if _, at := s.heldEnds(); !at.IsZero() {
			add(at)
		}
		add(s.runEnds())
		if t := s.firstFailure(); t != nil {
			add(t.exitedAt.Add(s.hold()))
			add(s.tellsMore(t))
		}
		if s.restart != nil {
			add(s.restart.at)
			for _, id := range s.restart.Tasks {
				if t := s.tasks[id]; t.active() && t.stopping == nil {
					add(s.urgedAt(t))
				}
			}
		}
		if s.epoch.number > 0 && s.mainIsDone() {
			add(s.lingerUntil())
		}
		for _, r := range s.requests {
			switch {
			case r.complete:
			case !r.enough.IsZero():
				add(r.enough.Add(s.patience(r)))
			case r.Replace:
				add(r.at.Add(s.patience(r)))
			}
		}
	}
	s.each(func(t *task) {
		if t.active() && t.stopping != nil {
			add(s.stopEnds(t))
		}
	})
	for _, sl := range s.slots {
		if !sl.released.IsZero() {
			add(s.releaseEnds(sl))
		}
	}
	return at, !at.IsZero()
}

func (s *Session) stopEnds(t *task) time.Time {
	grace := time.Duration(t.role.StopGrace)
	if t.stopping.Now {
		grace = 0
	}
	return t.stopAt.Add(grace + stopMargin)
}

func (s *Session) releaseEnds(sl *slot) time.Time {
	return sl.released.Add(max(time.Duration(s.plan.Timing.Lease), releaseLimit))
}
