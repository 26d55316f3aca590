package coordinator

import (
	"maps"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
)

// reports keeps what tasks say of their progress until it is written. A report
// takes the place of the one before, so what is written can be bounded: whoever
// shows a job reads its whole journal, and a week of it must be read in a moment.
//
//	the first report of a task, and its last before its end    at once
//	task 0 of a role     every 2 s, in an old job every thousandth of its age, at least every 10 s
//	any other            every 5 s, with more than 20 tasks a quarter of a second for each of them,
//	                     in an old job every thousandth of its age
type reports struct {
	begun time.Time
	every time.Duration // of other tasks, while the job is young
	fresh map[plan.TaskID]event.Progress
	told  map[plan.TaskID]time.Time // when the last one was handed over
}

// The numbers of the rule.
const (
	leadLeast   = 2 * time.Second
	leadMost    = 10 * time.Second
	otherLeast  = 5 * time.Second
	otherByTask = 250 * time.Millisecond
	byAge       = 1000
)

func newReports(tasks int, now time.Time) *reports {
	return &reports{begun: now, every: max(otherLeast, time.Duration(tasks)*otherByTask),
		fresh: map[plan.TaskID]event.Progress{}, told: map[plan.TaskID]time.Time{}}
}

// put notes what a task says.
func (r *reports) put(id plan.TaskID, p event.Progress) { r.fresh[id] = p }

// due hands over the reports whose time has come.
func (r *reports) due(now time.Time) map[plan.TaskID]event.Progress {
	out := map[plan.TaskID]event.Progress{}
	for id, p := range r.fresh {
		if last, ok := r.told[id]; !ok || now.Sub(last) >= r.interval(id, now) {
			out[id] = p
			r.told[id] = now
		}
	}
	maps.DeleteFunc(r.fresh, func(id plan.TaskID, _ event.Progress) bool { _, is := out[id]; return is })
	return out
}

// last hands over what a task has said and nobody has heard: it has ended.
func (r *reports) last(id plan.TaskID, now time.Time) map[plan.TaskID]event.Progress {
	p, ok := r.fresh[id]
	if !ok {
		return nil
	}
	delete(r.fresh, id)
	r.told[id] = now
	return map[plan.TaskID]event.Progress{id: p}
}

func (r *reports) interval(id plan.TaskID, now time.Time) time.Duration {
	age := now.Sub(r.begun) / byAge
	if id.Index == 0 {
		return min(max(leadLeast, age), leadMost)
	}
	return max(r.every, age)
}
