package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/storage"
)

// post leaves a message in the mailbox of a job on a cluster, where its
// coordinator finds it, or the next one does. It appears whole.
func (e *Env) post(ctx context.Context, j job, m api.Mail) error {
	fsys, err := e.storage(j)
	if err != nil {
		return err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return fault(exitInternal, err)
	}
	err = storage.PublishBytes(ctx, fsys, path.Join(j.Dir, "mailbox", rand.Text()+".json"), 0o600, data)
	if err != nil {
		return fault(exitRefused, fmt.Errorf("%s: its coordinator cannot be told: %w", j.ID, err))
	}
	return nil
}
