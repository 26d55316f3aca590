package yarn

import (
	"context"
	"slices"
	"time"
)

// pacer waits a little longer each time.
type pacer struct{ next, most time.Duration }

func (p *pacer) pause(ctx context.Context) error {
	t := time.NewTimer(p.next)
	defer t.Stop()
	p.next = min(2*p.next, p.most)
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// compact sorts words and keeps each once.
func compact(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}
