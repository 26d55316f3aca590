package yarn

import (
	"context"

	"github.com/muster-project/muster/backend"
)

// Explain says why a job waits.
func (b *Backend) Explain(ctx context.Context, ref backend.Ref) ([]backend.Reason, error) {
	return nil, nil
}
