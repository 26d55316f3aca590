//go:build hadoop

package yarn

import (
	"strconv"
	"strings"
	"testing"
)

// sameWeights demands the last line of the examples from each rank: at least
// 0.90 accuracy on digits that the model has never seen, and the same weights
// everywhere.
func sameWeights(t *testing.T, log string, ranks int) {
	t.Helper()
	lines := all(`(\w+): weights ([0-9a-f]{16}), accuracy ([01]\.\d+)`, log)
	if len(lines) != ranks {
		t.Fatalf("%d ranks told their weights, want %d:\n%s", len(lines), ranks, log)
	}
	for _, l := range lines {
		accuracy, err := strconv.ParseFloat(l[3], 64)
		if err != nil || accuracy < 0.90 {
			t.Errorf("%s: accuracy %s, want at least 0.90", l[1], l[3])
		}
		if l[2] != lines[0][2] {
			t.Errorf("%s has weights %s, %s has %s", l[1], l[2], lines[0][1], lines[0][2])
		}
	}
}

func TestPyTorchTrainsOnYARNWithTheFileThatRunsLocally(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("pytorch-ddp", *torch)
	sameWeights(t, strings.ReplaceAll(w.logs(id, "--no-prefix"), "rank ", ""), 4)
}

// The tasks of the example share one checkpoint directory, which no two nodes of
// this cluster do.
func TestTensorFlowTrainsByAParameterServerOnYARN(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("tensorflow-ps", *tensorflow)
	evaluator := w.logs(id, "--no-prefix", "--role", "evaluator")
	last := all(`\w+: weights [0-9a-f]{16}, accuracy [01]\.\d+ after step 300`, evaluator)
	if len(last) != 1 {
		t.Fatalf("the evaluator tested the last checkpoint %d times:\n%s", len(last), evaluator)
	}
	sameWeights(t, w.logs(id, "--no-prefix", "--role", "chief")+last[0][0], 2)
}

func TestTensorFlowWorkersMirrorOneModelOnYARN(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("tensorflow-multiworker", *tensorflow)
	sameWeights(t, w.logs(id, "--no-prefix"), 2)
}

func TestRestartGoesOnFromTheCheckpointOnYARN(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("restart-from-checkpoint", *torch)
	log := w.logs(id, "--no-prefix")
	if n := len(all(`going on after step 25`, log)); n != 2 {
		t.Errorf("%d ranks went on after step 25, want 2:\n%s", n, log)
	}
	steps := all(`(?m)^step (\d+):`, log)
	for i, s := range steps {
		if s[1] != strconv.Itoa(i+1) {
			t.Fatalf("step %s comes where step %d should:\n%s", s[1], i+1, log)
		}
	}
	if len(steps) != 60 {
		t.Errorf("%d steps, want 60", len(steps))
	}
}
