package event

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/muster-project/muster/plan"
)

// Text says an event in one line for people, without its time and number.
func Text(e Event) string {
	if e.Body == nil {
		return "nothing"
	}
	return oneLine(sentence(e.Body))
}

func sentence(body Body) string {
	switch b := body.(type) {
	case *JobSubmitted:
		return submitted(b)
	case *TermOpened:
		return opened(b)
	case *SlotsRequested:
		return fmt.Sprintf("%s asked for, at least %d at once: %s", plural(len(b.Tasks), "slot"), b.Minimum, tasks(b.Tasks))
	case *JobWaiting:
		return "waiting" + because(strings.Join(b.Reasons, "; "))
	case *JobWarned:
		if b.Hint != "" {
			return "warning: " + b.Text + " (" + b.Hint + ")"
		}
		return "warning: " + b.Text
	case *SlotGranted:
		return granted(b)
	case *RequestRefused:
		return fmt.Sprintf("request %d refused", b.Request) + because(b.Reason)
	case *ExecutorStarted:
		if b.Control != "" {
			return "executor of slot " + b.Slot + " answers at " + b.Control
		}
		return "executor started in slot " + b.Slot
	case *SlotReleased:
		return "slot " + b.Slot + " released" + because(b.Reason)
	case *SlotGone:
		if b.Class == ClassNone {
			return "slot " + b.Slot + " ended" + because(b.Reason)
		}
		return fmt.Sprintf("slot %s gone (%s)", b.Slot, b.Class) + because(b.Reason)
	case *EpochOpened:
		return epoch(b)
	case *RosterCompleted:
		if b.Roster == nil {
			return "roster complete"
		}
		return fmt.Sprintf("roster of epoch %d complete: %s, world size %d", b.Roster.Epoch, plural(len(b.Roster.Members), "task"), b.Roster.World)
	case *ProgressReported:
		return progressed(b)
	case *SignalRequested:
		return fmt.Sprintf("signal %s asked for: %s", b.Signal, tasks(b.Tasks)) + by(b.By)
	case *SignalSent:
		if b.Error != "" {
			return fmt.Sprintf("%s: signal not delivered: %s", b.Task, b.Error)
		}
		return b.Task.String() + ": signal delivered"
	case *StopRequested:
		return stopping(b)
	case *PreemptionAnnounced:
		return announced(b)
	case *PreemptionWithdrawn:
		return withdrawn(b)
	case *RestartDecided:
		return restarting(b)
	case *VerdictReached:
		return "verdict: " + outcome(b.Outcome)
	case *JobFinished:
		return "finished: " + outcome(b.Outcome)
	case *Unknown:
		return b.Name + " " + string(b.Data)
	default:
		return ofTask(b)
	}
}

func ofTask(body Body) string {
	switch b := body.(type) {
	case *TaskRegistered:
		return fmt.Sprintf("%s registered at %s%s", task(b.Task, b.Incarnation), b.Host, ports(b.Ports))
	case *TaskStarted:
		return task(b.Task, b.Incarnation) + " started" + pids(b.PIDs)
	case *TaskReady:
		return task(b.Task, b.Incarnation) + " ready"
	case *TaskPublished:
		return fmt.Sprintf("%s published %s: %s", b.Task, b.Key, b.Value)
	case *TaskStopping:
		verb := " told to stop"
		if b.Now {
			verb = " to be killed"
		}
		return task(b.Task, b.Incarnation) + verb + because(b.Reason)
	case *TaskExited:
		return task(b.Task, b.Incarnation) + " " + exit(b.Exit)
	default:
		return body.Type()
	}
}

func submitted(b *JobSubmitted) string {
	if b.Plan == nil {
		return "submitted" + by(b.By)
	}
	n := 0
	for _, r := range b.Plan.Roles {
		n += r.Instances.Max
	}
	name := b.Plan.Name
	if name == "" {
		name = b.Plan.ID
	}
	at := ""
	if b.Host != "" {
		at = " on " + b.Host
	}
	return fmt.Sprintf("%s submitted%s%s: %s in %s", name, by(b.By), at, plural(n, "task"), plural(len(b.Plan.Roles), "role"))
}

func opened(b *TermOpened) string {
	if b.Previous == 0 {
		return fmt.Sprintf("coordinator started on %s (term %d, pid %d)", b.Node, b.Term, b.PID)
	}
	return fmt.Sprintf("coordinator took over on %s (term %d, pid %d) after %s of term %d", b.Node, b.Term, b.PID, plural(int(b.Adopted), "event"), b.Previous)
}

func granted(b *SlotGranted) string {
	s := fmt.Sprintf("%s: slot %s granted on %s: %s", b.Task, b.Slot, b.Node, amount(b.Resources.CPUs, "cpu"))
	if b.Resources.Memory > 0 {
		s += ", " + memory(b.Resources.Memory)
	}
	if b.Resources.GPUs > 0 {
		s += ", " + plural(b.Resources.GPUs, "gpu")
	}
	return s
}

