//go:build frameworks

package train

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRayRunsTasksOnEveryNodeOfItsCluster(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("ray-tasks", python(t, "ray"))
	log := w.logs(id, "--no-prefix", "--role", "head")
	if !strings.Contains(log, "78498 primes below 1000000, counted by 8 tasks on 2 nodes") {
		t.Errorf("the driver said:\n%s", log)
	}
	facts, _, _ := w.muster("events", id)
	if !strings.Contains(facts, "ray://") {
		t.Errorf("the head published no address:\n%s", facts)
	}
}

// The driver's status is the job's, and with the driver all of Ray ends: the
// world looks at its end that nothing is left.
func TestRayEndsWithItsDriver(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "job.yaml")
	job := `
framework: ray
command: python3 -c "import ray, sys; ray.init(log_to_driver=False); print('nodes', len(ray.nodes())); sys.exit(7)"
memory: 2GiB
env: {RAY_HEAD_ARGS: --include-dashboard=false}
`
	if err := os.WriteFile(file, []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, status := w.muster("run", "-o", "json", "--python", python(t, "ray"), file)
	var end ended
	if err := json.Unmarshal([]byte(out), &end); err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	if log := w.logs(end.ID, "--no-prefix"); status != 7 || !strings.Contains(log, "nodes 1\n") {
		t.Errorf("status %d, %+v:\n%s", status, end.Outcome, log)
	}
}
