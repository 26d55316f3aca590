// Package blob keeps files under the hash of their content: bytes come in and
// an address comes out, an address comes in and the same bytes come out. What
// is there is complete and never changes.
package blob

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/muster-project/muster/storage"
)

// temporary starts the names of blobs that are not complete.
const temporary = ".new-"

// Store is a directory of blobs. Any number of processes may use it at once.
type Store struct {
	FS  storage.FS
	Dir string
	// Mode is the mode of every blob. The default, 0400, is for one user alone;
	// a store that several users read takes 0444 and a directory made beforehand.
	Mode fs.FileMode
}

// Put stores what r holds and gives its address. What is stored already is left
// alone. After an error nothing is stored.
func (s *Store) Put(ctx context.Context, r io.Reader) (string, error) {
	if err := s.FS.Mkdir(ctx, s.Dir, 0o700); err != nil {
		return "", err
	}
	if sha, err := s.known(ctx, r); err != nil || sha != "" {
		return sha, err
	}
	temp := path.Join(s.Dir, temporary+rand.Text())
	sha, err := s.write(ctx, temp, r)
	if err == nil {
		err = s.FS.Rename(ctx, temp, s.Path(sha))
		if err == nil {
			return sha, nil
		}
		if errors.Is(err, fs.ErrExist) {
			err = nil // somebody was faster, with the same content
		}
	}
	// Also when ctx is over: a leftover would take the place that may be lacking.
	rerr := s.FS.Remove(context.WithoutCancel(ctx), temp)
	if err := errors.Join(err, rerr); err != nil {
		return "", fmt.Errorf("%s: cannot store: %w", s.Dir, err)
	}
	return sha, nil
}

// known spares the writing where r can be read twice and is stored already.
func (s *Store) known(ctx context.Context, r io.Reader) (string, error) {
	seeker, ok := r.(io.ReadSeeker)
	if !ok {
		return "", nil
	}
	start, err := seeker.Seek(0, io.SeekCurrent)
	if err != nil {
		return "", nil //nolint:nilerr // a pipe: it can be read once, and will be
	}
	h := sha256.New()
	if _, err = io.Copy(h, &stream{ctx, r}); err != nil {
		return "", fmt.Errorf("%s: cannot store: %w", s.Dir, err)
	}
	sha := hex.EncodeToString(h.Sum(nil))
	if has, err := s.Has(ctx, sha); err != nil {
		return "", err
	} else if has {
		return sha, nil
	}
	if _, err := seeker.Seek(start, io.SeekStart); err != nil {
		return "", fmt.Errorf("%s: cannot store: %w", s.Dir, err)
	}
	return "", nil
}

func (s *Store) write(ctx context.Context, temp string, r io.Reader) (string, error) {
	mode := s.Mode
	if mode == 0 {
		mode = 0o400
	}
	w, err := s.FS.Create(ctx, temp, mode)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(w, h), &stream{ctx, r})
	if err == nil {
		err = w.Sync(ctx)
	}
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, w.Close())
}

// Open reads a blob. Its reader gives an error instead of the end if the bytes
// are not those of the address.
func (s *Store) Open(ctx context.Context, sha string) (io.ReadCloser, error) {
	if err := check(sha); err != nil {
		return nil, err
	}
	r, err := s.FS.Open(ctx, s.Path(sha), 0)
	if err != nil {
		return nil, err
	}
	return &verified{ReadCloser: r, path: s.Path(sha), sha: sha, hash: sha256.New()}, nil
}

// Has says whether a blob is stored.
func (s *Store) Has(ctx context.Context, sha string) (bool, error) {
	if err := check(sha); err != nil {
		return false, err
	}
	_, err := s.FS.Stat(ctx, s.Path(sha))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Path is where a blob is, or would be.
func (s *Store) Path(sha string) string { return path.Join(s.Dir, sha) }

// Sweep removes what processes that died while they stored left behind before
// the given time.
func (s *Store) Sweep(ctx context.Context, before time.Time) error {
	list, err := s.FS.List(ctx, s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, info := range list {
		if strings.HasPrefix(info.Name(), temporary) && info.ModTime().Before(before) {
			err = errors.Join(err, s.FS.Remove(ctx, path.Join(s.Dir, info.Name())))
		}
	}
	return err
}

func check(sha string) error {
	if b, err := hex.DecodeString(sha); err != nil || len(b) != sha256.Size || strings.ToLower(sha) != sha {
		return fmt.Errorf("%s: not a content address: want 64 hexadecimal digits", sha)
	}
	return nil
}
