package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Rename moves a file or directory to a name that is free.
func (l FS) Rename(ctx context.Context, from, to string) error {
	if err := errors.Join(check(ctx, from), check(ctx, to)); err != nil {
		return err
	}
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		// NFS and a few others cannot do it in one call.
		err = renameByHand(from, to)
	}
	if err != nil {
		name := from
		if errors.Is(err, fs.ErrExist) {
			name = to
		}
		return problem(name, "cannot rename", err)
	}
	if l.Lazy {
		return nil
	}
	return syncDir(filepath.Dir(to))
}

// renameByHand claims the new name by a call that never replaces, a link for a
// file and an empty directory for a directory, before the old name goes. A
// crash between the two leaves a file with both names, or an empty directory.
func renameByHand(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if err := unix.Mkdir(to, uint32(info.Mode().Perm())); err != nil {
			return err
		}
		if err := unix.Rename(from, to); err != nil {
			return errors.Join(err, unix.Rmdir(to))
		}
		return nil
	}
	if err := unix.Link(from, to); err != nil {
		return err
	}
	return unix.Unlink(from)
}
