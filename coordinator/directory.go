package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/storage"
	"github.com/muster-project/muster/wire"
)

func readSubmission(ctx context.Context, fsys storage.FS, dir string) (backend.Submission, error) {
	var sub backend.Submission
	path := filepath.Join(dir, "submission.json")
	data, err := readAll(ctx, fsys, path)
	if err == nil {
		err = json.Unmarshal(data, &sub)
	}
	if err == nil && sub.Plan == nil {
		err = errors.New("no plan in it")
	}
	if err != nil {
		return sub, fmt.Errorf("%s: no job can be read from it: %w", path, err)
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
func readAuthority(dir, job string) (*wire.Authority, error) {
	path := filepath.Join(dir, "authority.pem")
	text, err := os.ReadFile(path)
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
	temp := path + ".new"
	if err := os.WriteFile(temp, text, 0o600); err != nil {
		return nil, err
	}
	return a, os.Rename(temp, path)
}

// writeEndpoint leaves the coordinator's address for executors that look for it.
func writeEndpoint(ctx context.Context, fsys storage.FS, dir string, term int64, address string) error {
	data, err := json.Marshal(struct {
		Term    int64  `json:"term"`
		Address string `json:"address"`
	}{term, address})
	if err != nil {
		return err
	}
	at := filepath.Join(dir, "endpoint")
	if err := fsys.Mkdir(ctx, at, 0o700); err != nil {
		return err
	}
	w, err := fsys.Create(ctx, filepath.Join(at, fmt.Sprintf("%06d", term)), 0o600)
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return errors.Join(err, w.Sync(ctx), w.Close())
}
