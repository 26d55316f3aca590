package yarn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/plan"
)

// Find recovers the reference of a job by its id.
func (b *Backend) Find(ctx context.Context, id string) (backend.Ref, error) {
	if err := b.connect(); err != nil {
		return backend.Ref{}, err
	}
	if parsed, err := plan.ParseID(id); err != nil || parsed != id {
		return backend.Ref{}, fmt.Errorf("%s: %w", id, backend.ErrUnknownJob)
	}
	dir, err := b.dirIn(ctx, b.Layout, id)
	if errors.Is(err, backend.ErrUnknownJob) {
		return b.other(ctx, id)
	}
	if err != nil {
		return backend.Ref{}, err
	}
	return b.refOf(ctx, id, dir)
}

// dirIn is the directory of a job of the user whose layout this is. A job that
// was given another directory by native.yarn.dir has a file in the usual place
// that names it.
func (b *Backend) dirIn(ctx context.Context, l Layout, id string) (JobDir, error) {
	dir := l.Job(id)
	info, err := b.fs.Stat(ctx, string(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s: %w", id, backend.ErrUnknownJob)
	case err != nil:
		return "", b.refusal(err)
	case info.IsDir():
		return dir, nil
	}
	text, err := readText(ctx, b.fs, string(dir))
	return JobDir(text), err
}

// refOf is the reference of a job with its newest application.
func (b *Backend) refOf(ctx context.Context, id string, dir JobDir) (backend.Ref, error) {
	if _, err := b.fs.Stat(ctx, dir.Submission()); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return backend.Ref{}, fmt.Errorf("%s: %w", id, backend.ErrUnknownJob)
		}
		return backend.Ref{}, err
	}
	t, err := b.newest(ctx, dir)
	if err != nil {
		return backend.Ref{}, err
	}
	return backend.Ref{Job: id, Native: t.app, Dir: string(dir)}, nil
}

// try is one submission of a job to the resource manager.
type try struct {
	n   int    // from 1; 0 if there is none yet
	app string // application id
}

// newest is a job's last submission so far.
func (b *Backend) newest(ctx context.Context, dir JobDir) (try, error) {
	files, err := b.fs.List(ctx, dir.Apps())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return try{}, err
	}
	var t try
	for _, f := range files {
		var n int
		if _, err := fmt.Sscanf(f.Name(), "%06d", &n); err == nil && path.Base(dir.App(n)) == f.Name() && n > t.n {
			t.n = n
		}
	}
	if t.n > 0 {
		t.app, err = readText(ctx, b.fs, dir.App(t.n))
		return t, err
	}
	return t, nil
}

// List gives all jobs of the user, the oldest first.
func (b *Backend) List(ctx context.Context) ([]backend.Ref, error) {
	if err := b.connect(); err != nil {
		return nil, err
	}
	files, err := b.fs.List(ctx, b.Layout.Jobs())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, b.refusal(err)
	}
	slices.SortStableFunc(files, func(x, y fs.FileInfo) int { return x.ModTime().Compare(y.ModTime()) })
	var out []backend.Ref
	for _, f := range files {
		id, err := plan.ParseID(f.Name())
		if err != nil || id != f.Name() {
			continue
		}
		ref, err := b.Find(ctx, id)
		if errors.Is(err, backend.ErrUnknownJob) {
			continue // being made, or removed since
		}
		if err != nil {
			return out, err
		}
		out = append(out, ref)
	}
	return out, nil
}
