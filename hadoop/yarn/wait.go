package yarn

import (
	"context"
	"time"
)

// pause waits d, or less when the context ends first; then it says why.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// patience grows from one wait to the next.
type patience struct{ next, most time.Duration }

func (p *patience) pause(ctx context.Context) error {
	d := p.next
	p.next = min(2*p.next, p.most)
	return pause(ctx, d)
}
