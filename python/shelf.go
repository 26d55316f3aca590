package python

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Shelf is a directory of environments and archives. Any number of processes
// may use it at once.
//
//	<key>/env        an environment
//	<key>/complete   what was made, and when it was used last: its time
//	<key>.lock       exclusively locked while it is made, shared while it is used
type Shelf struct {
	Dir     string
	Environ []string   // of whoever asks: installers inherit it
	Tell    func(Step) // what goes on, for people; nil: nobody listens
	Who     string     // what others read who wait for us
}

// Step is something that people may want to know.
type Step struct {
	Text string
	// Passing steps are of interest for a moment only: there are many.
	Passing bool
}

func (s *Shelf) tell(format string, args ...any) {
	if s.Tell != nil {
		s.Tell(Step{Text: fmt.Sprintf(format, args...)})
	}
}

const (
	envDir       = "env"
	completeFile = "complete"
	lockSuffix   = ".lock"
	oldPrefix    = ".old-"
)

// Unused is how long an environment that nobody wants is kept.
const Unused = 30 * 24 * time.Hour

// made is what lies in the file "complete".
type made struct {
	What        string      `json:"what"`
	Interpreter Interpreter `json:"interpreter,omitzero"`
	At          time.Time   `json:"at"`
}

// work is an entry that is being made.
type work struct {
	*Shelf
	dir         string
	lock        *os.File // held until every installer has ended, also an orphaned one
	interpreter Interpreter
}

// entry gives the directory of a key, which fill makes if it is not there yet.
func (s *Shelf) entry(ctx context.Context, key, what string, fill func(ctx context.Context, w *work) error) (string, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", fmt.Errorf("%s: cannot be made: %w", s.Dir, cause(err))
	}
	dir := filepath.Join(s.Dir, key)
	wait := func(who string) { s.tell("waits for %s, which makes the same: %s", who, what) }
	f, err := claim(ctx, dir+lockSuffix, func() bool { return touch(dir) }, wait)
	if err != nil || f == nil {
		return dir, err
	}
	defer f.Close()
	if err := errors.Join(sign(f, s.Who), remove(dir)); err != nil { // what a killed builder left
		return "", err
	}
	if err := s.prune(ctx); err != nil {
		s.tell("old environments were not cleaned away: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("%s: cannot be made: %w", dir, cause(err))
	}
	w := &work{Shelf: s, dir: dir, lock: f}
	err = fill(ctx, w)
	if err == nil {
		err = finish(dir, made{What: what, Interpreter: w.interpreter, At: time.Now().UTC()})
	}
	if err != nil {
		return "", errors.Join(err, remove(dir))
	}
	return dir, nil
}

// finish says that an entry is whole. The file appears whole itself.
func finish(dir string, m made) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	temp := filepath.Join(dir, completeFile+".new")
	if err := os.WriteFile(temp, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("%s: cannot be written: %w", temp, cause(err))
	}
	// The disk must not have the mark before it has what the mark speaks of.
	if d, err := os.Open(dir); err == nil {
		_ = unix.Syncfs(int(d.Fd()))
		_ = d.Close()
	}
	return os.Rename(temp, filepath.Join(dir, completeFile))
}

// touch notes that an entry is wanted now; false: it is not whole.
func touch(dir string) bool {
	now := time.Now()
	return os.Chtimes(filepath.Join(dir, completeFile), now, now) == nil
}

// prune removes what was not wanted for long and is not in use, and what killed
// builders left.
func (s *Shelf) prune(ctx context.Context) error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return cause(err)
	}
	var wrong []error
	for _, e := range entries {
		dir := filepath.Join(s.Dir, e.Name())
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case strings.HasPrefix(e.Name(), oldPrefix):
			wrong = append(wrong, remove(dir))
		case e.IsDir() && stale(dir):
			wrong = append(wrong, s.clear(dir))
		}
	}
	return errors.Join(wrong...)
}

func stale(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, completeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	return err == nil && time.Since(info.ModTime()) > Unused
}

// clear removes an entry that is still stale once nobody else holds it.
func (s *Shelf) clear(dir string) error {
	f, err := os.OpenFile(dir+lockSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return cause(err)
	}
	defer f.Close()
	if err := flock(f, unix.LOCK_EX); err != nil || !stale(dir) {
		return nil // somebody uses it, or makes it
	}
	// Out of the way at once: nobody must wait until thousands of files are gone.
	old := filepath.Join(s.Dir, oldPrefix+rand.Text())
	if err := os.Rename(dir, old); err != nil {
		return cause(err)
	}
	return remove(old)
}

// remove takes a tree away, also one with directories that are read-only.
func remove(dir string) error {
	err := os.RemoveAll(dir)
	if errors.Is(err, fs.ErrPermission) {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
		err = os.RemoveAll(dir)
	}
	if err != nil {
		return fmt.Errorf("%s: cannot be removed: %w", dir, cause(err))
	}
	return nil
}

// Hold keeps an environment of a shelf from being cleaned away until it is
// closed. An environment that is not there any more, or never was whole, is an
// error.
func Hold(env string) (io.Closer, error) {
	dir := filepath.Dir(env)
	gone := func(err error) error {
		return fmt.Errorf("python: %s: the environment of this job is not there any more: %w\n"+
			"hint: submit the job again: it is made anew", env, cause(err))
	}
	f, err := os.OpenFile(dir+lockSuffix, os.O_RDWR, 0)
	if err != nil {
		return nil, gone(err)
	}
	if err := flock(f, unix.LOCK_SH); err != nil {
		return nil, errors.Join(gone(fmt.Errorf("%s makes it now", holder(f))), f.Close())
	}
	now := time.Now()
	if err := os.Chtimes(filepath.Join(dir, completeFile), now, now); err != nil {
		return nil, errors.Join(gone(err), f.Close())
	}
	return f, nil
}
