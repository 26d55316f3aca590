package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/muster-project/muster/storage"
)

// manifestName is "<task>.<number>.json". Made when a job has checkpoints: it
// takes a tenth of a megabyte.
var manifestName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_.-]{0,110})\.([0-9]{1,9})\.json$`)
})

// manifestMost bounds what is read of one manifest.
const manifestMost = 64 << 20

// read brings what is known of the manifests up to date. The directory is listed
// only when it changed: many tasks look at it.
func (s *Sync) read(ctx context.Context) error {
	info, err := s.FS.Stat(ctx, s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// A change within the same tick of the clock must not be missed.
	if info.ModTime().Equal(s.changed) && time.Since(s.changed) > 2*time.Second {
		return nil
	}
	newest, err := s.newest(ctx)
	if err != nil {
		return err
	}
	for task, number := range newest {
		if s.numbers[task] >= number {
			continue
		}
		m, err := s.manifest(ctx, task, number)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a newer one took its place
		}
		if err != nil {
			return err
		}
		s.others[task], s.numbers[task] = m, number
		if task == s.Task {
			s.own = m // of an earlier life of this task
		}
	}
	s.changed = info.ModTime()
	return nil
}

// newest gives the highest number of each task's manifests.
func (s *Sync) newest(ctx context.Context) (map[string]int, error) {
	list, err := s.FS.List(ctx, s.Dir)
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for _, info := range list {
		m := manifestName().FindStringSubmatch(info.Name())
		if m == nil {
			continue
		}
		if n, err := strconv.Atoi(m[2]); err == nil {
			out[m[1]] = max(out[m[1]], n)
		}
	}
	return out, nil
}

func (s *Sync) path(task string, number int) string {
	return path.Join(s.Dir, fmt.Sprintf("%s.%09d.json", task, number))
}

func (s *Sync) manifest(ctx context.Context, task string, number int) (Manifest, error) {
	at := s.path(task, number)
	in, err := s.FS.Open(ctx, at, 0)
	if err != nil {
		return Manifest{}, err
	}
	defer in.Close()
	var m Manifest
	if err := json.NewDecoder(io.LimitReader(in, manifestMost)).Decode(&m); err != nil {
		return m, fmt.Errorf("%s: not a manifest of checkpoints: %w", at, err)
	}
	m.Task = task
	return m, nil
}

// say adds entries to this task's manifest, as a new file that appears whole,
// and removes what nobody needs any more.
func (s *Sync) say(ctx context.Context, fresh map[string]Entry) error {
	entries := map[string]Entry{}
	for _, e := range s.own.Entries {
		entries[e.Path] = e
	}
	maps.Copy(entries, fresh)
	next := Manifest{Task: s.Task, Number: s.numbers[s.Task] + 1}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		next.Entries = append(next.Entries, entries[name])
	}
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if err := s.FS.Mkdir(ctx, s.Dir, 0o700); err != nil {
		return err
	}
	if err := storage.PublishBytes(ctx, s.FS, s.path(s.Task, next.Number), 0o600, data); err != nil {
		return err
	}
	old, number := s.own, s.numbers[s.Task]
	s.own, s.others[s.Task], s.numbers[s.Task] = next, next, next.Number
	s.sweep(ctx, old, number)
	return nil
}

// sweep removes this task's former manifest and the contents that only it named.
// What cannot be removed now takes room and harms nothing.
func (s *Sync) sweep(ctx context.Context, old Manifest, number int) {
	if number == 0 {
		return
	}
	if err := s.FS.Remove(ctx, s.path(s.Task, number)); err != nil {
		s.log().Debug("old manifest stays", "error", err)
		return
	}
	s.changed = time.Time{}
	if err := s.read(ctx); err != nil { // others may have published the same content meanwhile
		s.log().Debug("old content stays", "error", err)
		return
	}
	used := map[string]bool{}
	for _, m := range s.others {
		for _, e := range m.Entries {
			used[e.Blob] = true
		}
	}
	for _, e := range old.Entries {
		if e.Blob != "" && !used[e.Blob] {
			if err := s.FS.Remove(ctx, s.store().Path(e.Blob)); err != nil {
				s.log().Debug("old content stays", "error", err)
			}
		}
	}
}
