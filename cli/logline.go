package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/plan"
)

// logLine is one line that a process of a task printed, safe to show.
type logLine struct {
	At          time.Time
	Task        plan.TaskID
	Incarnation int
	Proc        int
	Stderr      bool
	Text        string
}

// origin names a process for the prefix of its lines: worker/0, or worker/0.1
// where tasks have several.
func (l *logLine) origin(procs int) string {
	name := l.Task.String()
	if procs > 1 {
		name += "." + strconv.Itoa(l.Proc)
	}
	return name
}

// logFilter is what the flags of logs leave of all lines.
type logFilter struct {
	tasks       []plan.TaskID // empty: all
	stream      string        // "", out, err
	grep        *regexp.Regexp
	since       time.Time
	incarnation int // 0: all
}

// wants says whether a stream of a task is read at all.
func (f *logFilter) wants(id plan.TaskID, incarnation int, stderr bool) bool {
	switch {
	case len(f.tasks) > 0 && !slices.Contains(f.tasks, id):
		return false
	case f.incarnation > 0 && f.incarnation != incarnation:
		return false
	case f.stream == "out" && stderr, f.stream == "err" && !stderr:
		return false
	}
	return true
}

// painter gives each origin its prefix: padded to the widest, coloured on a
// terminal so that the eye can follow one task.
type painter struct {
	procs  map[string]int // of each role
	color  bool
	width  int
	colors map[string]int
}

// palette leaves out red, which means failure, and what cannot be read on one
// of the usual backgrounds.
var palette = []int{36, 33, 32, 35, 34, 96, 93, 92, 95, 94}

func newPainter(p *plan.Plan, color bool) *painter {
	out := &painter{procs: map[string]int{}, color: color, colors: map[string]int{}}
	for _, r := range p.Roles {
		out.procs[r.Name] = r.Procs
		last := logLine{Task: plan.TaskID{Role: r.Name, Index: max(0, r.Instances.Max-1)}, Proc: max(0, r.Procs-1)}
		out.width = max(out.width, width(last.origin(r.Procs)))
	}
	return out
}

// line is a log line as it is shown.
func (p *painter) line(l *logLine) string {
	name := l.origin(p.procs[l.Task.Role])
	pad := strings.Repeat(" ", max(0, p.width-width(name)))
	if p.color {
		c, ok := p.colors[name]
		if !ok {
			c = palette[len(p.colors)%len(palette)]
			p.colors[name] = c
		}
		name = "\x1b[" + strconv.Itoa(c) + "m" + name + "\x1b[0m"
	}
	return strings.TrimRight(name+pad+" | "+l.Text, " ")
}

// print shows a line. Both streams may be one terminal, so neither overtakes the
// other.
func (l *logShow) print(line *logLine) error {
	if l.data {
		return json.NewEncoder(l.out).Encode(api.Line{At: line.At, Task: line.Task, Incarnation: line.Incarnation, Proc: line.Proc, Stderr: line.Stderr, Text: line.Text})
	}
	text := line.Text
	if !l.plain {
		text = l.painter.line(line)
	}
	if line.Stderr {
		err := l.out.Flush()
		if err == nil {
			_, err = fmt.Fprintln(l.env.Stderr, text)
		}
		return err
	}
	_, err := fmt.Fprintln(l.out, text)
	return err
}
