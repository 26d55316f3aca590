package yarn

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"time"
)

// Tickets are empty files, one for each gang that is not complete, named by its
// application in the directory of each partition that it asks in. Their times
// tell who lives where one user may not see another's applications. Nobody
// locks, nobody removes another's.

// layout is where the tickets lie.
func (s *scout) layout() Layout { return Layout{Root: s.am.Root, Shared: s.am.Shared} }

// stamps are the times of all tickets in the partitions that matter, by
// application.
func (s *scout) stamps(ctx context.Context) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	if s.fs == nil {
		return out, nil
	}
	for _, p := range s.partitions {
		files, err := s.fs.List(ctx, s.layout().Tickets(p))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return out, err
		}
		for _, f := range files {
			if t := f.ModTime(); t.After(out[f.Name()]) {
				out[f.Name()] = t
			}
		}
	}
	return out, nil
}

// keepTicket makes or refreshes the own ticket, or takes it away.
func (s *scout) keepTicket(ctx context.Context, wanted bool) {
	if s.fs == nil || !wanted && !s.laid {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	for _, p := range s.partitions {
		s.says("own ticket", s.lay(ctx, s.layout().Tickets(p), wanted))
	}
	s.laid = wanted
}

// openMode lets everybody add files and nobody remove another's.
const openMode = fs.ModePerm | fs.ModeSticky

func (s *scout) lay(ctx context.Context, dir string, wanted bool) error {
	file := path.Join(dir, s.am.App)
	if !wanted {
		return s.fs.Remove(ctx, file)
	}
	err := s.fs.SetTimes(ctx, file, time.Now())
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w, err := s.fs.Create(ctx, file, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		if err = s.makeShared(ctx, dir); err == nil {
			w, err = s.fs.Create(ctx, file, 0o644)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.Close()
}

// makeShared makes the directories of a path below the shared one, each of them
// for all users.
func (s *scout) makeShared(ctx context.Context, dir string) error {
	var steps []string
	for at := dir; at != s.am.Shared && len(at) > 1; at = path.Dir(at) {
		steps = append(steps, at)
	}
	steps = append(steps, s.am.Shared)
	for i := range steps {
		if err := s.fs.Mkdir(ctx, steps[len(steps)-1-i], openMode); err != nil {
			return err
		}
	}
	return nil
}
