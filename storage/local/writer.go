package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

type writer struct {
	file  *os.File
	path  string
	lazy  bool
	named bool // the directory that names the file is on disk
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	if err != nil {
		return n, problem(w.path, "cannot write", err)
	}
	return n, nil
}

// Sync needs to do nothing for other readers: one kernel serves them all. It
// waits for the disk so that a power cut takes nothing back, neither the data
// nor, the first time, the name of the file.
func (w *writer) Sync(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", w.path, err)
	}
	if w.lazy {
		return nil
	}
	if err := unix.Fdatasync(int(w.file.Fd())); err != nil {
		return problem(w.path, "cannot sync", err)
	}
	if !w.named {
		if err := syncDir(filepath.Dir(w.path)); err != nil {
			return err
		}
		w.named = true
	}
	return nil
}

func (w *writer) Close() error {
	if err := w.file.Close(); err != nil {
		return problem(w.path, "cannot close", err)
	}
	return nil
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return problem(path, "cannot open", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return problem(path, "cannot sync", err)
	}
	return nil
}
