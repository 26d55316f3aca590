package cli

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/muster-project/muster/access"
	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/history"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/storage"
)

// other is a job of another user on the cluster that --on names, by its id. Who
// may not see it gets it, too: what they try says so, and stopping is for the
// resource manager to allow.
func (e *Env) other(ctx context.Context, id string) (job, error) {
	b, err := e.cluster(e.at, "", e.who())
	if err != nil {
		return job{}, err
	}
	ref, err := b.Find(ctx, id)
	var denied *access.Denied
	if err != nil && !errors.As(err, &denied) {
		return job{}, refused(err)
	}
	paths, perr := e.Paths()
	if perr != nil {
		return job{}, perr
	}
	n := note{Ref: ref, On: e.at, Conf: e.hadoopConf(siteOf(e.at)), User: e.ownerOf(b), Plan: &plan.Plan{ID: id, User: ref.Owner, Backend: b.Name()}}
	home, ok := b.(backend.Home)
	if denied == nil && ok {
		p, at, err := planned(ctx, home.FS(), ref.Dir)
		if err != nil {
			return job{}, refused(err)
		}
		if p != nil {
			n.Plan, n.Submitted = p, at
		}
	}
	j := e.jobAt(n, filepath.Join(paths.Remote(), id))
	j.remote.backend = b
	if denied != nil {
		j.remote.denied = fault(exitRefused, denied)
	}
	return j, nil
}

// planned reads the plan of a job from its journal, which whoever may see the
// job can read; nothing while it has none. What was submitted, with its
// environment, is for its owner alone.
func planned(ctx context.Context, fsys storage.FS, dir string) (*plan.Plan, time.Time, error) {
	for ev, err := range history.Read(ctx, fsys, dir, 1) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, time.Time{}, nil
		}
		if err != nil {
			return nil, time.Time{}, err
		}
		if s, ok := ev.Body.(*event.JobSubmitted); ok {
			return s.Plan, ev.At, nil
		}
	}
	return nil, time.Time{}, nil
}

// foreign says that a job on a cluster is another user's: nobody here tends it.
func (j job) foreign() bool { return j.remote != nil && j.remote.Ref.Owner != "" }
