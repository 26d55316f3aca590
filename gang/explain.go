package gang

import (
	"fmt"
	"time"
)

// roundTo is how exactly spans are told.
const roundTo = time.Second

func share(d time.Duration, part float64) time.Duration { return time.Duration(float64(d) * part) }

// explain says what the head is waiting for.
func (d *decider) explain() {
	d.wait(CodeGathering, fmt.Sprintf("first of %d gangs: holds %s", len(d.sight.rivals())+1, d.progress()), d.progressNumbers())
	lacking := d.minimal(d.held)
	for _, p := range partitions(lacking) {
		sum := total(lacking, p)
		if s := d.share(p); s != nil && s.Maximum != nil && !s.Used.Plus(sum, 1).within(s.Maximum, nil) {
			d.wait(CodeQueueFull, fmt.Sprintf("the queue uses %v of at most %v in %s, %v more is needed", s.Used, s.Maximum, partition(p), sum),
				numbers("used", s.Used, "maximum", s.Maximum, "needed", sum))
		}
		if d.in.Nodes == nil {
			continue
		}
		free := Size{}
		for i := range d.room.spots {
			if s := &d.room.spots[i]; s.partition == p || s.shared && p == "" {
				free = free.Plus(s.free, 1)
			}
		}
		if !sum.Fits(free) {
			d.wait(CodeClusterFull, fmt.Sprintf("%v is free in %s, %v more is needed", free, partition(p), sum), numbers("free", free, "needed", sum))
		} else if at := pack(inPartition(lacking, p), d.room.beside(d.in.Held)); !at.fits {
			d.wait(CodeFragmented, fmt.Sprintf("%v is free in %s, %v more is needed, but not together on the nodes where it would have to be", free, partition(p), sum),
				numbers("free", free, "needed", sum))
		}
	}
}

func (d *decider) progressNumbers() map[string]float64 {
	held, needed := 0, 0
	for _, c := range d.in.Need {
		held += min(d.held[c.Name], c.Minimum)
		needed += c.Minimum
	}
	return map[string]float64{"held": float64(held), "needed": float64(needed)}
}

func inPartition(classes []Class, p string) []Class {
	var out []Class
	for _, c := range classes {
		if c.Partition == p {
			out = append(out, c)
		}
	}
	return out
}
