package page

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/session"
)

// model is what the page says, ready to be read.
type model struct {
	session.View
	Title    string
	Live     bool // it is drawn again by itself
	Elapsed  string
	Verdict  []string
	Rows     []row
	Look     []session.Address
	Leave    []session.Leaving
	Warnings []string
}

// row is one task.
type row struct {
	session.TaskView
	Step string // "120/1000"
	Pace string // time of a step
	Loss string
	End  string // how it ended
	Took string
	Logs []link
	Said []link // what it published
}

type link struct{ Text, To string }

var functions = template.FuncMap{
	"clock": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
}

func modelOf(v session.View, now time.Time) model {
	m := model{View: v, Title: cmp.Or(v.Name, v.ID), Live: v.Ended.IsZero(), Look: v.Addresses(), Leave: v.Leaving(), Warnings: v.Warned}
	m.Elapsed = span(v.Submitted, v.Ended, now)
	if v.Outcome != nil {
		m.Verdict = verdict(*v.Outcome)
		m.Warnings = append(slices.Clone(v.Warned), v.Outcome.Warnings...)
	}
	for _, t := range v.Tasks {
		m.Rows = append(m.Rows, rowOf(t, now))
	}
	slices.SortStableFunc(m.Rows, func(a, b row) int { return cmp.Compare(uint(a.Rank), uint(b.Rank)) }) // without rank last
	return m
}

func rowOf(t session.TaskView, now time.Time) row {
	r := row{TaskView: t}
	if p := t.Progress; p != nil {
		r.Step = fmt.Sprint(p.Step)
		if p.Total > 0 {
			r.Step += "/" + fmt.Sprint(p.Total)
		}
		r.Pace = p.Pace()
		if loss, ok := p.Loss(); ok {
			r.Loss = fmt.Sprintf("%.4g", loss)
		}
	}
	if t.Exit != nil && t.Exit.Failed() {
		r.End = fmt.Sprintf("%s, status %d", t.Exit.Class, t.Exit.Status)
	}
	if !t.Started.IsZero() {
		r.Took = span(t.Started, t.Ended, now)
	}
	if t.Incarnation > 0 {
		for _, stream := range []string{"0.out", "0.err"} {
			r.Logs = append(r.Logs, link{stream[2:], fmt.Sprintf("logs/%s/%d/%d/%s", url.PathEscape(t.Task.Role), t.Task.Index, t.Incarnation, stream)})
		}
	}
	for key, value := range t.Published {
		l := link{Text: key + ": " + value}
		if strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://") {
			l.To = value
		}
		r.Said = append(r.Said, l)
	}
	slices.SortFunc(r.Said, func(a, b link) int { return cmp.Compare(a.Text, b.Text) })
	return r
}

// public is what those may see who are not the job's owner: of an address that a
// task published, the part behind the question mark may be its owner's key.
func public(v session.View) session.View {
	v.Tasks = slices.Clone(v.Tasks)
	for i := range v.Tasks {
		t := &v.Tasks[i]
		t.Published = maps.Clone(t.Published)
		for key, value := range t.Published {
			if strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://") {
				t.Published[key], _, _ = strings.Cut(value, "?")
			}
		}
	}
	return v
}

// verdict is the outcome in a few lines: who failed first, how, its last words.
func verdict(o event.Outcome) []string {
	out := []string{string(o.State)}
	if o.Text != "" {
		out[0] += ": " + o.Text
	}
	if !o.Task.IsZero() {
		out = append(out, fmt.Sprintf("first failure %s, %s, exit status %d", o.Task, o.Class, o.Status))
	}
	if o.Exit != nil {
		out = append(out, o.Exit.Stderr...)
	}
	return out
}

func span(from, to, now time.Time) string {
	if to.IsZero() {
		to = now
	}
	return max(0, to.Sub(from)).Round(time.Second).String()
}
