package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/muster-project/muster/storage/blob"
)

// packs keeps packed directories and files of jobs on clusters on this machine,
// from where a backend takes them. What was packed before is packed no second
// time by content: the cluster may have it, too.
type packs struct {
	store blob.Store
	paths map[string]string // by content address
}

func (e *Env) packs() (*packs, error) {
	paths, err := e.Paths()
	if err != nil {
		return nil, err
	}
	return &packs{store: blob.Store{FS: disk, Dir: filepath.Join(paths.State, "blobs")}, paths: map[string]string{}}, nil
}

// HasBlob says whether the content is kept, and notes that the job wants it.
func (p *packs) HasBlob(ctx context.Context, sha string) (bool, error) {
	has, err := p.store.Has(ctx, sha)
	if has {
		p.paths[sha] = p.store.Path(sha)
	}
	return has, err
}

// PutBlob keeps what open gives.
func (p *packs) PutBlob(ctx context.Context, sha string, open func() (io.ReadCloser, error)) error {
	in, err := open()
	if err != nil {
		return err
	}
	got, err := p.store.Put(ctx, in)
	if err := errors.Join(err, in.Close()); err != nil {
		return err
	}
	if got != sha {
		return fmt.Errorf("it changed while it was read")
	}
	p.paths[sha] = p.store.Path(sha)
	return nil
}
