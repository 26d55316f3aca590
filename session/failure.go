package session

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// judgeFailures looks at the failures that nothing was decided about yet. What
// they mean is the role's policy.
//
// Which of several was first is held open for Timing.Verdict, or until nothing
// runs any more: a cause may be reported after its symptoms. The others are
// stopped meanwhile, unless the failure looks like the echo of another one (a
// broken connection): stopping then would hide what the true cause has to say.
func (s *Session) judgeFailures() {
	if s.verdict != nil {
		return
	}
	t := s.firstFailure()
	if t == nil {
		return
	}
	if s.now.Before(s.tellsMore(t)) {
		return
	}
	held := s.now.Before(t.exitedAt.Add(s.hold())) && s.anyActive()
	if t.exit.Symptom && held {
		return
	}
	note := ""
	left := s.restartsLeft(t)
	if s.free(t) && (t.started.IsZero() || t.role.OnFailure == spec.FailureRestart) {
		// Where nothing of it has run yet, its role's policy has nothing to say.
		s.decideRestart(t, max(0, left), true)
		return
	}
	switch t.role.OnFailure {
	case spec.FailureRestart:
		if left > 0 {
			s.decideRestart(t, left-1, false)
			return
		}
		if t.role.Restarts > 0 {
			note = fmt.Sprintf("no restart of %d is left", t.role.Restarts)
		}
	case spec.FailureTolerate:
		note = fmt.Sprintf("%d tasks of %s failed, %d are tolerated", s.failures(t.role), t.role.Name, s.forgiven(t.role))
	}
	s.each(func(o *task) { s.stopTask(o, "the job fails because "+s.describe(t, t.exit), false) })
	if !held || !s.anyActive() {
		s.conclude(s.outcomeOf(t, note))
	}
}

// goneWait is how long the backend may take to say why a slot went whose executor
// could only say that it was told to end.
const goneWait = 4 * time.Second

// tellsMore is until when the end of t's slot may say more than its executor did;
// zero: there is nothing to wait for.
func (s *Session) tellsMore(t *task) time.Time {
	if t.exit.Class != event.ClassLost || s.live(t) == nil {
		return time.Time{}
	}
	return t.exitedAt.Add(goneWait)
}

// firstFailure is the undecided failure that caused the others, as far as can
// be told: a cause before a symptom, then the earlier one on the coordinator's
// clock.
func (s *Session) firstFailure() *task { return s.firstOf(s.undecided) }

// undecided says that a task failed in a way that its role does not forgive,
// and that no restart answers it.
func (s *Session) undecided(t *task) bool {
	if t.phase != exited || !t.exit.Failed() || t.restarted {
		return false
	}
	switch t.role.OnFailure {
	case spec.FailureIgnore:
		return false
	case spec.FailureTolerate:
		return t.role.MaxFailures != (spec.Failures{}) && s.failures(t.role) > s.forgiven(t.role)
	}
	return true
}

// final says that a task has ended for good.
func (s *Session) final(t *task) bool {
	return t.phase == exited && !t.restarted && !s.undecided(t) && !t.displaced()
}

func (s *Session) anyActive() bool {
	return slices.ContainsFunc(s.order, (*task).active)
}

func before(a, b event.Exit) bool {
	if a.Symptom != b.Symptom {
		return b.Symptom
	}
	return a.At.Before(b.At)
}

func (s *Session) hold() time.Duration { return time.Duration(s.plan.Timing.Verdict) }

// failures counts the tasks of a role that ended badly for good.
func (s *Session) failures(r *plan.Role) int {
	n := 0
	s.each(func(t *task) {
		if t.role == r && t.phase == exited && t.exit.Failed() && !t.restarted {
			n++
		}
	})
	return n
}

// forgiven is how many failures a tolerant role may have without failing the job.
func (s *Session) forgiven(r *plan.Role) int {
	if r.MaxFailures.Percent > 0 {
		return r.Instances.Max * r.MaxFailures.Percent / 100
	}
	return r.MaxFailures.Count
}

// outcomeOf is the outcome of a job that t's failure ended.
func (s *Session) outcomeOf(t *task, note string) event.Outcome {
	x := t.exit
	text := s.describe(t, x)
	if note != "" {
		text += "; " + note
	}
	o := event.Outcome{State: event.Failed, Status: x.Status, Origin: "task", Task: t.id, Class: x.Class, Text: text, Exit: &x}
	if o.Status == 0 {
		o.Status, o.Origin = 1, "muster"
	}
	if x.Class == event.ClassPrepare {
		o.Origin = "muster"
	}
	o.Hint = hint(x)
	return o
}

func hint(x event.Exit) string {
	text, own := x.Said()
	if own != "" {
		return own
	}
	switch x.Class {
	case event.ClassMemory:
		return "give the role more memory, or make the batches smaller"
	case event.ClassRegister:
		return "its executor never answered; see its log under slots/ in the job's directory"
	case event.ClassPrepare:
		for _, key := range []string{"files", "workdir", "python", "gpus"} {
			if strings.HasPrefix(text, key) {
				return "" // it names what is wrong
			}
		}
		return "the command was not run: see whether the storage answers and the node has room, then submit it again; the executor's log has more"
	case event.ClassStart:
		if strings.Contains(text, "port") {
			return "let the job take any free port (0) instead of a fixed one, or end what holds it"
		}
		return "check the command and that its program is in the work directory or on PATH"
	}
	if slices.ContainsFunc(x.Stderr, func(line string) bool { return strings.Contains(strings.ToLower(line), "connection refused") }) {
		return "a role that needs another one to listen first says so: after: [{role: NAME, is: ready}]"
	}
	return ""
}

// conclude reaches the verdict; from here on everything is cleared up.
func (s *Session) conclude(o event.Outcome) {
	if s.verdict == nil {
		o.Warnings = append(o.Warnings, s.warnings()...)
		s.emit(&event.VerdictReached{Outcome: o})
	}
}

// warnings names the failures that did not decide the outcome.
func (s *Session) warnings() []string {
	var out []string
	s.each(func(t *task) {
		if t.phase == exited && t.exit.Failed() && !t.restarted &&
			(t.role.OnFailure == spec.FailureIgnore || t.role.OnFailure == spec.FailureTolerate) {
			out = append(out, s.describe(t, t.exit))
		}
	})
	return out
}
