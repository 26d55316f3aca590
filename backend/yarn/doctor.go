package yarn

import (
	"context"

	"github.com/muster-project/muster/backend"
)

// Diagnose says what is wrong with the site.
func (b *Backend) Diagnose(ctx context.Context) []backend.Diagnosis { return nil }
