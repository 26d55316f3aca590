package session

import (
	"slices"
	"time"

	"github.com/muster-project/muster/plan"
)

// Leaving is tasks that were told when their slots will be taken away, and why.
type Leaving struct {
	Tasks    []plan.TaskID `json:"tasks"`
	Deadline time.Time     `json:"deadline"`
	Reason   string        `json:"reason,omitempty"`
}

// Leaving lists those that still have to go, the next ones first.
func (v View) Leaving() []Leaving {
	var out []Leaving
	for _, t := range v.Tasks {
		if t.Deadline.IsZero() {
			continue
		}
		i := slices.IndexFunc(out, func(l Leaving) bool { return l.Deadline.Equal(t.Deadline) && l.Reason == t.Reason })
		if i < 0 {
			i = len(out)
			out = append(out, Leaving{Deadline: t.Deadline, Reason: t.Reason})
		}
		out[i].Tasks = append(out[i].Tasks, t.Task)
	}
	slices.SortStableFunc(out, func(a, b Leaving) int { return a.Deadline.Compare(b.Deadline) })
	return out
}
