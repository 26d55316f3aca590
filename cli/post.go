package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/muster-project/muster/access"
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
	mode := fs.FileMode(0o600)
	if j.foreign() {
		mode = 0o644 // for its coordinator: nobody else gets into the mailbox
	}
	err = storage.PublishBytes(ctx, fsys, path.Join(j.Dir, "mailbox", rand.Text()+".json"), mode, data)
	if j.foreign() && errors.Is(err, fs.ErrPermission) {
		err = &access.Denied{Job: j.ID, Owner: j.remote.Ref.Owner, Person: j.remote.User, Right: access.Modify}
		return fault(exitRefused, err)
	}
	if err != nil {
		return fault(exitRefused, fmt.Errorf("%s: its coordinator cannot be told: %w", j.ID, err))
	}
	return nil
}
