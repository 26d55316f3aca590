package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
)

// status tells people what they can still do something about: who loses a slot
// when, and what will go wrong.
func TestAReportTellsOfPreemptionAndWarnings(t *testing.T) {
	now := time.Date(2026, 11, 30, 18, 0, 0, 0, time.Local)
	worker := func(n int, deadline time.Time, why string) session.TaskView {
		return session.TaskView{Task: plan.TaskID{Role: "worker", Index: n}, State: "running", Rank: n, Incarnation: 2, Node: "n1", Deadline: deadline, Reason: why}
	}
	r := report{View: session.View{ID: "m-1", State: "running", User: "ada", Backend: "yarn", Queue: "default", Framework: "pytorch",
		Submitted: now.Add(-time.Minute), Preempted: 2, Restarts: 1,
		Tasks: []session.TaskView{worker(0, now.Add(time.Minute), "node n1 is decommissioned"), worker(1, now.Add(8*time.Second), "queue ml wants them\x1b"),
			worker(2, now.Add(8*time.Second), "queue ml wants them\x1b"), worker(3, time.Time{}, "")}},
		Elapsed: 60, Alive: true, Warnings: []string{"the job's tokens end soon"}}
	var b bytes.Buffer
	if err := r.text(&Env{Now: func() time.Time { return now }}, &b, false); err != nil {
		t.Fatal(err)
	}
	want := `job        m-1
state      running
where      yarn, queue default
framework  pytorch
submitted  2026-11-30 17:59:00 by ada
elapsed    1m00s
restarts   1
preempted  2
leaving    worker/1 worker/2: told to make room until 18:00:08, 8s from now: queue ml wants them␛
leaving    worker/0: told to make room until 18:01:00, 1m00s from now: node n1 is decommissioned
warning    the job's tokens end soon

TASK      STATE    NODE  RANK  INCARNATION  EXIT
worker/0  running  n1    0     2            -
worker/1  running  n1    1     2            -
worker/2  running  n1    2     2            -
worker/3  running  n1    3     2            -
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