func epoch(b *EpochOpened) string {
	ids := slices.SortedFunc(maps.Keys(b.Tasks), func(x, y plan.TaskID) int {
		if c := strings.Compare(x.Role, y.Role); c != 0 {
			return c
		}
		return x.Index - y.Index
	})
	s := fmt.Sprintf("epoch %d opened (%s): %s", b.Epoch, b.Reason, tasks(ids))
	if len(b.Survivors) > 0 {
		s += "; going on: " + tasks(b.Survivors)
	}
	return s
}

func progressed(b *ProgressReported) string {
	var out []string
	for id, p := range b.Tasks {
		s := id.String()
		if p.Step != 0 || p.Total != 0 {
			s += " step " + strconv.FormatInt(p.Step, 10)
		}
		if p.Total != 0 {
			s += " of " + strconv.FormatInt(p.Total, 10)
		}
		if pace := p.Pace(); pace != "" {
			s += " " + pace + "/step"
		}
		for _, k := range slices.Sorted(maps.Keys(p.Values)) {
			s += " " + k + "=" + strconv.FormatFloat(p.Values[k], 'g', 5, 64)
		}
		if p.Text != "" {
			s += " " + p.Text
		}
		out = append(out, s)
	}
	sort.Strings(out)
	return "progress: " + strings.Join(out, ", ")
}

func stopping(b *StopRequested) string {
	s := "stop asked for"
	if b.Now {
		s = "stop at once asked for"
	}
	return s + by(b.By) + because(b.Reason)
}

func restarting(b *RestartDecided) string {
	cause := "restart"
	switch {
	case !b.Cause.IsZero():
		cause = fmt.Sprintf("%s %s: restart", b.Cause, exit(b.Exit))
	case b.Requeue != "":
		cause = b.Exit.Text + ": restart"
	}
	if b.Requeue != "" {
		return fmt.Sprintf("%s of %s in new slots", cause, tasks(b.Tasks))
	}
	left := plural(b.Left, "restart") + " left"
	if b.Free {
		left = "costs no restart"
	}
	return fmt.Sprintf("%s of %s (scope %s), %s", cause, tasks(b.Tasks), b.Scope, left)
}

func outcome(o Outcome) string {
	s := fmt.Sprintf("%s, status %d", o.State, o.Status)
	if !o.Task.IsZero() {
		s += " of " + o.Task.String()
	}
	if o.Class != ClassNone {
		s += " (" + string(o.Class) + ")"
	}
	return s + because(o.Text)
}

func exit(e Exit) string {
	s := "succeeded"
	switch {
	case e.Signal != "":
		s = "ended by " + e.Signal
	case e.Class == ClassNone && e.Status == 0:
	case e.Class == ClassNone || e.Class == ClassExit:
		s = "exited with status " + strconv.Itoa(e.Status)
	default:
		s = fmt.Sprintf("ended (%s), status %d", e.Class, e.Status)
	}
	if e.Signal != "" && e.Class != ClassNone && e.Class != ClassSignal {
		s += " (" + string(e.Class) + ")"
	}
	if e.Stopped {
		s += ", as told"
	}
	text, _ := e.Said()
	return s + because(text)
}

func task(id plan.TaskID, incarnation int) string {
	if incarnation > 1 {
		return fmt.Sprintf("%s (start %d)", id, incarnation)
	}
	return id.String()
}

// tasks lists the first few: a job may have thousands.
func tasks(ids []plan.TaskID) string {
	const most = 8
	if len(ids) == 0 {
		return "all tasks"
	}
	var out []string
	for _, id := range ids[:min(len(ids), most)] {
		out = append(out, id.String())
	}
	if len(ids) > most {
		out = append(out, fmt.Sprintf("and %d more", len(ids)-most))
	}
	return strings.Join(out, " ")
}

func ports(m map[string]int) string {
	s := ""
	for _, k := range slices.Sorted(maps.Keys(m)) {
		s += fmt.Sprintf(" %s=%d", k, m[k])
	}
	return s
}

func pids(list []int) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" (pid %d)", list[0])
	default:
		return fmt.Sprintf(" (pids %s)", strings.Trim(fmt.Sprint(list), "[]"))
	}
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func by(who string) string {
	if who == "" {
		return ""
	}
	return " by " + who
}

func plural(n int, word string) string { return amount(float64(n), word) }

func amount(n float64, word string) string {
	s := strconv.FormatFloat(n, 'f', -1, 64) + " " + word
	if n != 1 {
		s += "s"
	}
	return s
}

func memory(n int64) string {
	const mib = 1 << 20
	if n >= 1<<30 {
		return strconv.FormatFloat(float64(n)/(1<<30), 'g', 4, 64) + " GiB"
	}
	return strconv.FormatFloat(float64(n)/mib, 'g', 4, 64) + " MiB"
}

// oneLine keeps what users wrote from breaking the line or the terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}
