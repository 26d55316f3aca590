package yarn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/keep"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/process/capture"
)

var _ backend.Logs = (*Backend)(nil)

// Logs gives what the first process of a task's newest incarnation printed, as
// far as its executor has kept it: all of it once the job has ended. stream is
// "out" or "err". Closing removes the copy that it is read from.
func (b *Backend) Logs(ctx context.Context, ref backend.Ref, id plan.TaskID, stream string) (io.ReadCloser, error) {
	if err := b.connect(); err != nil {
		return nil, err
	}
	if stream != "out" && stream != "err" {
		return nil, fmt.Errorf("stream: %q is neither out nor err", stream)
	}
	task := id.Dir()
	newest, err := b.newestKept(ctx, ref, task)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "muster-logs-")
	if err != nil {
		return nil, fmt.Errorf("logs: cannot be copied here: %w", err)
	}
	m := keep.Mirror{FS: b.fs, Job: ref.Dir, Local: dir, Log: b.Log,
		Want: func(t string, n int) bool { return t == task && n == newest }}
	_, err = m.Once(ctx)
	var log *capture.Bytes
	if err == nil {
		log, err = capture.OpenBytes(filepath.Join(dir, "tasks", task, strconv.Itoa(newest), "logs", "0."+stream), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: logs of %s: %w", ref.Job, id, err), os.RemoveAll(dir))
	}
	return copied{log, dir}, nil
}

// newestKept is the newest incarnation of a task that printed something.
func (b *Backend) newestKept(ctx context.Context, ref backend.Ref, task string) (int, error) {
	files, err := b.fs.List(ctx, path.Dir(keep.Dir(ref.Dir, task, 1)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	newest := 0
	for _, f := range files {
		if n, err := strconv.Atoi(f.Name()); err == nil {
			newest = max(newest, n)
		}
	}
	if newest == 0 {
		return 0, fmt.Errorf("%s: nothing that %s printed is kept yet: %w", ref.Job, task, fs.ErrNotExist)
	}
	return newest, nil
}

// copied is a log that is read from a copy of our own.
type copied struct {
	*capture.Bytes
	dir string
}

func (c copied) Close() error { return errors.Join(c.Bytes.Close(), os.RemoveAll(c.dir)) }
