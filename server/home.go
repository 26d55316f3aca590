package server

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/muster-project/muster/api"
)

// home is the directory in which one user's jobs and blobs lie. Under an
// administrator's server it belongs to that user, who may do there what they
// like: so root never follows a path in it that could lead out.
type home struct {
	root  *os.Root
	owner Person
	give  bool // what is made there is given to the owner
}

// openHome opens, and makes, the directory of a user.
func openHome(c *Config, p Person) (*home, error) {
	path := c.State
	if c.Shared {
		path = filepath.Join(c.State, "users", strconv.Itoa(p.UID))
		if err := os.Mkdir(path, 0o700); err == nil {
			if err := os.Lchown(path, p.UID, p.GID); err != nil {
				return nil, unwritable(path, err)
			}
		} else if !errors.Is(err, fs.ErrExist) {
			return nil, unwritable(path, err)
		}
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, unwritable(path, err)
	}
	h := &home{root: root, owner: p, give: c.Shared}
	for _, dir := range []string{"jobs", "blobs"} {
		if err := h.mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
			root.Close()
			return nil, unwritable(filepath.Join(path, dir), err)
		}
	}
	return h, nil
}

func unwritable(path string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return api.Errorf(api.CodeStorage, "%s: cannot be written: %v", path, err).
		WithHint("jobs that run already go on; free space or fix the rights, then try again")
}

func (h *home) close() error { return h.root.Close() }

// path is the absolute form of a path in the home.
func (h *home) path(rel string) string { return filepath.Join(h.root.Name(), rel) }

func (h *home) mkdir(rel string) error {
	if err := h.root.Mkdir(rel, 0o700); err != nil {
		return err
	}
	if h.give {
		return h.root.Lchown(rel, h.owner.UID, h.owner.GID)
	}
	return nil
}

// create makes a new file and fails if there is anything under its name.
func (h *home) create(rel string, mode fs.FileMode) (*os.File, error) {
	return h.open(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

func (h *home) open(rel string, flag int, mode fs.FileMode) (*os.File, error) {
	f, err := h.root.OpenFile(rel, flag, mode)
	if err != nil {
		return nil, err
	}
	if h.give && flag&os.O_CREATE != 0 {
		if err := f.Chown(h.owner.UID, h.owner.GID); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

// write makes a file whose content is on the disk when write returns.
func (h *home) write(rel string, data []byte) error {
	f, err := h.create(rel, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// writeAll makes the files of a directory and returns when they and its entries
// are on the disk, which takes all of them in one go.
func (h *home) writeAll(dir string, files map[string][]byte) error {
	var open []*os.File
	var err error
	for name, data := range files {
		f, cerr := h.create(filepath.Join(dir, name), 0o600)
		if cerr != nil {
			err = cerr
			break
		}
		open = append(open, f)
		if _, err = f.Write(data); err != nil {
			break
		}
	}
	var g errgroup.Group
	for _, f := range open {
		g.Go(func() error { return errors.Join(f.Sync(), f.Close()) })
	}
	g.Go(func() error { return h.syncDir(dir) })
	return errors.Join(err, g.Wait())
}

// place makes a file that appears under its name with all its content.
func (h *home) place(rel string, data []byte) error {
	temp := filepath.Join(filepath.Dir(rel), ".new-"+rand.Text())
	if err := h.write(temp, data); err != nil {
		h.root.Remove(temp)
		return err
	}
	if err := h.root.Rename(temp, rel); err != nil {
		h.root.Remove(temp)
		return err
	}
	return nil
}

func blobPath(sha string) string { return filepath.Join("blobs", sha) }

// putBlob stores what r holds if its hash is sha.
func (h *home) putBlob(sha string, r io.Reader) error {
	temp := filepath.Join("blobs", ".new-"+rand.Text())
	f, err := h.create(temp, 0o400)
	if err != nil {
		return unwritable(h.path("blobs"), err)
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, hash), r)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		h.root.Remove(temp)
		return unwritable(h.path("blobs"), err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sha {
		h.root.Remove(temp)
		return api.Errorf(api.CodeRefused, "blob %s: its content has the hash %s", sha, got)
	}
	if err := h.root.Rename(temp, blobPath(sha)); err != nil {
		h.root.Remove(temp)
		return unwritable(h.path("blobs"), err)
	}
	return nil
}

// hasBlob says whether a blob is there.
func (h *home) hasBlob(sha string) bool {
	info, err := h.root.Lstat(blobPath(sha))
	return err == nil && info.Mode().IsRegular()
}

// goodHash says that a name is the hash of a blob and nothing else.
func goodHash(sha string) error {
	if b, err := hex.DecodeString(sha); err != nil || len(b) != sha256.Size || hex.EncodeToString(b) != sha {
		return api.Errorf(api.CodeRefused, "%s: not the address of a blob: %s", sha, "write 64 hexadecimal digits")
	}
	return nil
}

// syncDir makes the entries of a directory survive a crash.
func (h *home) syncDir(rel string) error {
	f, err := h.root.Open(rel)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// readBelow reads a file that is not larger than any honest one.
func (h *home) readBelow(rel string, limit int64) ([]byte, error) {
	f, err := h.root.OpenFile(rel, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%s: not a file of this server", h.path(rel))
	}
	return io.ReadAll(io.LimitReader(f, limit))
}
