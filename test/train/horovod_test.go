//go:build frameworks && horovod

package train

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-project/muster/event"
)

// horovods demands that four ranks, two in each of two tasks, found one model.
func horovods(t *testing.T, log string) {
	t.Helper()
	falling(t, log)
	lines := All(`rank (\d) of 4, local (\d) of 2, cross (\d) of 2: weights ([0-9a-f]{16}), off by (0\.00\d+)`, log)
	if len(lines) != 4 {
		t.Fatalf("%d of 4 ranks told their weights:\n%s", len(lines), log)
	}
	places := map[string]bool{}
	for _, l := range lines {
		places[l[1]+l[2]+l[3]] = true
		if l[4] != lines[0][4] {
			t.Errorf("rank %s has weights %s, rank %s has %s", l[1], l[4], lines[0][1], lines[0][4])
		}
	}
	for _, p := range []string{"000", "110", "201", "311"} {
		if !places[p] {
			t.Errorf("nobody has rank, local rank, cross rank %s: %v", p, places)
		}
	}
}

func TestHorovodFindsOneModelWithFourRanks(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("horovod", python(t, "horovod"))
	horovods(t, w.logs(id, "--no-prefix"))
	script, err := os.ReadFile(filepath.Join(w.home, "jobs", id, "tasks", "worker-0", "1", "discover_hosts"))
	if err != nil || !strings.Contains(string(script), ":4\n") {
		t.Errorf("the script of hosts: %q, %v", script, err)
	}
}

// All ranks start again and meet in a new store, whatever the old one holds.
func TestHorovodMeetsAgainAfterARankDied(t *testing.T) {
	w := newWorld(t)
	dir, err := filepath.Abs(filepath.Join("..", "..", "examples", "horovod"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "job.yaml")
	text := fmt.Sprintf(`
framework: horovod
workdir: %s
command: '%s -c "import os, horovod.torch as hvd; hvd.init(); os.environ[\"MUSTER_EPOCH\"] + str(hvd.rank()) == \"13\" and os._exit(3)" && exec %[2]s train.py'
instances: 2
procs: 2
restarts: 1
memory: 1GiB
`, dir, python(t, "horovod"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, status := w.muster("run", "-o", "json", file)
	var end ended
	if err := json.Unmarshal([]byte(out), &end); err != nil {
		t.Fatal(err)
	}
	if status != 0 || end.Outcome.State != event.Succeeded {
		t.Fatalf("status %d, %+v", status, end.Outcome)
	}
	horovods(t, w.logs(end.ID, "--no-prefix", "--incarnation", "2"))
	facts, _, _ := w.muster("events", end.ID)
	if !strings.Contains(facts, "epoch 2") {
		t.Errorf("nobody died:\n%s", facts)
	}
}
