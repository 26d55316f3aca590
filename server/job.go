package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
)

const openNonblock = unix.O_NONBLOCK

// maxSubmission bounds a submission: a plan and an environment.
const maxSubmission = 64 << 20

// job is one job that the server knows.
type job struct {
	id        string
	home      *home
	owner     Person
	plan      *plan.Plan
	submitted time.Time

	// Under the server's lock.
	sealed    *session.View // set once its journal ends; it never changes after
	abandoned bool          // no coordinator is started any more
}

func (j *job) rel(rest string) string { return filepath.Join("jobs", j.id, rest) }

func (j *job) dir() string { return j.home.path(j.rel("")) }

func (j *job) ref() backend.Ref { return backend.Ref{Job: j.id, Native: j.id, Dir: j.dir()} }

// owned says that somebody is as good as the job's owner.
func (j *job) owned(p Person) bool { return p.root() || p.UID == j.owner.UID }

// loadJob reads a job's directory.
func loadJob(h *home, id string, owner Person) (*job, error) {
	j := &job{id: id, home: h, owner: owner}
	rel := j.rel("submission.json")
	data, err := h.readBelow(rel, maxSubmission)
	if err != nil {
		return nil, err
	}
	var s struct{ Plan *plan.Plan }
	if err := json.Unmarshal(data, &s); err != nil || s.Plan == nil {
		return nil, fmt.Errorf("%s: not a submission: %w", h.path(rel), err)
	}
	j.plan = s.Plan
	if info, err := h.root.Stat(rel); err == nil {
		j.submitted = info.ModTime()
	}
	return j, nil
}

// loadJobs finds every job of this server, and tells what cannot be read
// without hiding the rest.
func (s *Server) loadJobs() ([]*job, error) {
	if s.Shared {
		return s.loadOwned()
	}
	h, err := s.homeOf(s.self)
	if err != nil {
		return nil, err
	}
	names, err := readNames(h.path("jobs"))
	if err != nil {
		return nil, unwritable(h.path("jobs"), err)
	}
	var jobs []*job
	for _, id := range names {
		if j := s.loadOne(h, id, s.self); j != nil {
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}

func (s *Server) loadOne(h *home, id string, owner Person) *job {
	if got, err := plan.ParseID(id); err != nil || got != id {
		return nil
	}
	j, err := loadJob(h, id, owner)
	if err != nil {
		s.Log.Warn("job is not taken up", "job", id, "error", err)
		return nil
	}
	return j
}

// loadOwned goes by the records that only root can write: what stands in a
// user's own directory never says who a job runs as.
func (s *Server) loadOwned() ([]*job, error) {
	dir := filepath.Join(s.State, "owners")
	names, err := readNames(dir)
	if err != nil {
		return nil, unwritable(dir, err)
	}
	var jobs []*job
	for _, name := range names {
		id, ok := strings.CutSuffix(name, ".json")
		data, err := os.ReadFile(filepath.Join(dir, name))
		if !ok || err != nil {
			continue
		}
		var p Person
		if err := json.Unmarshal(data, &p); err != nil {
			s.Log.Warn("job is not taken up", "job", id, "error", err)
			continue
		}
		h, err := s.homeOf(p)
		if err != nil {
			s.Log.Warn("job is not taken up", "job", id, "error", err)
			continue
		}
		if j := s.loadOne(h, id, p); j != nil {
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}

func readNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}
