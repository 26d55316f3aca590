package cli

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
)

func TestBoardLines(t *testing.T) {
	tests := map[string]struct {
		in   board
		want []string
	}{
		"running": {
			in:   board{Job: "m-1", State: "running", Counts: []tally{{"running", 2}, {"succeeded", 1}}, Elapsed: 65 * time.Second},
			want: []string{"m-1  running  2 running  1 succeeded  1m05s"},
		},
		"waiting says why": {
			in:   board{Job: "m-1", State: "waiting", Counts: []tally{{"waiting", 2}}, Waiting: []string{"2 GPUs asked, 1 free"}},
			want: []string{"m-1  waiting  2 waiting  0ms", "waits: 2 GPUs asked, 1 free"},
		},
		"progress": {
			in: board{Job: "m-1", State: "running", Progress: &bar{Progress: event.Progress{Step: 4, Total: 10, Values: map[string]float64{"loss": 0.5, "acc": 0.91}}}},
			want: []string{"m-1  running  0ms",
				"▕████      ▏ 40%  step 4/10  acc 0.91  loss 0.5"},
		},
		"progress past its total does not burst": {
			in:   board{Job: "m-1", State: "running", Progress: &bar{Progress: event.Progress{Step: 12, Total: 10, StepTime: 1}}},
			want: []string{"m-1  running  0ms", "▕██████████▏ 100%  step 12/10  1s/step"},
		},
		"the time of a step, and what is left": {
			in:   board{Job: "m-1", State: "running", Progress: &bar{Progress: event.Progress{Step: 4, Total: 10, StepTime: 0.0204}}},
			want: []string{"m-1  running  0ms", "▕████      ▏ 40%  step 4/10  20.4ms/step  122ms left"},
		},
		"nothing is left of a task that has ended": {
			in:   board{Job: "m-1", State: "running", Progress: &bar{Progress: event.Progress{Step: 4, StepTime: 90}, ended: true}},
			want: []string{"m-1  running  0ms", "step 4  90s/step"},
		},
		"addresses": {
			in: board{Job: "m-1", State: "running", Look: []session.Address{
				{Task: plan.TaskID{Role: "tensorboard"}, Key: "tensorboard", URL: "http://n:1/"},
				{Task: plan.TaskID{Role: "w", Index: 0}, Key: "ui", URL: "http://n:2/"},
				{Task: plan.TaskID{Role: "w", Index: 1}, Key: "ui", URL: "http://n:3/"}}},
			want: []string{"m-1  running  0ms", "tensorboard  http://n:1/", "ui         http://n:2/  (w/0)", "ui         http://n:3/  (w/1)"},
		},
		"no coordinator": {
			in:   board{Job: "m-1", State: "running", Stale: 20 * time.Second},
			want: []string{"m-1  running  0ms", "no word from the coordinator for 20s; the tasks go on"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.in.lines(30)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
