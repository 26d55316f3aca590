package coordinator

import (
	"testing"
	"time"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/spec"
)

// F-013: a healthy worker is declared dead. A coordinator that did not run for a
// while (stopped, machine asleep) heard nobody in that time, and takes nobody
// for lost because of it.
func TestF013WhoSleptCountsAfresh(t *testing.T) {
	const limit = 15 * time.Second
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	// Looks are at the times of a watch that runs, with naps in between.
	for name, tc := range map[string]struct {
		naps map[time.Duration]time.Duration // at this time it slept for so long
		want time.Duration                   // when the executor is given up
	}{
		"awake":                       {nil, limit + watchEvery},
		"slept for a minute":          {map[time.Duration]time.Duration{5 * time.Second: time.Minute}, 65*time.Second + limit + 2*watchEvery},
		"slept twice":                 {map[time.Duration]time.Duration{5 * time.Second: time.Minute, 70 * time.Second: time.Hour}, 70*time.Second + time.Hour + limit + 2*watchEvery},
		"a slow machine is not sleep": {map[time.Duration]time.Duration{5 * time.Second: time.Second}, limit + watchEvery},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInbox()
			l := &links{in: in, timing: plan.Timing{LinkLoss: spec.Duration(limit)},
				slots: map[string]*presence{"1-task-0": {started: true, met: true, away: start}}}
			var got time.Duration
			for at := time.Duration(0); at < 2*time.Hour; at += watchEvery {
				l.miss(start.Add(at))
				inputs, err := in.take()
				if err != nil {
					t.Fatal(err)
				}
				if len(inputs) > 0 {
					if inputs[0] != (session.Unlinked{Slot: "1-task-0"}) {
						t.Fatalf("%#v, want Unlinked", inputs[0])
					}
					got = at
					break
				}
				at += tc.naps[at]
			}
			if got != tc.want {
				t.Errorf("given up after %v, want %v", got, tc.want)
			}
		})
	}
}
