//go:build frameworks

package train

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The end of the workers is the end of the job; the server, and the scheduler that
// the job file leaves out, have ended with them.
func TestMXNetWorkersLearnByAServer(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("mxnet", python(t, "mxnet"))
	log := w.logs(id, "--no-prefix")
	falling(t, log)
	found(t, log, "worker", 2)
	out, _, status := w.muster("status", id, "-o", "json")
	var job struct {
		Tasks []struct{ Task, State string }
	}
	if err := json.Unmarshal([]byte(out), &job); err != nil || status != 0 {
		t.Fatalf("status: %d, %v: %s", status, err, out)
	}
	got := map[string]string{}
	for _, task := range job.Tasks {
		got[task.Task] = task.State
	}
	for _, task := range []string{"server/0", "scheduler/0"} {
		if got[task] == "stopped" { // told to, if it was slower to see the end than we
			got[task] = "succeeded"
		}
	}
	want := map[string]string{"worker/0": "succeeded", "worker/1": "succeeded", "server/0": "succeeded", "scheduler/0": "succeeded"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
