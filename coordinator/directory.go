package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/storage"
	"github.com/muster-project/muster/wire"
)

func readSubmission(ctx context.Context, fsys storage.FS, dir string) (backend.Submission, error) {
	var sub backend.Submission
	at := path.Join(dir, "submission.json")
	data, err := readAll(ctx, fsys, at)
	if err == nil {
		err = json.Unmarshal(data, &sub)
	}
	if err == nil && sub.Plan == nil {
		err = errors.New("no plan in it")
	}
	if err != nil {
		return sub, fmt.Errorf("%s: no job can be read from it: %w", at, err)
	}
	return sub, nil
}

func readAll(ctx context.Context, fsys storage.FS, path string) ([]byte, error) {
	r, err := fsys.Open(ctx, path, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// readAuthority gives the job's authority, which the first coordinator makes:
// its key never leaves the job's directory and outlives every coordinator.
func readAuthority(ctx context.Context, fsys storage.FS, dir, job string) (*wire.Authority, error) {
	at := path.Join(dir, "authority.pem")
	text, err := readAll(ctx, fsys, at)
	if err == nil {
		return wire.ParseAuthority(text)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	a, err := wire.NewAuthority(job)
	if err != nil {
		return nil, err
	}
	if text, err = a.Marshal(); err != nil {
		return nil, err
	}
	return a, storage.PublishBytes(ctx, fsys, at, 0o600, text)
}

// write makes a file for whoever may see the job.
func write(ctx context.Context, fsys storage.FS, at string, data []byte) error {
	w, err := storage.Shown(fsys).Create(ctx, at, 0o600)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return errors.Join(err, w.Sync(ctx), w.Close())
}

// Endpoint is the file that a coordinator leaves in the directory "endpoint" of
// its job, named by its term: where it listens.
type Endpoint struct {
	Term    int64  `json:"term"`
	Address string `json:"address"`        // for executors
	Page    string `json:"page,omitempty"` // for people and clients, by HTTP
	Key     string `json:"key,omitempty"`  // what lets whoever can read it in there
}

// writeEndpoint leaves the coordinator's address for executors that look for it.
func writeEndpoint(ctx context.Context, fsys storage.FS, dir string, e Endpoint) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	at := path.Join(dir, "endpoint")
	if err := storage.Shown(fsys).Mkdir(ctx, at, 0o700); err != nil {
		return err
	}
	return write(ctx, fsys, path.Join(at, fmt.Sprintf("%06d", e.Term)), append(data, '\n'))
}
