package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/muster-project/muster/storage"
	"github.com/muster-project/muster/storage/blob"
)

// Sync is one task's end of the checkpoint directory. One goroutine uses it at a
// time.
type Sync struct {
	FS    storage.FS
	Dir   string // in FS; made when there is something to keep
	Local string // made by Fetch
	Task  string // "worker-0"
	Every time.Duration
	Log   *slog.Logger

	known   map[string]file
	others  map[string]Manifest // newest of each task, by task
	numbers map[string]int
	own     Manifest
	changed time.Time // of Dir, when it was last read
}

// everyDefault is how often the local directory is looked at; the storage is
// asked only whether its directory changed.
const everyDefault = 2 * time.Second

// Fetch brings the local directory up to date. A task starts after it.
func (s *Sync) Fetch(ctx context.Context) error {
	if err := os.MkdirAll(s.Local, 0o700); err != nil {
		return fmt.Errorf("%s: cannot be made: %w", s.Local, err)
	}
	return s.round(ctx, true)
}

// Flush publishes what has changed, also what changed this very moment: the
// processes that write have ended.
func (s *Sync) Flush(ctx context.Context) error { return s.round(ctx, true) }

// Run goes both ways until ctx is done, holding hold during each round. What
// fails is tried again.
func (s *Sync) Run(ctx context.Context, hold sync.Locker) {
	every := s.Every
	if every <= 0 {
		every = everyDefault
	}
	timer := time.NewTimer(every)
	defer timer.Stop()
	told := ""
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		begin := time.Now()
		hold.Lock()
		err := s.round(ctx, false)
		hold.Unlock()
		if err != nil && ctx.Err() == nil && err.Error() != told {
			told = err.Error()
			s.log().Warn("checkpoints cannot be kept for now", "error", err)
		}
		timer.Reset(max(every, 4*time.Since(begin))) // a large one must not be all that we do
	}
}

func (s *Sync) log() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
}

func (s *Sync) store() *blob.Store { return &blob.Store{FS: s.FS, Dir: path.Join(s.Dir, "data")} }

// round is one look at both sides and what follows from it.
func (s *Sync) round(ctx context.Context, settled bool) error {
	if s.known == nil {
		s.known, s.others, s.numbers = map[string]file{}, map[string]Manifest{}, map[string]int{}
	}
	if err := s.read(ctx); err != nil {
		return err
	}
	now, err := look(s.Local)
	if err != nil {
		return err
	}
	merged := merge(slices.Collect(maps.Values(s.others)))
	p := decide(now, s.known, merged, settled)
	err = errors.Join(s.publish(ctx, p, now, merged), s.bring(ctx, p))
	for path, seen := range now {
		k := s.known[path]
		k.looked = seen
		s.known[path] = k
	}
	return err
}

// look lists the regular files and links below a directory.
func look(dir string) (map[string]seen, error) {
	out := map[string]seen{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // went while we looked
		}
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil || temporary(rel) {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if s, ok := seenOf(name, info); ok {
			out[filepath.ToSlash(rel)] = s
		}
		return nil
	})
	return out, err
}

func seenOf(name string, info fs.FileInfo) (seen, bool) {
	s := seen{Mode: uint32(info.Mode().Perm()), Time: info.ModTime()}
	switch {
	case info.Mode().IsRegular():
		s.Size = info.Size()
		return s, true
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(name)
		s.Link = to
		return s, err == nil
	}
	return s, false
}

// publish stores what changed here and says so in a new manifest.
func (s *Sync) publish(ctx context.Context, p plan, now map[string]seen, merged map[string]Entry) error {
	if len(p.publish)+len(p.forget) == 0 {
		return nil
	}
	fresh := map[string]Entry{}
	var problems []error
	for _, name := range p.publish {
		e := Entry{Path: name, Version: merged[name].Version + 1, Size: now[name].Size, Mode: now[name].Mode, Time: now[name].Time, Link: now[name].Link}
		if e.Link == "" {
			sha, err := s.put(ctx, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue // the next look says what became of it
			}
			if err != nil {
				problems = append(problems, err)
				continue
			}
			e.Blob = sha
		}
		// What changed while it was read is published when it stands still.
		info, err := os.Lstat(filepath.Join(s.Local, filepath.FromSlash(name)))
		if err != nil {
			continue
		}
		if after, ok := seenOf(filepath.Join(s.Local, filepath.FromSlash(name)), info); ok && after == now[name] {
			fresh[name] = e
		}
	}
	for _, name := range p.forget {
		fresh[name] = Entry{Path: name, Version: merged[name].Version + 1, Gone: true}
	}
	if len(fresh) == 0 {
		return errors.Join(problems...)
	}
	if err := s.say(ctx, fresh); err != nil {
		return errors.Join(append(problems, err)...)
	}
	for name, e := range fresh {
		s.known[name] = file{version: e.Version, synced: now[name], looked: now[name], here: !e.Gone}
	}
	return errors.Join(problems...)
}

func (s *Sync) put(ctx context.Context, name string) (string, error) {
	in, err := os.Open(filepath.Join(s.Local, filepath.FromSlash(name)))
	if err != nil {
		return "", err
	}
	defer in.Close()
	return s.store().Put(ctx, in)
}

// bring puts in place what others changed.
func (s *Sync) bring(ctx context.Context, p plan) error {
	var problems []error
	for _, name := range p.remove {
		err := os.Remove(filepath.Join(s.Local, filepath.FromSlash(name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
			continue
		}
		s.known[name] = file{version: s.versionOf(name), here: false}
	}
	for _, e := range p.fetch {
		got, err := s.place(ctx, e)
		if err != nil {
			// What follows may point to this one.
			return errors.Join(append(problems, fmt.Errorf("%s: %w", e.Path, err))...)
		}
		s.known[e.Path] = file{version: e.Version, synced: got, looked: got, here: true}
	}
	return errors.Join(problems...)
}

func (s *Sync) versionOf(name string) int64 {
	return merge(slices.Collect(maps.Values(s.others)))[name].Version
}

// place makes a local file of an entry; nobody ever sees half of it.
func (s *Sync) place(ctx context.Context, e Entry) (seen, error) {
	if !filepath.IsLocal(filepath.FromSlash(e.Path)) {
		return seen{}, errors.New("leads out of the directory")
	}
	to := filepath.Join(s.Local, filepath.FromSlash(e.Path))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return seen{}, err
	}
	temp := filepath.Join(filepath.Dir(to), tempPrefix+filepath.Base(to))
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return seen{}, err
	}
	err := s.write(ctx, temp, e)
	if err == nil {
		err = os.Rename(temp, to)
	}
	if err != nil {
		return seen{}, errors.Join(err, os.RemoveAll(temp))
	}
	info, err := os.Lstat(to)
	if err != nil {
		return seen{}, err
	}
	got, _ := seenOf(to, info)
	return got, nil
}

const tempPrefix = ".muster-new-"

func temporary(rel string) bool {
	base := filepath.Base(rel)
	return len(base) > len(tempPrefix) && base[:len(tempPrefix)] == tempPrefix
}

func (s *Sync) write(ctx context.Context, to string, e Entry) error {
	if e.Link != "" {
		return os.Symlink(e.Link, to)
	}
	in, err := s.store().Open(ctx, e.Blob)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(fs.FileMode(e.Mode).Perm())
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Chtimes(to, e.Time, e.Time)
}
