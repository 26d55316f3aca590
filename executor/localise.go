package executor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/muster-project/muster/internal/frugal"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/storage/archive"
	"github.com/muster-project/muster/storage/blob"
	"github.com/muster-project/muster/storage/local"
)

// Names in an incarnation's own directory (MUSTER_DIR).
const (
	workDir      = "work"
	logDir       = "logs"
	toolDir      = "bin"
	rosterFile   = "roster.json"
	deadlineFile = "deadline" // absent until the task is preempted; then the time of the kill
	reportFile   = "report.jsonl"
	readyFile    = "ready"
)

// prepare makes an incarnation's directory and holds its ports. Each
// incarnation has a work directory of its own, so a restart never meets the
// leftovers of what failed.
func (e *executor) prepare(ctx context.Context, dir string, ports []plan.Port) (*hold, error) {
	if err := e.checkGrant(); err != nil {
		return nil, err
	}
	for _, d := range []string{filepath.Join(dir, logDir), e.Checkpoint} {
		if d == "" {
			continue
		}
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("%s: cannot be made: %w", d, cause(err))
		}
	}
	if err := e.saver.fetch(ctx, e); err != nil {
		return nil, err
	}
	if err := e.localise(ctx, filepath.Join(dir, workDir)); err != nil {
		return nil, err
	}
	if err := e.interpreter(ctx, filepath.Join(dir, toolDir)); err != nil {
		return nil, err
	}
	if e.Work.Archive != "" || len(e.Work.Files) > 0 {
		// Unpacking took more memory than the rest of our life does. Pools let go of
		// theirs at the second collection only.
		runtime.GC()
		debug.FreeOSMemory()
	}
	frugal.Drop()
	return holdPorts(ctx, ports)
}

// localise fills the work directory: a copy of its own from the archive, or the
// directory itself, and the further files.
func (e *executor) localise(ctx context.Context, own string) error {
	work := own
	switch {
	case e.Work.InPlace:
		work = e.Work.Source
		if info, err := os.Stat(work); err != nil {
			return fmt.Errorf("workdir %s: cannot be used on this node: %w", work, cause(err))
		} else if !info.IsDir() {
			return fmt.Errorf("workdir %s: is not a directory", work)
		}
	default:
		// What a killed executor left half done is no start.
		if err := os.RemoveAll(own); err != nil {
			return fmt.Errorf("%s: cannot be emptied: %w", own, cause(err))
		}
		if e.Work.Archive == "" {
			if err := os.Mkdir(own, 0o700); err != nil {
				return fmt.Errorf("%s: cannot be made: %w", own, cause(err))
			}
		} else if err := e.unpack(ctx, e.Work.Archive, own); err != nil {
			return fmt.Errorf("workdir: %w", err)
		}
	}
	root, err := os.OpenRoot(work)
	if err != nil {
		return fmt.Errorf("workdir %s: %w", work, cause(err))
	}
	defer func() { _ = root.Close() }()
	var wrong []error
	for _, f := range e.Work.Files {
		if err := e.place(ctx, root, f); err != nil {
			wrong = append(wrong, fmt.Errorf("files: %s: %w", f.Name, err))
		}
	}
	return errors.Join(wrong...)
}

func (e *executor) unpack(ctx context.Context, address, dir string) error {
	r, err := e.source(ctx, address, "")
	if err != nil {
		return err
	}
	defer r.Close()
	return archive.Unpack(ctx, r, dir)
}

// source opens a staged file, whose content is held against its address while it
// is read, or its source where nothing was staged because every node sees it.
func (e *executor) source(ctx context.Context, address, source string) (io.ReadCloser, error) {
	var r io.ReadCloser
	var err error
	if remote := (plan.File{Source: source, Blob: address}); remote.Remote() {
		source = filepath.Join(e.Blobs, remote.Key())
		r, err = os.Open(source) // its name says where it was, not what is in it
	} else if address != "" {
		store := blob.Store{FS: local.FS{}, Dir: e.Blobs}
		source = store.Path(address)
		r, err = store.Open(ctx, address)
	} else {
		r, err = os.Open(source)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w", source, cause(err))
	}
	return r, nil
}

// place puts one more file into the work directory. In a directory that others
// use too (in place) an equal file is left as it is, and another one is never
// replaced.
func (e *executor) place(ctx context.Context, root *os.Root, f plan.File) error {
	if parent := filepath.Dir(f.Name); parent != "." {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return cause(err)
		}
	}
	if f.Unpack {
		if _, err := root.Lstat(f.Name); err == nil && e.Work.InPlace {
			return nil
		}
		in, err := e.source(ctx, f.Blob, f.Source)
		if err != nil {
			return err
		}
		defer in.Close()
		return archive.Unpack(ctx, in, filepath.Join(root.Name(), f.Name))
	}
	in, err := e.source(ctx, f.Blob, f.Source)
	if err != nil {
		return err
	}
	defer in.Close()
	mode := fs.FileMode(f.Mode).Perm()
	if mode == 0 {
		mode = 0o644
	}
	if !e.Work.InPlace {
		if err := root.Remove(f.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cause(err)
		}
	}
	out, err := root.OpenFile(f.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return same(root, f.Name, in)
	}
	if err != nil {
		return cause(err)
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(mode)
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return errors.Join(cause(err), root.Remove(f.Name))
	}
	return nil
}

// same accepts a file that is there already if its content is the wanted one.
func same(root *os.Root, name string, want io.Reader) error {
	have, err := root.Open(name)
	if err != nil {
		return cause(err)
	}
	defer have.Close()
	a, err := sum(have)
	if err != nil {
		return err
	}
	b, err := sum(want)
	if err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return errors.New("another file of that name is in the work directory, which is used in place")
	}
	return nil
}

func sum(r io.Reader) ([]byte, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return nil, cause(err)
	}
	return h.Sum(nil), nil
}

// cause is what the system said, without the path that our sentence names.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
