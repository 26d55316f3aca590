//go:build frameworks

package train

import (
	"strconv"
	"strings"
	"testing"
)

// falling demands that the loss was told and that it fell.
func falling(t *testing.T, log string) {
	t.Helper()
	losses := All(`loss (\d+\.\d+)`, log)
	if len(losses) < 5 {
		t.Fatalf("the loss was told %d times:\n%s", len(losses), log)
	}
	first, err := strconv.ParseFloat(losses[0][1], 64)
	if err != nil {
		t.Fatal(err)
	}
	last, err := strconv.ParseFloat(losses[len(losses)-1][1], 64)
	if err != nil {
		t.Fatal(err)
	}
	if last > first/2 {
		t.Errorf("the loss went from %v to %v, want less than half", first, last)
	}
}

func TestPyTorchFourRanksTwoInATaskLearnTheSameModel(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("pytorch-ddp", python(t, "torch"))
	log := w.logs(id, "--no-prefix")
	falling(t, log)
	var ranks strings.Builder
	for line := range strings.Lines(log) {
		if rest, ok := strings.CutPrefix(line, "rank "); ok {
			ranks.WriteString(rest)
		}
	}
	SameWeights(t, ranks.String(), 4)
	for rank := range 4 {
		if len(All(`(?m)^`+strconv.Itoa(rank)+`: weights`, ranks.String())) != 1 {
			t.Errorf("rank %d did not tell its weights once:\n%s", rank, ranks.String())
		}
	}
	facts, _, status := w.muster("events", id, "-o", "json")
	if status != 0 || !strings.Contains(facts, `"progress.reported"`) {
		t.Errorf("status %d; no progress in the journal:\n%s", status, facts)
	}
}

func TestPyTorchGoesOnFromItsCheckpointWithConsecutiveSteps(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("restart-from-checkpoint", python(t, "torch"))
	first := w.logs(id, "--no-prefix", "--incarnation", "1")
	second := w.logs(id, "--no-prefix", "--incarnation", "2")
	if !strings.Contains(first, "crashing on purpose") {
		t.Fatalf("nothing crashed:\n%s", first)
	}
	ConsecutiveSteps(t, first+second, 2, 60)
	falling(t, first+second)
	SameWeights(t, second, 2)
}

func TestTensorFlowTrainsByAParameterServer(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("tensorflow-ps", python(t, "tensorflow"))
	chief := w.logs(id, "--no-prefix", "--role", "chief")
	falling(t, chief)
	if !strings.Contains(chief, "variables live in /job:ps/") {
		t.Errorf("the variables are not on the parameter server:\n%s", chief)
	}
	evaluator := w.logs(id, "--no-prefix", "--role", "evaluator")
	last := All(Weights+` after step 300`, evaluator)
	if len(last) != 1 {
		t.Fatalf("the evaluator tested the last checkpoint %d times:\n%s", len(last), evaluator)
	}
	SameWeights(t, chief+last[0][0], 2)
}

func TestTensorFlowWorkersMirrorOneModel(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("tensorflow-multiworker", python(t, "tensorflow"))
	log := w.logs(id, "--no-prefix")
	falling(t, log)
	SameWeights(t, log, 2)
}

func TestClientsStartWhenTheirServerIsReady(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("after-ready", "")
	log := w.logs(id, "--no-prefix", "--role", "client")
	for _, answer := range []string{"7 squared is 49", "8 squared is 64"} {
		if !strings.Contains(log, answer) {
			t.Errorf("no client printed %q:\n%s", answer, log)
		}
	}
}
