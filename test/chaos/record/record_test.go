package record

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestConsecutive(t *testing.T) {
	type s = Step
	for name, tc := range map[string]struct {
		steps []Step
		lost  int
	}{
		"none":                                 {nil, 0},
		"one epoch":                            {[]s{{Epoch: 1, Number: 1}, {Epoch: 1, Number: 2}}, 0},
		"a restart goes on":                    {[]s{{Epoch: 1, Number: 1}, {Epoch: 2, Number: 2}}, 0},
		"a restart repeats what was not saved": {[]s{{Epoch: 1, Number: 1}, {Epoch: 1, Number: 2}, {Epoch: 2, Number: 2}}, 0},
		"the same epoch repeats":               {[]s{{Epoch: 1, Number: 1}, {Epoch: 1, Number: 1}}, 1},
		"a restart repeats two":                {[]s{{Epoch: 1, Number: 1}, {Epoch: 1, Number: 2}, {Epoch: 2, Number: 1}}, 2},
		"a step is left out":                   {[]s{{Epoch: 1, Number: 1}, {Epoch: 1, Number: 3}}, 1},
		"it begins late":                       {[]s{{Epoch: 1, Number: 2}}, 1},
	} {
		lost, err := Consecutive(tc.steps)
		if lost != tc.lost || (err == nil) != (tc.lost == 0) {
			t.Errorf("%s: lost %d, %v; want %d", name, lost, err, tc.lost)
		}
	}
}

func TestStepsAreReadAsTheyAreWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "steps")
	if err := os.WriteFile(file, []byte("1 1 10.5\n1 2 12.0\n2 2 20.25\n2 3"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(s float64) time.Time { return time.UnixMicro(int64(s * 1e6)) }
	got := ReadSteps(file)
	if diff := cmp.Diff([]Step{{1, 1, at(10.5)}, {1, 2, at(12)}, {2, 2, at(20.25)}}, got); diff != "" {
		t.Error(diff)
	}
	if p := Pause(got, at(11)); p != 8250*time.Millisecond {
		t.Errorf("pause %s", p)
	}
	if p := Pause(got, at(30)); p != 0 {
		t.Errorf("pause %s after the end", p)
	}
}

func TestAMatrixNamesWhatIsEmpty(t *testing.T) {
	m := Matrix{Rows: []string{"a", "b"}, Columns: []string{"x", "y"}, Outcomes: []string{"good", "bad"}, Why: func(row, column string) string {
		if row == "b" && column == "y" {
			return "cannot be"
		}
		return ""
	}}
	m.Count("a", "x", "bad")
	m.Count("a", "x", "good")
	m.Count("a", "x", "good")
	m.Count("b", "x", "good")
	if diff := cmp.Diff([]string{"a, y"}, m.Empty()); diff != "" {
		t.Error(diff)
	}
	want := "|   | x             | y         |\n|---|---------------|-----------|\n| a | 2 good, 1 bad |           |\n| b | 1 good        | cannot be |\n"
	if diff := cmp.Diff(want, m.String()); diff != "" {
		t.Error(diff)
	}
}
