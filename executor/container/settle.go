package container

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
)

// place is where tasks of a container may write beside their work directory.
type place struct {
	dir  string // of the container
	temp string // for TMPDIR
	link string // to be removed; empty: none
}

// Sockets have names of at most 107 bytes. Python puts some into TMPDIR, with
// about 40 more; a container's own directory often is longer than what remains.
const tempMost = 64

const (
	tempRoot = "/tmp"
	tempLink = "muster-tmp-"
)

// settle makes a directory for temporary files in the container, which the node
// removes with it. Where its path is too long it gets a short name below root.
func settle(dir, root string) (*place, error) {
	p := &place{dir: dir, temp: filepath.Join(dir, "tmp")}
	if err := os.MkdirAll(p.temp, 0o700); err != nil {
		return nil, fmt.Errorf("container: no directory for temporary files: %w", err)
	}
	if len(p.temp) <= tempMost {
		return p, nil
	}
	sweep(root)
	link := filepath.Join(root, tempLink+rand.Text()[:10])
	if err := os.Symlink(p.temp, link); err != nil {
		return p, nil //nolint:nilerr // the long name works for nearly everything
	}
	p.temp, p.link = link, link
	return p, nil
}

func (p *place) close() error {
	if p.link == "" {
		return nil
	}
	if err := os.Remove(p.link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("container: %w", err)
	}
	return nil
}

// sweep removes short names of containers that are gone: one that was killed
// could not do it.
func sweep(root string) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempLink) || e.Type() != fs.ModeSymlink {
			continue
		}
		link := filepath.Join(root, e.Name())
		info, err := e.Info()
		if err != nil || !ours(info) {
			continue
		}
		if _, err := os.Stat(link); errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(link) // another executor may have been faster
		}
	}
}

func ours(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// home is the home directory of tasks: the user's own where we run as the user
// and it is there, else one in the container, so that nobody meets the files of
// others or the node's.
func (p *place) home(name string) string {
	if u, err := user.Current(); err == nil && u.Username == name {
		// Where nothing is known of the user it is what the NodeManager set, /home.
		if info, err := os.Stat(u.HomeDir); err == nil && info.IsDir() && ours(info) {
			return u.HomeDir
		}
	}
	home := filepath.Join(p.dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return p.dir
	}
	return home
}
