package train

import (
	"regexp"
	"strconv"
	"testing"
)

// Weights is the line that every rank of the examples ends with.
const Weights = `(\w+): weights ([0-9a-f]{16}), accuracy ([01]\.\d+)`

// SameWeights demands one such line from each rank in what the tasks printed, at
// least 0.90 accuracy on digits that the model has never seen, and the same
// weights everywhere.
func SameWeights(t testing.TB, log string, ranks int) {
	t.Helper()
	lines := All(Weights, log)
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

// ConsecutiveSteps demands that a training of so many steps was crashed, went on
// in so many ranks after step 25, and left out or repeated no step.
func ConsecutiveSteps(t testing.TB, log string, ranks, steps int) {
	t.Helper()
	if n := len(All(`going on after step 25`, log)); n != ranks {
		t.Errorf("%d ranks went on after step 25, want %d:\n%s", n, ranks, log)
	}
	told := All(`(?m)^step (\d+):`, log)
	for i, s := range told {
		if s[1] != strconv.Itoa(i+1) {
			t.Fatalf("step %s comes where step %d should:\n%s", s[1], i+1, log)
		}
	}
	if len(told) != steps {
		t.Errorf("%d steps, want %d", len(told), steps)
	}
}

// All gives the submatches of every match.
func All(pattern, text string) [][]string {
	return regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1)
}
