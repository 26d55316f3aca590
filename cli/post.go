package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"github.com/muster-project/muster/api"
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
	name := rand.Text() + ".json"
	box := path.Join(j.Dir, "mailbox")
	temp := path.Join(box, "."+name)
	w, err := fsys.Create(ctx, temp, 0o600)
	if err == nil {
		_, err = w.Write(data)
		err = errors.Join(err, w.Sync(ctx), w.Close())
	}
	if err == nil {
		err = fsys.Rename(ctx, temp, path.Join(box, name))
	}
	if err != nil {
		return fault(exitRefused, fmt.Errorf("%s: its coordinator cannot be told: %w", j.ID, err))
	}
	return nil
}
