package yarn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/storage"
)

// Modes of what lies on the cluster. Directories above blobs let others through,
// so that a node can share one copy of a binary among all users; what holds
// somebody's data is for its owner alone.
const (
	modePass    fs.FileMode = 0o711
	modeOwn     fs.FileMode = 0o700
	modeProgram fs.FileMode = 0o755
	modeData    fs.FileMode = 0o600
)

// store is the content-addressed files of one user.
type store struct {
	fs     storage.FS
	layout Layout

	mu   sync.Mutex
	pass map[string]bool // directories that everybody may pass through
}

func newStore(fsys storage.FS, l Layout) *store {
	return &store{fs: fsys, layout: l, pass: map[string]bool{}}
}

// prepare makes the directories of a user.
func (s *store) prepare(ctx context.Context) error {
	for _, d := range []struct {
		path string
		mode fs.FileMode
	}{{s.layout.Root, modePass}, {s.layout.Blobs(), modePass}, {s.layout.Jobs(), modeOwn}} {
		if err := s.fs.Mkdir(ctx, d.path, d.mode); err != nil {
			err = fmt.Errorf("%s: cannot be made: %w", d.path, err)
			if errors.Is(err, fs.ErrPermission) {
				err = hint(err, "ask an administrator to make %s with you as its owner, or name a directory of yours by native.yarn.dir", path.Dir(s.layout.Root))
			}
			return err
		}
	}
	return nil
}

// put makes sure that a blob is there and counts as wanted now. open is only
// called if it must be sent; sent says that it was.
func (s *store) put(ctx context.Context, sha string, mode fs.FileMode, open func() (io.ReadCloser, error)) (r Resource, sent bool, err error) {
	// Touched before it is looked at: Sweep looks at the time after it has put a
	// blob aside, so that one of both always sees the other.
	if err := s.touch(ctx, sha); err != nil {
		return Resource{}, false, err
	}
	if r, err = s.resource(ctx, s.layout.Blob(sha)); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return r, false, err
	}
	in, err := open()
	if err != nil {
		return Resource{}, false, err
	}
	defer in.Close()
	hash := sha256.New()
	err = storage.Publish(ctx, s.fs, s.layout.Blob(sha), mode, func(w io.Writer) error {
		if _, err := io.Copy(io.MultiWriter(w, hash), in); err != nil {
			return err
		}
		if got := hex.EncodeToString(hash.Sum(nil)); got != sha {
			return fmt.Errorf("%s: its content changed while it was sent", sha)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return Resource{}, false, err
	}
	r, err = s.resource(ctx, s.layout.Blob(sha))
	return r, true, err
}

// touch notes that a blob is wanted now.
func (s *store) touch(ctx context.Context, sha string) error {
	name := s.layout.Used(sha)
	err := s.fs.SetTimes(ctx, name, time.Now())
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w, err := s.fs.Create(ctx, name, modeData)
	if errors.Is(err, fs.ErrExist) {
		return nil // made just now by somebody else
	}
	if err != nil {
		return err
	}
	return w.Close()
}

// resource describes a file for nodes.
func (s *store) resource(ctx context.Context, name string) (Resource, error) {
	info, err := s.fs.Stat(ctx, name)
	if err != nil {
		return Resource{}, err
	}
	r := Resource{Path: name, Size: info.Size(), Time: info.ModTime().UnixMilli()}
	if info.Mode().Perm()&0o005 == 0o005 {
		r.Public, err = s.open(ctx, path.Dir(name))
	}
	return r, err
}

// open says whether everybody may pass through a directory and all above it:
// only then may a node fetch what is in it for all of its users.
func (s *store) open(ctx context.Context, dir string) (bool, error) {
	s.mu.Lock()
	known, ok := s.pass[dir]
	s.mu.Unlock()
	if ok {
		return known, nil
	}
	info, err := s.fs.Stat(ctx, dir)
	if err != nil {
		return false, err
	}
	open := info.Mode().Perm()&0o001 != 0
	if open && dir != "/" {
		if open, err = s.open(ctx, path.Dir(dir)); err != nil {
			return false, err
		}
	}
	s.mu.Lock()
	s.pass[dir] = open
	s.mu.Unlock()
	return open, nil
}

// putFile puts a local file under its content address.
func (s *store) putFile(ctx context.Context, name string, mode fs.FileMode) (r Resource, sent bool, err error) {
	in, err := os.Open(name)
	if err != nil {
		return Resource{}, false, err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, in)
	if err := errors.Join(err, in.Close()); err != nil {
		return Resource{}, false, fmt.Errorf("%s: cannot be read: %w", name, err)
	}
	return s.put(ctx, hex.EncodeToString(hash.Sum(nil)), mode, func() (io.ReadCloser, error) { return os.Open(name) })
}

// putBytes puts bytes under their content address.
func (s *store) putBytes(ctx context.Context, data []byte, mode fs.FileMode) (Resource, error) {
	sum := sha256.Sum256(data)
	r, _, err := s.put(ctx, hex.EncodeToString(sum[:]), mode, func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(string(data))), nil
	})
	return r, err
}

// uploads is how many blobs are sent at once.
const uploads = 4

// largeBlob is where a person wants to know what takes so long.
const largeBlob = 8 << 20

// Stage sends the plan's files that the cluster does not have yet, and cleans up
// what nobody has wanted for long.
func (b *Backend) Stage(ctx context.Context, p *plan.Plan, blobs map[string]string, tell func(format string, args ...any)) error {
	if err := b.connect(); err != nil {
		return err
	}
	s, findings := Decode(p)
	if err := plan.Refuse(findings); err != nil {
		return err
	}
	st := newStore(b.fs, b.layout(s))
	if err := st.prepare(ctx); err != nil {
		return err
	}
	var telling sync.Mutex
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(uploads)
	for sha, name := range blobs {
		g.Go(func() error {
			_, sent, err := st.put(inner, sha, modeData, func() (io.ReadCloser, error) {
				if info, err := os.Stat(name); err == nil && info.Size() > largeBlob {
					telling.Lock()
					tell("%s are sent to the cluster", spec.Size(info.Size()).Rough())
					telling.Unlock()
				}
				return os.Open(name)
			})
			b.Log.Debug("blob", "sha", sha, "sent", sent, "error", err)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if n, err := st.sweepDaily(ctx, time.Now()); err != nil {
		b.Log.Warn("old files were not cleaned up", "error", err)
	} else if n > 0 {
		tell("%d files that no job has wanted for %d days were removed from the cluster", n, int(blobAge.Hours()/24))
	}
	return nil
}
