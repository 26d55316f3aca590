package yarn

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// blobAge is how long a blob is kept after it was last wanted.
const blobAge = 30 * 24 * time.Hour

// sweepDaily cleans up at most once a day, whoever comes first.
func (s *store) sweepDaily(ctx context.Context, now time.Time) (int, error) {
	mark := path.Join(s.layout.Blobs(), ".swept")
	info, err := s.fs.Stat(ctx, mark)
	switch {
	case err == nil && now.Sub(info.ModTime()) < 24*time.Hour:
		return 0, nil
	case errors.Is(err, fs.ErrNotExist):
		w, err := s.fs.Create(ctx, mark, modeData)
		if err != nil {
			if errors.Is(err, fs.ErrExist) {
				err = nil
			}
			return 0, err
		}
		return 0, w.Close() // nothing is old yet
	case err != nil:
		return 0, err
	}
	if err := s.fs.SetTimes(ctx, mark, now); err != nil {
		return 0, err
	}
	return s.sweep(ctx, now.Add(-blobAge))
}

// sweep removes blobs that were last wanted before a time and that no job which
// has not ended names, and what an upload that died left behind.
func (s *store) sweep(ctx context.Context, before time.Time) (int, error) {
	files, err := s.fs.List(ctx, s.layout.Blobs())
	if err != nil {
		return 0, err
	}
	there := map[string]fs.FileInfo{}
	for _, f := range files {
		there[f.Name()] = f
	}
	var old []string
	for name, f := range there {
		switch {
		case strings.HasPrefix(name, ".new-"), strings.HasPrefix(name, ".old-"):
			if f.ModTime().Before(before) {
				if err := s.fs.Remove(ctx, path.Join(s.layout.Blobs(), name)); err != nil {
					return 0, err
				}
			}
		case strings.HasSuffix(name, usedSuffix) || strings.HasPrefix(name, "."):
		default:
			used := f
			if u, ok := there[name+usedSuffix]; ok {
				used = u
			}
			if used.ModTime().Before(before) {
				old = append(old, name)
			}
		}
	}
	if len(old) == 0 {
		return 0, nil
	}
	wanted, err := s.wanted(ctx)
	if err != nil {
		return 0, err
	}
	slices.Sort(old)
	n := 0
	for _, sha := range old {
		if wanted[sha] {
			continue
		}
		gone, err := s.remove(ctx, sha, before)
		if err != nil {
			return n, err
		}
		if gone {
			n++
		}
	}
	return n, nil
}

// remove takes a blob away unless somebody wants it meanwhile. It is put aside
// first: an upload that saw it before that has touched it before that.
func (s *store) remove(ctx context.Context, sha string, before time.Time) (bool, error) {
	aside := path.Join(s.layout.Blobs(), ".old-"+sha)
	if err := s.fs.Rename(ctx, s.layout.Blob(sha), aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
			return false, nil // another sweep is at it
		}
		return false, err
	}
	if u, err := s.fs.Stat(ctx, s.layout.Used(sha)); err == nil && !u.ModTime().Before(before) {
		if err := s.fs.Rename(ctx, aside, s.layout.Blob(sha)); !errors.Is(err, fs.ErrExist) {
			return false, err
		}
	} else if err := s.fs.Remove(ctx, s.layout.Used(sha)); err != nil {
		return false, err
	}
	return true, s.fs.Remove(ctx, aside)
}

// wanted are the blobs that jobs name which have not ended: those may need them
// at any time, however old they are.
func (s *store) wanted(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	jobs, err := s.fs.List(ctx, s.layout.Jobs())
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		dir := s.layout.Job(j.Name())
		if !j.IsDir() {
			continue
		}
		if over, err := sealed(ctx, s.fs, dir); err != nil {
			return nil, err
		} else if over != nil {
			continue
		}
		for n := 1; ; n++ {
			var am AM
			err := readJSON(ctx, s.fs, dir.AM(n), &am)
			if errors.Is(err, fs.ErrNotExist) {
				break
			}
			if err != nil {
				return nil, err
			}
			for sha := range am.Blobs {
				out[sha] = true
			}
			for _, r := range []Resource{am.Executor, am.Muster, am.Site} {
				out[path.Base(r.Path)] = true
			}
		}
	}
	return out, nil
}
