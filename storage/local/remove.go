package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Remove removes a path with all that is in it. Directories that their own
// owner may not write, as module caches have them, do not stop it.
func (FS) Remove(ctx context.Context, path string) error {
	if err := check(ctx, path); err != nil {
		return err
	}
	err := os.RemoveAll(path)
	if errors.Is(err, fs.ErrPermission) {
		unlock(path)
		err = os.RemoveAll(path)
	}
	if err != nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			path = pe.Path
		}
		return problem(path, "cannot remove", err)
	}
	return nil
}

// unlock makes every directory below path writable as far as we may; what it
// cannot change, RemoveAll names.
func unlock(path string) {
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, _ error) error {
		if d == nil || !d.IsDir() {
			return nil
		}
		// WalkDir calls before it reads a directory, and again with an error where
		// it could not: the mode is right before the first read.
		_ = os.Chmod(p, 0o700)
		return nil
	})
}
