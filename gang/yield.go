package gang

import (
	"fmt"
	"slices"
)

// yields is rule R6. What the resource manager took from this gang it took for
// somebody. With its old ticket the gang would be first again, that somebody would give
// everything back by R1, and the resource manager would take it anew: for ever. So
// it is no member of the order while others gather where it asks, for Starve at
// most, since there may always be another newcomer.
func (d *decider) yields() bool {
	since := d.in.Preempted
	if since.IsZero() || d.lapsed || d.now.Sub(since) >= d.in.Times.Starve {
		return false
	}
	text := "was preempted, and looks for whom" // a complete gang may not have looked for long
	if d.in.View.At.After(since) {
		rivals := slices.DeleteFunc(d.sight.rivals(), func(m Member) bool { return m.away }) // its own master may be what was preempted
		if len(rivals) == 0 || d.sight.blind != "" {
			return false
		}
		text = fmt.Sprintf("was preempted, and lets %s%s be first for at most %s", rivals[0].App, named(rivals[0]), d.left(since, d.in.Times.Starve))
	}
	d.drop()
	d.out.Yield = true
	d.wait(CodeYields, text, nil)
	return true
}
