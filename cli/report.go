package cli

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/session"
)

// report is a job as status, ps and "-o json" show it: what its journal says,
// and how fresh that is. Its keys are part of muster's interface.
type report struct {
	session.View
	Elapsed  float64  `json:"elapsed_seconds"`
	Warnings []string `json:"warnings,omitempty"`
	Dir      string   `json:"dir"`
	// Addresses are those that tasks published and that can be looked at now.
	Addresses []session.Address `json:"addresses,omitempty"`
	Heard     time.Time         `json:"heard"` // of the newest fact
	Alive     bool              `json:"coordinator_alive"`
}

// tallies counts tasks by state, in the order of a task's life.
func (r *report) tallies() []tally {
	order := []string{"absent", "waiting", "granted", "called", "held", "running", "ready", "stopping", "succeeded", "failed", "stopped", "lost", "preempted"}
	n := map[string]int{}
	for _, t := range r.Tasks {
		n[t.State]++
	}
	var out []tally
	for _, word := range order {
		if n[word] > 0 {
			out = append(out, tally{word, n[word]})
			delete(n, word)
		}
	}
	return out
}

// running is "2/3": tasks that run, and all.
func (r *report) running() string {
	n := 0
	for _, t := range r.Tasks {
		switch t.State {
		case "running", "ready", "stopping":
			n++
		}
	}
	return fmt.Sprintf("%d/%d", n, len(r.Tasks))
}

func (r *report) elapsed() time.Duration { return time.Duration(r.Elapsed * float64(time.Second)) }

// percent is how far the job is, as far as that is known.
func (r *report) percent() string {
	b := r.bar()
	switch {
	case b == nil:
		return ""
	case b.Total > 0:
		return fmt.Sprintf("%d%%", min(100, 100*b.Step/b.Total))
	case b.Step > 0:
		return fmt.Sprintf("step %d", b.Step)
	}
	return ""
}

// firstAddress is one of those that can be looked at, and how many more there are.
func (r *report) firstAddress() string {
	switch n := len(r.Addresses); n {
	case 0:
		return ""
	case 1:
		return printable([]byte(r.Addresses[0].URL))
	default:
		return fmt.Sprintf("%s (and %d more)", printable([]byte(r.Addresses[0].URL)), n-1)
	}
}

// text prints a report for people.
func (r *report) text(e *Env, w io.Writer, wide bool) error {
	fmt.Fprintf(w, "job        %s\n", r.ID)
	if r.Name != "" {
		fmt.Fprintf(w, "name       %s\n", r.Name)
	}
	fmt.Fprintf(w, "state      %s\n", r.State)
	where := r.Backend
	if r.Queue != "" {
		where += ", queue " + r.Queue
	}
	fmt.Fprintf(w, "where      %s\n", where)
	fmt.Fprintf(w, "framework  %s\n", r.Framework)
	fmt.Fprintf(w, "submitted  %s by %s\n", r.Submitted.Local().Format(time.DateTime), r.User)
	if !r.Started.IsZero() {
		fmt.Fprintf(w, "started    %s\n", r.Started.Local().Format(time.DateTime))
	}
	if !r.Ended.IsZero() {
		fmt.Fprintf(w, "ended      %s\n", r.Ended.Local().Format(time.DateTime))
	}
	fmt.Fprintf(w, "elapsed    %s\n", span(r.elapsed()))
	if r.Restarts > 0 {
		fmt.Fprintf(w, "restarts   %d\n", r.Restarts)
	}
	if r.Preempted > 0 {
		fmt.Fprintf(w, "preempted  %d\n", r.Preempted)
	}
	if b := r.bar(); b != nil {
		fmt.Fprintf(w, "progress   %s\n", b.line(30))
	}
	for _, a := range r.Addresses {
		fmt.Fprintln(w, addressLine(a, r.Addresses))
	}
	for _, reason := range r.Waiting {
		fmt.Fprintf(w, "waits      %s\n", reason)
	}
	for _, l := range r.Leaving() {
		fmt.Fprintf(w, "leaving    %s\n", leavingLine(l, e.Now()))
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "warning    %s\n", warning)
	}
	if !r.Alive && r.Ended.IsZero() && r.Term > 0 {
		fmt.Fprintf(w, "stale      no coordinator is writing; newest fact %s ago\n", span(e.Now().Sub(r.Heard)))
	}
	if len(r.Tasks) > 0 {
		fmt.Fprintln(w)
		if err := r.taskTable(w, wide); err != nil {
			return err
		}
	}
	if r.Outcome != nil && r.Outcome.State != event.Succeeded {
		fmt.Fprintln(w)
		for _, line := range verdictLines(*r.Outcome) {
			fmt.Fprintln(w, line)
		}
	}
	return nil
}

// leavingLine says when tasks lose their slots, and why.
func leavingLine(l session.Leaving, now time.Time) string {
	line := fmt.Sprintf("%s: told to make room until %s", taskList(l.Tasks), l.Deadline.Local().Format(time.TimeOnly))
	if left := l.Deadline.Sub(now); left > 0 {
		line += ", " + span(left) + " from now"
	}
	if l.Reason != "" {
		line += ": " + printable([]byte(l.Reason))
	}
	return line
}

func (r *report) taskTable(w io.Writer, wide bool) error {
	head := []string{"TASK", "STATE", "NODE", "RANK", "INCARNATION", "EXIT"}
	if wide {
		head = append(head, "PIDS", "DEVICES", "PORTS")
	}
	var rows [][]string
	for _, t := range r.Tasks {
		rank := "-"
		if t.Rank >= 0 && t.Incarnation > 0 {
			rank = strconv.Itoa(t.Rank)
		}
		row := []string{t.Task.String(), t.State, dash(t.Node), rank, strconv.Itoa(t.Incarnation), exitWord(t.Exit)}
		if wide {
			row = append(row, dash(numbers(t.PIDs)), dash(joined(t.Devices)), dash(portList(t.Ports)))
		}
		rows = append(rows, row)
	}
	return table(w, head, rows)
}

// exitWord is a task's end in a table cell.
func exitWord(x *event.Exit) string {
	switch {
	case x == nil:
		return "-"
	case x.Signal != "":
		return fmt.Sprintf("%d (%s)", x.Status, x.Signal)
	case x.Class != event.ClassNone && x.Class != event.ClassExit:
		return fmt.Sprintf("%d (%s)", x.Status, x.Class)
	}
	return strconv.Itoa(x.Status)
}
