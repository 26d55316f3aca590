//go:build hadoop

package yarn

import (
	"strings"
	"testing"

	"github.com/muster-project/muster/test/train"
)

func TestPyTorchTrainsOnYARNWithTheFileThatRunsLocally(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("pytorch-ddp", *torch)
	train.SameWeights(t, strings.ReplaceAll(w.logs(id, "--no-prefix"), "rank ", ""), 4)
}

// The tasks of the example share one checkpoint directory, which no two nodes of
// this cluster do.
func TestTensorFlowTrainsByAParameterServerOnYARN(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("tensorflow-ps", *tensorflow)
	evaluator := w.logs(id, "--no-prefix", "--role", "evaluator")
	last := train.All(`\w+: weights [0-9a-f]{16}, accuracy [01]\.\d+ after step 300`, evaluator)
	if len(last) != 1 {
		t.Fatalf("the evaluator tested the last checkpoint %d times:\n%s", len(last), evaluator)
	}
	train.SameWeights(t, w.logs(id, "--no-prefix", "--role", "chief")+last[0][0], 2)
}

func TestTensorFlowWorkersMirrorOneModelOnYARN(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("tensorflow-multiworker", *tensorflow)
	train.SameWeights(t, w.logs(id, "--no-prefix"), 2)
}

func TestRestartGoesOnFromTheCheckpointOnYARN(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("restart-from-checkpoint", *torch)
	log := w.logs(id, "--no-prefix")
	train.ConsecutiveSteps(t, log, 2, 60)
}
