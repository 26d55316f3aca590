package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// board is what the live block shows of a job.
type board struct {
	Job      string
	State    string
	Counts   []tally
	Elapsed  time.Duration
	Waiting  []string
	Progress *bar
	Stale    time.Duration // no coordinator has written for this long, 0 if one lives
}

// tally is how many tasks are in one state.
type tally struct {
	Word string
	N    int
}

// bar is the progress that tasks report.
type bar struct {
	Step, Total int64
	Values      map[string]float64
	Text        string
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
	return out
}

// line is "▕████    ▏ 40%  step 4/10  loss 0.5  text".
func (p bar) line(width int) string {
	var tail []string
	if p.Total > 0 {
		tail = append(tail, fmt.Sprintf("%d%%  step %d/%d", min(100, 100*p.Step/p.Total), p.Step, p.Total))
	} else if p.Step > 0 {
		tail = append(tail, fmt.Sprintf("step %d", p.Step))
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

// boardOf picks what the block shows. The progress is that of the lowest rank
// that reports any: ranks march together, and rank 0 is the one that prints.
func boardOf(r *report, now time.Time) board {
	b := board{Job: r.ID, State: r.State, Counts: r.tallies(), Elapsed: r.elapsed(), Waiting: r.Waiting}
	if r.Name != "" && r.Name != r.ID {
		b.Job += " " + r.Name
	}
	if !r.Alive && r.Ended.IsZero() && r.Term > 0 {
		b.Stale = max(time.Second, now.Sub(r.Heard))
	}
	best := -1
	for i, t := range r.Tasks {
		if t.Progress == nil || r.Tasks[i].State == "waiting" {
			continue
		}
		if best < 0 || t.Rank >= 0 && (r.Tasks[best].Rank < 0 || t.Rank < r.Tasks[best].Rank) {
			best = i
		}
	}
	if best >= 0 {
		p := r.Tasks[best].Progress
		b.Progress = &bar{Step: p.Step, Total: p.Total, Values: p.Values, Text: p.Text}
	}
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
