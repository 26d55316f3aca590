//go:build frameworks

package train

import (
	"strconv"
	"strings"
	"testing"
)

// weights is the line that every rank of the examples ends with.
const weights = `(\w+): weights ([0-9a-f]{16}), accuracy ([01]\.\d+)`

// sameWeights demands one such line from each rank, at least 0.90 accuracy on
// digits that the model has never seen, and the same weights everywhere.
func sameWeights(t *testing.T, log string, ranks int) {
	t.Helper()
	lines := all(weights, log)
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

// falling demands that the loss was told and that it fell.
func falling(t *testing.T, log string) {
	t.Helper()
	losses := all(`loss (\d+\.\d+)`, log)
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
	id := w.succeed("pytorch-ddp", *torch)
	log := w.logs(id, "--no-prefix")
	falling(t, log)
	var ranks strings.Builder
	for line := range strings.Lines(log) {
		if rest, ok := strings.CutPrefix(line, "rank "); ok {
			ranks.WriteString(rest)
		}
	}
	sameWeights(t, ranks.String(), 4)
	for rank := range 4 {
		if len(all(`(?m)^`+strconv.Itoa(rank)+`: weights`, ranks.String())) != 1 {
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
	id := w.succeed("restart-from-checkpoint", *torch)
	first := w.logs(id, "--no-prefix", "--incarnation", "1")
	second := w.logs(id, "--no-prefix", "--incarnation", "2")
	if !strings.Contains(first, "crashing on purpose") {
		t.Fatalf("nothing crashed:\n%s", first)
	}
	if n := len(all(`going on after step 25`, second)); n != 2 {
		t.Errorf("%d ranks went on after step 25, want 2:\n%s", n, second)
	}
	steps := all(`(?m)^step (\d+):`, first+second)
	for i, s := range steps {
		if s[1] != strconv.Itoa(i+1) {
			t.Fatalf("step %s comes where step %d should:\n%s%s", s[1], i+1, first, second)
		}
	}
	if len(steps) != 60 {
		t.Errorf("%d steps, want 60", len(steps))
	}
	falling(t, first+second)
	sameWeights(t, second, 2)
}

func TestTensorFlowTrainsByAParameterServer(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("tensorflow-ps", *tensorflow)
	chief := w.logs(id, "--no-prefix", "--role", "chief")
	falling(t, chief)
	if !strings.Contains(chief, "variables live in /job:ps/") {
		t.Errorf("the variables are not on the parameter server:\n%s", chief)
	}
	evaluator := w.logs(id, "--no-prefix", "--role", "evaluator")
	last := all(weights+` after step 300`, evaluator)
	if len(last) != 1 {
		t.Fatalf("the evaluator tested the last checkpoint %d times:\n%s", len(last), evaluator)
	}
	sameWeights(t, chief+last[0][0], 2)
}

func TestTensorFlowWorkersMirrorOneModel(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("tensorflow-multiworker", *tensorflow)
	log := w.logs(id, "--no-prefix")
	falling(t, log)
	sameWeights(t, log, 2)
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
