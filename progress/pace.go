package progress

import (
	"math"
	"time"
)

// Pace is how long a step takes now. Steps are seen when somebody looks, not
// when they are made, so each look gives an average over those since the last
// one, and what it gives is smoothed over some seconds.
type Pace struct {
	step  int64
	at    time.Time
	value float64 // seconds of a step; 0: not known
}

// smooth is over which time steps are averaged; a step that takes longer
// stands for itself.
const smooth = 15 * time.Second

// Step takes the step that a task is at, and when that was seen, and gives the
// seconds of a step; 0: not known yet.
func (p *Pace) Step(step int64, at time.Time) float64 {
	switch {
	case p.at.IsZero() || step < p.step: // the first look, or the next epoch of those that are counted alone
		p.step, p.at = step, at
	case step > p.step:
		passed := at.Sub(p.at)
		if passed <= 0 {
			return p.value
		}
		each := passed.Seconds() / float64(step-p.step)
		if p.value == 0 {
			p.value = each
		} else {
			part := 1 - math.Exp(-float64(passed)/float64(smooth))
			p.value += part * (each - p.value)
		}
		p.step, p.at = step, at
	}
	return p.value
}
