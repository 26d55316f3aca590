package yarn

import "time"

// tokenLife is what is known of the life of one delegation token.
type tokenLife struct {
	Issued time.Time
	// End is when it dies if nobody does anything: the end of its life where the
	// resource manager prolongs it until then, else when it had to be prolonged.
	End time.Time
}

// due is when tokens are to be replaced: when three quarters of the first one's
// life are over, or up to a twentieth of it earlier, by chance (0 to 1), so that
// the jobs that a restarted service let in together do not come back together.
// The zero time says that nothing is known, which is no reason to wait.
func due(lives []tokenLife, chance float64) time.Time {
	var first time.Time
	for i, l := range lives {
		whole := l.End.Sub(l.Issued)
		at := l.Issued.Add(whole*3/4 - time.Duration(chance*float64(whole)/20))
		if i == 0 || at.Before(first) {
			first = at
		}
	}
	return first
}

// end is when the first of the tokens dies.
func end(lives []tokenLife) time.Time {
	var first time.Time
	for i, l := range lives {
		if i == 0 || l.End.Before(first) {
			first = l.End
		}
	}
	return first
}

// Waits between two tries to get new tokens.
const (
	tryLeast = time.Second
	tryMost  = 10 * time.Minute
	// tryShare of what is left of the old ones' life is waited for: the tries
	// become more frequent as the end comes near, and there are many of them.
	tryShare = 16
)

// again is how long to wait after a try that failed. The first wait is short
// however long the tokens live, because most failures are over soon; later ones
// grow, but never beyond a share of the time that is left. What has died already
// is tried for as often as a service that is back after an outage can bear.
func again(left time.Duration, failures int, chance float64) time.Duration {
	wait := tryLeast << min(max(failures-1, 0), 20)
	wait = min(wait, tryMost)
	if left > 0 {
		wait = min(wait, max(left/tryShare, tryLeast))
	} else {
		wait = min(wait, time.Minute)
	}
	return wait/2 + time.Duration(chance*float64(wait))
}
