package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/local"
	"github.com/muster-project/muster/plan"
)

// submit takes a job. The same submission may come again, also when the answer
// to the first was lost: it is known by its id.
func (s *Server) submit(p Person, sub backend.Submission) (backend.Ref, error) {
	if err := s.acceptable(p, sub); err != nil {
		return backend.Ref{}, err
	}
	// Who submits is what the kernel says, not what the client wrote.
	sub.Plan.User = p.Name
	s.submitting.Lock()
	defer s.submitting.Unlock()
	if j := s.job(sub.Plan.ID); j != nil {
		if j.owner.UID != p.UID || !samePlan(j.plan, sub.Plan) {
			return backend.Ref{}, api.Errorf(api.CodeConflict, "%s: another job has this id", sub.Plan.ID)
		}
		return j.ref(), nil
	}
	if err := s.limited(p.Name, sub.Plan); err != nil {
		return backend.Ref{}, err
	}
	j, err := s.store(p, sub)
	if err != nil {
		return backend.Ref{}, err
	}
	s.take(j)
	return j.ref(), nil
}

// samePlan compares what was submitted; nil maps and empty ones are the same.
func samePlan(a, b *plan.Plan) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// acceptable refuses what no coordinator could work with, and what would make
// a path of ours lead somewhere else.
func (s *Server) acceptable(p Person, sub backend.Submission) error {
	switch {
	case sub.Plan == nil:
		return api.Errorf(api.CodeRefused, "submission: it has no plan")
	case sub.Plan.Version != plan.PlanVersion:
		return api.Errorf(api.CodeVersion, "plan: version %d: this server (%s) reads %d", sub.Plan.Version, s.Version, plan.PlanVersion).
			WithHint("muster serve --stop ends it; the next command starts the one that fits")
	case !s.Shared && p.UID != s.self.UID:
		return api.Errorf(api.CodeForbidden, "%s: this server is %s's own and runs no job of others", p.Name, s.self.Name)
	case len(sub.Plan.Roles) == 0:
		return api.Errorf(api.CodeRefused, "plan: it has no role")
	}
	if id, err := plan.ParseID(sub.Plan.ID); err != nil || id != sub.Plan.ID {
		return api.Errorf(api.CodeRefused, "plan: id %q is not one of muster's", sub.Plan.ID)
	}
	for _, r := range sub.Plan.Roles {
		if !fileName(r.Name) {
			return api.Errorf(api.CodeRefused, "roles.%s: cannot be the name of a directory", r.Name)
		}
	}
	return nil
}

// fileName says that a word can be part of a file's name and of no path.
func fileName(s string) bool {
	return s != "" && len(s) <= 128 && !strings.HasPrefix(s, ".") && !strings.ContainsAny(s, "/\x00")
}

// parts are the directories of every job.
var parts = []string{"journal", "endpoint", "mailbox", "slots", "tasks", "checkpoint"}

// store writes a job's directory. It appears under its name when it is complete
// and on the disk, or not at all.
func (s *Server) store(p Person, sub backend.Submission) (*job, error) {
	h, err := s.homeOf(p)
	if err != nil {
		return nil, err
	}
	id := sub.Plan.ID
	data, err := json.Marshal(sub)
	if err != nil {
		return nil, fmt.Errorf("submission: cannot be written as JSON: %w", err)
	}
	link, err := json.Marshal(local.Link{Socket: s.Socket, State: s.State, Shared: s.Shared, Serve: s.serve(p)})
	if err != nil {
		return nil, err
	}
	if s.Shared {
		if err := s.recordOwner(id, p); err != nil {
			return nil, err
		}
	}
	temp := filepath.Join("jobs", ".new-"+id)
	h.root.RemoveAll(temp) // left by a server that died here
	err = h.mkdir(temp)
	for _, part := range parts {
		if err == nil {
			err = h.mkdir(filepath.Join(temp, part))
		}
	}
	if err == nil {
		err = h.writeAll(temp, map[string][]byte{"submission.json": data, local.LinkFile: link})
	}
	if err == nil {
		err = h.root.Rename(temp, filepath.Join("jobs", id))
	}
	if err == nil {
		err = h.syncDir("jobs")
	}
	if err != nil {
		h.root.RemoveAll(temp)
		return nil, unwritable(h.path(filepath.Join("jobs", id)), err)
	}
	return &job{id: id, home: h, owner: p, plan: sub.Plan, submitted: time.Now()}, nil
}

// serve is how a coordinator of this person may start the server again.
func (s *Server) serve(p Person) []string {
	if s.Shared || p.UID != s.self.UID {
		return nil
	}
	return s.Serve
}

// recordOwner writes who a job runs as where only root can.
func (s *Server) recordOwner(id string, p Person) error {
	dir := filepath.Join(s.State, "owners")
	data, err := json.Marshal(p)
	if err == nil {
		err = os.Mkdir(dir, 0o700)
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	path := filepath.Join(dir, id+".json")
	if err == nil {
		err = os.WriteFile(path+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return unwritable(path, err)
	}
	return nil
}
