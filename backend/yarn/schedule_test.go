package yarn

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTokensAreReplacedWellBeforeTheirEnd(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	life := func(from, whole time.Duration) tokenLife {
		return tokenLife{Issued: start.Add(from), End: start.Add(from + whole)}
	}
	for name, tc := range map[string]struct {
		lives  []tokenLife
		chance float64
		want   time.Duration
		end    time.Duration
	}{
		"a week":                      {[]tokenLife{life(0, 7*day)}, 0, 126 * time.Hour, 7 * day},
		"a week, by chance":           {[]tokenLife{life(0, 7*day)}, 1, 126*time.Hour - 504*time.Minute, 7 * day},
		"a day":                       {[]tokenLife{life(0, day)}, 0, 18 * time.Hour, day},
		"a short one counts":          {[]tokenLife{life(0, 7*day), life(time.Hour, 80*time.Second)}, 0, time.Hour + time.Minute, time.Hour + 80*time.Second},
		"an old one counts":           {[]tokenLife{life(0, 7*day), life(-6*day, 7*day)}, 0, -18 * time.Hour, day},
		"one that was dead when born": {[]tokenLife{life(-8*day, 7*day)}, 0, -66 * time.Hour, -day},
	} {
		if got := due(tc.lives, tc.chance).Sub(start); got != tc.want {
			t.Errorf("%s: due after %v, want %v", name, got, tc.want)
		}
		if got := end(tc.lives).Sub(start); got != tc.end {
			t.Errorf("%s: ends after %v, want %v", name, got, tc.end)
		}
	}
	if !due(nil, 0.5).IsZero() || !end(nil).IsZero() {
		t.Error("of nothing something is known")
	}
}

// Whatever the life and the chances, there is time for many tries between the
// first one and the end, none comes at once, and the last is near the end.
func TestFailuresLeaveTimeForManyTries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := time.Duration(rapid.Int64Range(int64(time.Minute), int64(30*24*time.Hour)).Draw(t, "life"))
		l := tokenLife{Issued: time.Unix(0, 0)}
		l.End = l.Issued.Add(whole)
		chance := rapid.Float64Range(0, 0.999)
		now := due([]tokenLife{l}, chance.Draw(t, "chance"))
		if now.Before(l.Issued.Add(whole*2/3)) || now.After(l.Issued.Add(whole*3/4)) {
			t.Fatalf("due %v after a life of %v began", now.Sub(l.Issued), whole)
		}
		tries := 0
		for left := l.End.Sub(now); left > 0; left = l.End.Sub(now) {
			tries++
			wait := again(left, tries, chance.Draw(t, "chance"))
			if wait < tryLeast/2 || wait > tryMost*3/2 || wait > max(left/8, 2*tryLeast) {
				t.Fatalf("%v to wait with %v left, after %d failures", wait, left, tries)
			}
			now = now.Add(wait)
		}
		if tries < 10 {
			t.Fatalf("%d tries in the last quarter of %v", tries, whole)
		}
		if wait := again(-time.Hour, tries, chance.Draw(t, "chance")); wait < tryLeast/2 || wait > 90*time.Second {
			t.Fatalf("%v to wait after the end", wait)
		}
	})
}
