package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Unpack makes dir out of the archive in r: tar.zst, tar.gz, tar.bz2, tar or
// zip, told by content and not by name. dir must not exist, or be empty.
//
// It appears under its name only when it is complete; a process killed on the
// way leaves a sibling that starts with a dot and ends in ".unpacking". No entry
// gets outside of dir, be it by "..", by an absolute name or through a link.
// Devices and pipes in a user's archive are passed over.
func Unpack(ctx context.Context, r io.Reader, dir string) error {
	dir = filepath.Clean(dir)
	temp, err := os.MkdirTemp(filepath.Dir(dir), "."+short(filepath.Base(dir))+".*.unpacking")
	if err != nil {
		return fmt.Errorf("%s: cannot unpack: %w", dir, cause(err))
	}
	if err := unpack(ctx, r, temp); err != nil {
		return fmt.Errorf("%s: cannot unpack: %w", dir, errors.Join(err, removeAll(temp)))
	}
	// rename(2) takes the place of an empty directory and of nothing else.
	if err := unix.Rename(temp, dir); err != nil {
		return fmt.Errorf("%s: cannot unpack: %w", dir, errors.Join(err, removeAll(temp)))
	}
	return nil
}

// short keeps the temporary name within what a file system takes.
func short(name string) string { return name[:min(len(name), 100)] }

func unpack(ctx context.Context, r io.Reader, temp string) error {
	root, err := os.OpenRoot(temp)
	if err != nil {
		return cause(err)
	}
	t := &tree{ctx: ctx, root: root, buf: make([]byte, 256<<10), dirs: []dirMode{{".", 0o755}}}
	err = t.read(r)
	if err == nil {
		err = t.finish()
	}
	return errors.Join(err, root.Close())
}

// removeAll also removes directories that the archive made read-only.
func removeAll(dir string) error {
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// tree is the directory being made. Directories stay writable until all is in
// them; their own modes come last.
type tree struct {
	ctx  context.Context
	root *os.Root
	buf  []byte
	dirs []dirMode
}

type dirMode struct {
	name string
	mode fs.FileMode
}

// clean makes a name relative to the root; "" is the root itself. Leading
// slashes go, as tar itself has it.
func clean(name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("%q: not a name", name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", fmt.Errorf("%s: leads outside of the archive", name)
		}
	}
	name = strings.TrimLeft(path.Clean(name), "/")
	if name == "." {
		return "", nil
	}
	return name, nil
}

func (t *tree) dir(name string, mode fs.FileMode) error {
	if name == "" {
		name = "."
	} else {
		// Through MkdirAll, because archives need not name a directory before what
		// is in it.
		if err := t.root.MkdirAll(name, 0o700); err != nil {
			return fmt.Errorf("%s: cannot make directory: %w", name, cause(err))
		}
	}
	t.dirs = append(t.dirs, dirMode{name, mode.Perm()})
	return nil
}

// make calls create for a new entry. A later entry of the same name takes the
// place of an earlier one, as in tar, unless that is a directory.
func (t *tree) make(name string, create func() error) error {
	if name == "" {
		return errors.New("an entry has no name")
	}
	err := create()
	if errors.Is(err, fs.ErrNotExist) && path.Dir(name) != "." {
		if err := t.root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return fmt.Errorf("%s: cannot make directory: %w", path.Dir(name), cause(err))
		}
		err = create()
	}
	if errors.Is(err, fs.ErrExist) {
		if rerr := t.root.Remove(name); rerr == nil {
			err = create()
		}
	}
	if err != nil {
		return fmt.Errorf("%s: cannot make: %w", name, cause(err))
	}
	return nil
}

func (t *tree) file(name string, mode fs.FileMode, r io.Reader) error {
	var f *os.File
	err := t.make(name, func() (err error) {
		f, err = t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	h := &holes{file: f}
	_, err = copyBuffer(t.ctx, h, r, t.buf)
	if err == nil {
		err = errors.Join(h.finish(), f.Chmod(mode.Perm()))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: cannot write: %w", name, cause(err))
	}
	return nil
}

func (t *tree) symlink(name, target string) error {
	return t.make(name, func() error { return t.root.Symlink(target, name) })
}

func (t *tree) hardlink(name, target string) error {
	target, err := clean(target)
	if err != nil {
		return err
	}
	if target == name {
		return fmt.Errorf("%s: is a link to itself", name)
	}
	return t.make(name, func() error { return t.root.Link(target, name) })
}

func (t *tree) finish() error {
	done := map[string]bool{}
	for _, d := range slices.Backward(t.dirs) {
		if done[d.name] {
			continue // named twice: the later mode holds
		}
		done[d.name] = true
		// A link may have taken its place since; that one has no mode.
		info, err := t.root.Lstat(d.name)
		if err != nil || !info.IsDir() {
			continue
		}
		if err := t.root.Chmod(d.name, d.mode); err != nil {
			return fmt.Errorf("%s: cannot set mode: %w", d.name, cause(err))
		}
	}
	return nil
}
