package record

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Step is one that a training has made, as testdata/train.py writes it down
// before it is saved.
type Step struct {
	Epoch, Number int
	At            time.Time
}

// ReadSteps reads the steps of a file; none where there is no file yet.
func ReadSteps(file string) []Step {
	text, _ := os.ReadFile(file)
	var out []Step
	for line := range strings.Lines(string(text)) {
		var s Step
		var at float64
		if !strings.HasSuffix(line, "\n") {
			break // is being written
		}
		if n, _ := fmt.Sscanf(line, "%d %d %f", &s.Epoch, &s.Number, &at); n == 3 {
			s.At = time.UnixMicro(int64(at * 1e6))
			out = append(out, s)
		}
	}
	return out
}

// Consecutive checks that steps follow each other: within an epoch each the one
// before; a restart repeats at most the step whose checkpoint was not finished.
// The number is how many steps were lost, which is how many a restart repeats
// beside that one, or leaves out.
func Consecutive(steps []Step) (lost int, err error) {
	for i, s := range steps {
		next, again := 1, 1
		if i > 0 {
			last := steps[i-1]
			next, again = last.Number+1, last.Number+1
			if s.Epoch > last.Epoch {
				again = last.Number
			}
		}
		if s.Number == next || s.Number == again {
			continue
		}
		lost += max(next-s.Number, s.Number-next)
		if err == nil {
			err = fmt.Errorf("step %d of epoch %d: comes where step %d should", s.Number, s.Epoch, next)
		}
	}
	return lost, err
}

// Pause is the longest time between two steps of which the second came after a
// moment.
func Pause(steps []Step, since time.Time) time.Duration {
	longest := time.Duration(0)
	for i := 1; i < len(steps); i++ {
		if steps[i].At.After(since) {
			longest = max(longest, steps[i].At.Sub(steps[i-1].At))
		}
	}
	return longest
}
