package plan

import (
	"testing"
	"time"

	"github.com/muster-project/muster/spec"
)

func TestLargeJobsBeatMoreSeldom(t *testing.T) {
	const second = spec.Duration(time.Second)
	for name, tc := range map[string]struct {
		timing        Timing
		tasks         int
		beat, silence spec.Duration
	}{
		"a few tasks":                   {DefaultTiming(), 8, second, 30 * second},
		"a thousand tasks":              {DefaultTiming(), 1000, second, 30 * second},
		"ten thousand tasks":            {DefaultTiming(), 10_000, 10 * second, 30 * second},
		"silence is some beats":         {DefaultTiming(), 20_000, 20 * second, 60 * second},
		"beats come within a lease":     {DefaultTiming(), 1_000_000, 30 * second, 90 * second},
		"what a site wants more seldom": {Timing{Beat: 5 * second, Silence: 40 * second}, 1000, 5 * second, 40 * second},
		"a test's short silence":        {Timing{Beat: second / 10, Silence: second}, 2, second / 10, second},
	} {
		got := tc.timing.For(tc.tasks)
		if got.Beat != tc.beat || got.Silence != tc.silence {
			t.Errorf("%s: beats every %v, silent after %v; want %v and %v", name, got.Beat, got.Silence, tc.beat, tc.silence)
		}
	}
}
