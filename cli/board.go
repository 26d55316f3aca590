package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/session"
)

// board is what the live block shows of a job.
type board struct {
	Job      string
	ID       string
	State    string
	Counts   []tally
	Elapsed  time.Duration
	Waiting  []string
	Progress *bar
	Look     []session.Address
	Stale    time.Duration // no coordinator has written for this long, 0 if one lives
}

// tally is how many tasks are in one state.
type tally struct {
	Word string
	N    int
}

// bar is the progress that tasks report.
type bar struct {
	event.Progress
	ended bool
}

// lines renders the block.
func (b board) lines(width int) []string {
	head := fmt.Sprintf("%s  %s", b.Job, b.State)
	for _, c := range b.Counts {
		head += fmt.Sprintf("  %d %s", c.N, c.Word)
	}
	out := []string{head + "  " + span(b.Elapsed)}
	for _, reason := range b.Waiting {
		out = append(out, "waits: "+reason)
	}
	if b.Stale > 0 {
		out = append(out, fmt.Sprintf("no word from the coordinator for %s; the tasks go on", span(b.Stale)))
	}
	if b.Progress != nil {
		out = append(out, b.Progress.line(width))
	}
	for i, a := range b.Look {
		if i == lookMost {
			return append(out, fmt.Sprintf("and %d more addresses: muster status %s", len(b.Look)-i, b.ID))
		}
		out = append(out, addressLine(a, b.Look))
	}
	return out
}

// lookMost is how many addresses the block has room for.
const lookMost = 4

// addressLine is "tensorboard  http://…", with its task where others published
// the same key.
func addressLine(a session.Address, all []session.Address) string {
	same := 0
	for _, other := range all {
		if other.Key == a.Key {
			same++
		}
	}
	line := fmt.Sprintf("%-9s  %s", printable([]byte(a.Key)), printable([]byte(a.URL)))
	if same > 1 {
		line += "  (" + a.Task.String() + ")"
	}
	return line
}

// line is "▕████    ▏ 40%  step 4/10  20ms/step  3m05s left  loss 0.5  text".
func (p bar) line(width int) string {
	var tail []string
	if p.Total > 0 {
		tail = append(tail, fmt.Sprintf("%d%%  step %d/%d", min(100, 100*p.Step/p.Total), p.Step, p.Total))
	} else if p.Step > 0 {
		tail = append(tail, fmt.Sprintf("step %d", p.Step))
	}
	if pace := p.Pace(); pace != "" {
		tail = append(tail, pace+"/step")
	}
	if left := p.Left(); left > 0 && !p.ended {
		tail = append(tail, span(left)+" left")
	}
	names := make([]string, 0, len(p.Values))
	for name := range p.Values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		tail = append(tail, fmt.Sprintf("%s %.4g", name, p.Values[name]))
	}
	if p.Text != "" {
		tail = append(tail, printable([]byte(p.Text)))
	}
	text := strings.Join(tail, "  ")
	if p.Total <= 0 {
		return text
	}
	room := min(40, max(10, width/3))
	full := int(min(p.Total, max(0, p.Step)) * int64(room) / p.Total)
	return "▕" + strings.Repeat("█", full) + strings.Repeat(" ", room-full) + "▏ " + text
}

// bar is the progress of the lowest rank that reports any, nil if none does:
// ranks march together, and rank 0 is the one that prints.
func (r *report) bar() *bar {
	best := -1
	for i, t := range r.Tasks {
		if t.Progress == nil || t.State == "waiting" {
			continue
		}
		if best < 0 || t.Rank >= 0 && (r.Tasks[best].Rank < 0 || t.Rank < r.Tasks[best].Rank) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return &bar{Progress: *r.Tasks[best].Progress, ended: !r.Tasks[best].Ended.IsZero()}
}

// boardOf picks what the block shows.
func boardOf(r *report, now time.Time) board {
	b := board{Job: r.ID, ID: r.ID, State: r.State, Counts: r.tallies(), Elapsed: r.elapsed(), Waiting: r.Waiting}
	if r.Name != "" && r.Name != r.ID {
		b.Job += " " + r.Name
	}
	if !r.Alive && r.Ended.IsZero() && r.Term > 0 {
		b.Stale = max(time.Second, now.Sub(r.Heard))
	}
	b.Progress, b.Look = r.bar(), r.Addresses
	for _, t := range r.Tasks {
		if t.WaitsFor != "" {
			b.Waiting = append(b.Waiting, t.Task.String()+": "+t.WaitsFor)
			break
		}
	}
	return b
}

// plain is the progress as a line of text: "step 4/10  loss 0.5".
func (p bar) plain() string {
	text := p.line(0)
	if _, after, ok := strings.Cut(text, "▏ "); ok {
		text = after
	}
	return text
}
