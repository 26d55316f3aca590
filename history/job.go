package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/storage"
)

// Job is one job directory.
type Job struct {
	ID  string
	Dir string
	At  time.Time // of its first event; of the directory while there is none
}

// Jobs lists the job directories below root, by id. What is wrong with one of
// them never hides another: bad ones are left out and reported together in the
// error, which comes beside the list of the good ones.
func Jobs(ctx context.Context, fsys storage.FS, root string) ([]Job, error) {
	list, err := fsys.List(ctx, root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nothing was submitted yet
	}
	if err != nil {
		return nil, err
	}
	var jobs []Job
	var bad []error
	for _, info := range list {
		if !info.IsDir() {
			continue
		}
		job := Job{ID: info.Name(), Dir: path.Join(root, info.Name()), At: info.ModTime()}
		first, err := first(ctx, fsys, job.Dir)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			bad = append(bad, err)
			continue
		case first != nil:
			job.At = first.At
		}
		jobs = append(jobs, job)
	}
	return jobs, errors.Join(bad...)
}

// first gives the first event of a job, nil if it has no journal yet.
func first(ctx context.Context, fsys storage.FS, dir string) (*event.Event, error) {
	terms, err := segments(ctx, fsys, dir)
	if err != nil || len(terms) == 0 {
		return nil, err
	}
	for e, err := range Read(ctx, fsys, dir, 1) {
		return &e, err
	}
	return nil, fmt.Errorf("%s: its journal is empty", dir)
}
