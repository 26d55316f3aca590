package keep

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
)

// Now brings what is kept and what the watched streams hold now: Live must give
// streams that end there. Streams that nobody can be asked for are left as the
// chunks have them.
func (m *Mirror) Now(ctx context.Context) error {
	_, err := m.Once(ctx)
	if m.Live == nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(readers)
	for _, p := range m.all() {
		for _, stream := range p.unheard() {
			group.Go(func() error {
				if _, err := m.hear(ctx, p, stream); err != nil {
					m.log().Debug("stream is not heard live for now", "task", p.String(), "stream", stream, "error", err)
				}
				return ctx.Err()
			})
		}
	}
	return errors.Join(err, group.Wait())
}
