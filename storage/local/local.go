// Package local is storage.FS over the file system of this machine: paths come
// in, system calls go out. Its promises hold on the usual local file systems.
// A network file system that caches listings, as NFS does, keeps those of one
// machine but not those between machines; see ../README.md.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/storage"
)

// FS is the local file system. The zero value is ready to use.
type FS struct {
	// Lazy leaves it to the kernel when data reaches the disk. What was synced
	// then still survives the death of every process, but not a power cut.
	Lazy bool
}

var _ storage.FS = FS{}

// Open reads a file from offset. An offset beyond the end reads nothing.
func (FS) Open(ctx context.Context, path string, offset int64) (io.ReadCloser, error) {
	if err := check(ctx, path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, problem(path, "cannot open", err)
	}
	if err := seek(f, offset); err != nil {
		return nil, problem(path, "cannot read", errors.Join(err, f.Close()))
	}
	return f, nil
}

func seek(f *os.File, offset int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	// Said now: the first Read would, too, but far from here.
	if info.IsDir() {
		return unix.EISDIR
	}
	_, err = f.Seek(offset, io.SeekStart)
	return err
}

// Create makes a new file with exactly this mode, whatever the umask is.
func (l FS) Create(ctx context.Context, path string, mode fs.FileMode) (storage.Writer, error) {
	if err := check(ctx, path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, mode.Perm())
	if err != nil {
		return nil, problem(path, "cannot create", err)
	}
	if err := f.Chmod(mode.Perm()); err != nil {
		return nil, problem(path, "cannot set mode", errors.Join(err, f.Close(), os.Remove(path)))
	}
	return &writer{file: f, path: path, lazy: l.Lazy}, nil
}

// Mkdir makes a directory and the missing ones above it, all with exactly this
// mode. One that exists keeps the mode it has.
func (FS) Mkdir(ctx context.Context, path string, mode fs.FileMode) error {
	if err := check(ctx, path); err != nil {
		return err
	}
	return mkdir(filepath.Clean(path), mode.Perm())
}

func mkdir(path string, mode fs.FileMode) error {
	err := os.Mkdir(path, mode)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		if err := mkdir(filepath.Dir(path), mode); err != nil {
			return err
		}
		err = os.Mkdir(path, mode)
	}
	if errors.Is(err, fs.ErrExist) {
		info, serr := os.Stat(path)
		if serr == nil && info.IsDir() {
			return nil
		}
	}
	if err != nil {
		return problem(path, "cannot make directory", err)
	}
	if err := os.Chmod(path, mode); err != nil {
		return problem(path, "cannot set mode", err)
	}
	return nil
}

// SetTimes sets when a path was last modified.
func (FS) SetTimes(ctx context.Context, path string, modified time.Time) error {
	if err := check(ctx, path); err != nil {
		return err
	}
	if err := os.Chtimes(path, modified, modified); err != nil {
		return problem(path, "cannot set times", err)
	}
	return nil
}

// List gives what is in a directory, by name. Links are given as links.
func (FS) List(ctx context.Context, path string) ([]fs.FileInfo, error) {
	if err := check(ctx, path); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, problem(path, "cannot list", err)
	}
	out := make([]fs.FileInfo, 0, len(entries))
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went while we looked
		}
		if err != nil {
			return nil, problem(filepath.Join(path, e.Name()), "cannot stat", err)
		}
		out = append(out, info)
	}
	return out, nil
}

// Stat follows links.
func (FS) Stat(ctx context.Context, path string) (fs.FileInfo, error) {
	if err := check(ctx, path); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, problem(path, "cannot stat", err)
	}
	return info, nil
}

func check(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%s: not an absolute path", path)
	}
	return nil
}

// problem puts the path first and keeps the cause, without the words that
// package os adds around it.
func problem(path, what string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return fmt.Errorf("%s: %s: %w", path, what, err)
}
