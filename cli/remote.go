package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/yarn"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/storage"
)

// A job on a cluster lies on the cluster's storage. What this machine keeps of it
// is a note of how it is found again, and copies of its logs:
//
//	<state>/remote/<id>/job.json   note
//	<state>/remote/<id>/ended      it is sealed: nobody need tend it any more
//	<state>/remote/<id>/tasks/…    logs, as far as somebody looked at them

// note is how a job on a cluster is found again.
type note struct {
	Ref  backend.Ref `json:"ref"`
	On   string      `json:"on"`             // BACKEND[:SITE]
	Conf string      `json:"conf,omitempty"` // directory of the cluster's settings
	User string      `json:"user"`           // whose job it is there
	// What was proven by that it is: tending goes on with it.
	Keytab    string     `json:"keytab,omitempty"`
	Principal string     `json:"principal,omitempty"`
	Cache     string     `json:"cache,omitempty"`
	Plan      *plan.Plan `json:"plan"`
	Submitted time.Time  `json:"submitted"`
}

// remote is what a job on a cluster has beyond one of this machine.
type remote struct {
	note
	dir     string // this machine's directory for it
	backend backend.Backend
	denied  error // why its directory is not for us, where it is another user's
}

const (
	noteFile  = "job.json"
	endedFile = "ended"
)

// Remote is the directory of notes on jobs on clusters.
func (p Paths) Remote() string { return filepath.Join(p.State, "remote") }

// remember writes the note on a job that was submitted to a cluster. The note
// appears whole, so that a server never tends half a job.
func (e *Env) remember(n note) (job, error) {
	paths, err := e.Paths()
	if err != nil {
		return job{}, err
	}
	dir := filepath.Join(paths.Remote(), n.Ref.Job)
	data, err := json.MarshalIndent(n, "", "  ")
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, noteFile+".new"), data, 0o600)
	}
	if err == nil {
		err = os.Rename(filepath.Join(dir, noteFile+".new"), filepath.Join(dir, noteFile))
	}
	if err != nil {
		return job{}, faultf(exitRefused, "%s: runs as %s, but that cannot be noted: %w", n.Ref.Job, n.Ref.Native, err).
			hint("muster status --on %s %s finds it all the same", n.On, n.Ref.Job)
	}
	return e.openNote(dir)
}

// openNote opens a job on a cluster by its note, without asking the cluster.
func (e *Env) openNote(dir string) (job, error) {
	path := filepath.Join(dir, noteFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return job{}, fmt.Errorf("%s: %w", path, cause(err))
	}
	var n note
	if err := json.Unmarshal(data, &n); err != nil || n.Plan == nil {
		return job{}, fault(exitInternal, fmt.Errorf("%s: not a note on a job: %w", path, err))
	}
	return e.jobAt(n, dir), nil
}

// jobAt is a job on a cluster.
func (e *Env) jobAt(n note, dir string) job {
	return job{ID: n.Ref.Job, Dir: n.Ref.Dir, Plan: n.Plan, Submitted: n.Submitted, remote: &remote{note: n, dir: dir}}
}

// remoteJobs are the jobs on clusters that this machine has notes of.
func (e *Env) remoteJobs() ([]job, error) {
	paths, err := e.Paths()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(paths.Remote())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault(exitRefused, fmt.Errorf("%s: jobs cannot be listed: %w", paths.Remote(), cause(err)))
	}
	var all []job
	var problems []error
	for _, entry := range entries {
		j, err := e.openNote(filepath.Join(paths.Remote(), entry.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			problems = append(problems, err)
		default:
			all = append(all, j)
		}
	}
	return all, errors.Join(problems...)
}

// connect makes the backend of a job on a cluster, once.
func (e *Env) connect(j job) (backend.Backend, error) {
	r := j.remote
	if r.backend == nil {
		b, err := e.cluster(r.On, r.Conf, e.whoOf(r.note))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", j.ID, err)
		}
		r.backend = b
	}
	return r.backend, nil
}

// prover is a backend that can tell what it proves with who we are.
type prover interface {
	Proves() (keytab, principal, cache string)
}

// whoOf is who we are for a job that was noted. A person's own ticket is as good
// as the one that it was submitted with, which may be gone; the server that tends
// it has no other.
func (e *Env) whoOf(n note) yarn.Who {
	w := e.who()
	w.User = n.User
	if w.Keytab == "" && n.Keytab != "" {
		w.Keytab, w.Principal = n.Keytab, n.Principal
	}
	if e.tending != nil && w.Keytab == "" {
		w.Cache = n.Cache
	}
	return w
}

// disconnect ends the connections of a job's backend.
func (e *Env) disconnect(j job) {
	if c, ok := j.remote.backend.(io.Closer); ok {
		_ = c.Close() // nothing is lost with them
	}
	j.remote.backend = nil
}

// storage is the file system of a job's directory.
func (e *Env) storage(j job) (storage.FS, error) {
	if j.remote == nil {
		return disk, nil
	}
	if j.remote.denied != nil {
		return nil, j.remote.denied
	}
	b, err := e.connect(j)
	if err != nil {
		return nil, refused(err)
	}
	home, ok := b.(backend.Home)
	if !ok {
		return nil, faultf(exitInternal, "%s: %s says not where its jobs lie", j.ID, b.Name())
	}
	return home.FS(), nil
}

// listed gives the jobs of this user that a cluster itself knows, wherever they
// were submitted from.
func (e *Env) listed(ctx context.Context, on string) ([]job, error) {
	b, err := e.cluster(on, "", e.who())
	if err != nil {
		return nil, err
	}
	l, ok := b.(backend.Lister)
	home, ok2 := b.(backend.Home)
	if !ok || !ok2 {
		return nil, faultf(exitUsage, "--on %s: cannot list its jobs", on)
	}
	refs, err := l.List(ctx)
	if err != nil {
		return nil, refused(err)
	}
	paths, err := e.Paths()
	if err != nil {
		return nil, err
	}
	var all []job
	var problems []error
	for _, ref := range refs {
		p, at, err := readSubmitted(ctx, home.FS(), ref.Dir)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				problems = append(problems, err)
			}
			continue
		}
		n := note{Ref: ref, On: on, Conf: e.hadoopConf(siteOf(on)), User: e.ownerOf(b), Plan: p, Submitted: at}
		j := e.jobAt(n, filepath.Join(paths.Remote(), ref.Job))
		j.remote.backend = b
		all = append(all, j)
	}
	slices.SortFunc(all, newestFirst)
	return all, errors.Join(problems...)
}

// readSubmitted reads what was submitted from a job's directory.
func readSubmitted(ctx context.Context, fsys storage.FS, dir string) (*plan.Plan, time.Time, error) {
	path := dir + "/submission.json"
	in, err := fsys.Open(ctx, path, 0)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer in.Close()
	var s struct{ Plan *plan.Plan }
	if err := json.NewDecoder(in).Decode(&s); err != nil || s.Plan == nil {
		return nil, time.Time{}, fmt.Errorf("%s: not a submission: %w", path, err)
	}
	info, err := fsys.Stat(ctx, path)
	if err != nil {
		return nil, time.Time{}, err
	}
	return s.Plan, info.ModTime(), nil
}

func siteOf(on string) string {
	_, site, _ := strings.Cut(on, ":")
	return site
}
