package cli

import (
	"testing"
	"time"
)

// A coordinator that is not there is told only when it stays away: at the end of
// a job it has left before its last words are read.
func TestFollowerBelievesInACoordinatorForAMoment(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := &follower{}
	for _, step := range []struct {
		after time.Duration
		seen  bool
		want  bool
	}{
		{0, true, true},
		{time.Hour, false, true},
		{time.Hour + 2*time.Second, false, true},
		{time.Hour + 3*time.Second, false, false},
		{time.Hour + 4*time.Second, true, true},
		{time.Hour + 5*time.Second, false, true},
	} {
		if got := f.alive(step.seen, start.Add(step.after)); got != step.want {
			t.Errorf("after %v: %v, want %v", step.after, got, step.want)
		}
	}
}
