package cli

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/muster-project/muster/access"
	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/history"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/process/capture"
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
		if errors.Is(err, fs.ErrPermission) { // such as that of a notebook: its key is in it
			denied = &access.Denied{Job: id, Owner: ref.Owner, Person: n.User, Right: access.View}
		} else if err != nil {
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

// served is a job of another user that the machine's own server runs, by its id:
// what it shows of it is all that there is for us. Unknown where no such server is.
func (e *Env) served(ctx context.Context, id string) (job, bool, error) {
	c, err := e.sharedServer(ctx)
	if c == nil {
		return job{}, false, err
	}
	j, err := c.Job(ctx, id)
	if errors.Is(err, backend.ErrUnknownJob) {
		c.Close()
		return job{}, false, nil
	}
	if err != nil {
		c.Close()
		return job{}, true, refused(err)
	}
	return e.servedJob(ctx, c, j), true, nil
}

// sharedServer is the way to the machine's own server; nil where none answers.
func (e *Env) sharedServer(ctx context.Context) (*api.Client, error) {
	paths, err := e.Paths()
	if err != nil {
		return nil, err
	}
	socket := paths.Socket
	if e.sharedServes() {
		socket = api.SharedSocket
	}
	c := api.NewClient(socket, nil)
	if h, err := c.Hello(ctx); err == nil && h.Shared {
		return c, nil
	}
	c.Close() // there is none, or it is our own
	return nil, nil
}

// servedJobs are the jobs of other users of this machine that we may see.
func (e *Env) servedJobs(ctx context.Context) ([]job, error) {
	if e.at != "" && e.at != "local" {
		return nil, faultf(exitUsage, "--all-users: lists jobs of this machine, not of %s", e.at).hint("muster status --on %s JOB shows one that you know of", e.at)
	}
	c, err := e.sharedServer(ctx)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, faultf(exitUsage, "--all-users: no server of all users answers here").hint("an administrator starts one: muster serve --shared")
	}
	jobs, err := c.Jobs(ctx, true)
	if err != nil {
		return nil, refused(err)
	}
	var out []job
	for _, j := range jobs {
		if filepath.Base(filepath.Dir(filepath.Dir(j.Dir))) != strconv.Itoa(os.Getuid()) { // else it is among our own
			out = append(out, e.servedJob(ctx, c, j))
		}
	}
	return out, nil
}

// servedJob is a job as the machine's own server tells it.
func (e *Env) servedJob(ctx context.Context, c *api.Client, j api.Job) job {
	out := job{ID: j.ID, Dir: j.Dir, Submitted: j.Submitted, served: &served{c, j.Coordinator},
		Plan: &plan.Plan{ID: j.ID, Name: j.Name, User: j.User, Framework: j.Framework, Backend: j.Backend, Queue: j.Queue}}
	for ev, err := range e.journal(ctx, out, false) {
		if err != nil {
			break // it has none yet
		}
		if s, ok := ev.Body.(*event.JobSubmitted); ok {
			out.Plan = s.Plan
			break
		}
	}
	return out
}

// served is what another user's job on this machine has.
type served struct {
	client      *api.Client
	coordinator bool // one lives
}

// facts gives a job's journal as the server sends it.
func (s *served) facts(ctx context.Context, id string, follow bool) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for line, err := range s.client.Events(ctx, id, 1, follow) {
			var ev event.Event
			if err == nil {
				ev, err = event.Unmarshal(line)
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// served shows what another user's job printed, as the server sends it.
func (l *logShow) served(ctx context.Context, f logsFlags) error {
	w := api.Lines{Tasks: l.merge.filter.tasks, Stream: f.stream, Grep: f.grep, Since: l.merge.filter.since, Tail: f.tail, Incarnation: f.incarnation, Follow: f.follow}
	shown := false
	for line, err := range l.job.served.client.Lines(ctx, l.job.ID, w) {
		if err != nil {
			return orInterruption(ctx, refused(err))
		}
		if err := l.print(&logLine{At: line.At, Task: line.Task, Incarnation: line.Incarnation, Proc: line.Proc, Stderr: line.Stderr, Text: capture.Safe([]byte(line.Text))}); err != nil {
			return err
		}
		if shown = true; f.follow {
			if err := l.out.Flush(); err != nil {
				return err
			}
		}
	}
	if !shown && !f.follow && !l.begun(ctx) {
		l.nothing()
	}
	return l.out.Flush()
}

// begun says whether any task has started.
func (l *logShow) begun(ctx context.Context) bool {
	for ev, err := range l.env.journal(ctx, l.job, false) {
		if err != nil {
			return false
		}
		if _, ok := ev.Body.(*event.TaskStarted); ok {
			return true
		}
	}
	return false
}
