package coordinator

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
)

// written is how many reports of each of two tasks are written in a job whose
// tasks all report every half second.
func written(tasks int, long time.Duration) (lead, other int) {
	now := time.Unix(0, 0)
	r := newReports(tasks, now)
	a, b := plan.TaskID{Role: "worker"}, plan.TaskID{Role: "worker", Index: 1}
	for end := now.Add(long); now.Before(end); now = now.Add(watchEvery) {
		r.put(a, event.Progress{Step: 1})
		r.put(b, event.Progress{Step: 1})
		for id := range r.due(now) {
			if id == a {
				lead++
			} else {
				other++
			}
		}
	}
	return lead, other
}

func TestHowOftenProgressIsWrittenIsBounded(t *testing.T) {
	const day = 24 * time.Hour
	for name, tc := range map[string]struct {
		tasks       int
		long        time.Duration
		lead, other int // at most
	}{
		"a small job for a minute":   {2, time.Minute, 30, 12},
		"a large one for an hour":    {1000, time.Hour, 1600, 15},
		"a small one for a week":     {8, 7 * day, 63000, 6500},
		"the largest one for a week": {10000, 7 * day, 63000, 250},
	} {
		lead, other := written(tc.tasks, tc.long)
		if lead > tc.lead || other > tc.other || lead < tc.lead/2 || other < tc.other/2 {
			t.Errorf("%s: %d of task 0, %d of another; want at most %d and %d, and not much less", name, lead, other, tc.lead, tc.other)
		}
	}
}

func TestTheFirstAndTheLastReportAreWrittenAtOnce(t *testing.T) {
	now := time.Unix(0, 0)
	r := newReports(2, now)
	id := plan.TaskID{Role: "worker", Index: 1}
	var got []map[plan.TaskID]event.Progress
	say := func(step int64, after time.Duration) {
		now = now.Add(after)
		if step > 0 {
			r.put(id, event.Progress{Step: step})
		}
		got = append(got, r.due(now))
	}
	say(1, 0)
	say(2, time.Second)
	say(3, time.Second)
	say(0, 3*time.Second) // what was said is written although nothing is new
	say(4, time.Second)
	got = append(got, r.last(id, now), r.last(id, now))
	none := map[plan.TaskID]event.Progress{}
	want := []map[plan.TaskID]event.Progress{{id: {Step: 1}}, none, none, {id: {Step: 3}}, none, {id: {Step: 4}}, nil}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
