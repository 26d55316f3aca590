package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"github.com/muster-project/muster/access"
	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/local"
	"github.com/muster-project/muster/session"
)

func pid() int { return os.Getpid() }

func (s *Server) postJob(w http.ResponseWriter, r *http.Request, p Person) error {
	var sub backend.Submission
	if err := read(w, r, maxSubmission, &sub); err != nil {
		return err
	}
	ref, err := s.submit(p, sub)
	if err != nil {
		return err
	}
	return reply(w, ref)
}

// find gives a job to those who have a right to it.
func (s *Server) find(r *http.Request, p Person, right access.Right) (*job, error) {
	id := r.PathValue("id")
	j := s.job(id)
	if j == nil {
		return nil, api.Errorf(api.CodeUnknown, "%s: no such job", id)
	}
	if !s.may(j, p, right) {
		return nil, denied(j, p, right)
	}
	return j, nil
}

func (s *Server) getJobs(w http.ResponseWriter, r *http.Request, p Person) error {
	jobs := []api.Job{}
	for _, j := range s.list() {
		if j.owner.UID == p.UID || flag(r, "all") && s.may(j, p, access.View) {
			jobs = append(jobs, s.describe(r.Context(), j, p))
		}
	}
	return reply(w, jobs)
}

func (s *Server) getJob(w http.ResponseWriter, r *http.Request, p Person) error {
	j, err := s.find(r, p, access.View)
	if err != nil {
		return err
	}
	return reply(w, s.describe(r.Context(), j, p))
}

// describe is a job as its journal tells it, or as it was submitted while it
// has none. A journal that cannot be read does not hide the job.
func (s *Server) describe(ctx context.Context, j *job, p Person) api.Job {
	out := s.described(ctx, j)
	if !j.owned(p) {
		out.View = keyless(out.View)
	}
	return out
}

func (s *Server) described(ctx context.Context, j *job) api.Job {
	s.mu.Lock()
	sealed := j.sealed
	s.mu.Unlock()
	if sealed != nil {
		return api.Job{View: *sealed, Dir: j.dir()}
	}
	out := api.Job{Dir: j.dir()}
	v, err := s.view(ctx, j)
	if err != nil {
		out.Trouble = err.Error()
	}
	if v.Seq == 0 {
		p := j.plan
		v = session.View{ID: j.id, Name: p.Name, User: p.User, Framework: p.Framework, Backend: p.Backend, Queue: p.Queue,
			State: "queued", Submitted: j.submitted}
	}
	out.View = v
	if f, err := j.home.root.OpenFile(j.rel(local.LockFile), os.O_RDONLY|openNonblock, 0); err == nil {
		_, out.Coordinator, _ = local.Holder(f)
		f.Close()
	}
	return out
}

// getEvents streams the journal. The first line goes out at once.
func (s *Server) getEvents(w http.ResponseWriter, r *http.Request, p Person) error {
	j, err := s.find(r, p, access.View)
	if err != nil {
		return err
	}
	from, _ := strconv.ParseInt(r.URL.Query().Get("from"), 10, 64)
	out := http.NewResponseController(w)
	sent := false
	for line, err := range s.lines(r.Context(), j, from, flag(r, "follow"), j.owned(p)) {
		if err != nil {
			if sent {
				panic(http.ErrAbortHandler) // an answer that broke off must not look whole
			}
			return err
		}
		sent = true
		if _, err := w.Write(append(line, '\n')); err != nil {
			return nil // whoever asked left
		}
		if err := out.Flush(); err != nil {
			return nil
		}
	}
	return nil
}

func (s *Server) postStop(w http.ResponseWriter, r *http.Request, p Person) error {
	j, err := s.find(r, p, access.Modify)
	if err != nil {
		return err
	}
	var stop api.Stop
	if err := read(w, r, 1<<20, &stop); err != nil {
		return err
	}
	stop.By = p.Name
	return s.mail(w, r, j, "stop", api.Mail{Stop: &stop})
}

func (s *Server) postSignal(w http.ResponseWriter, r *http.Request, p Person) error {
	j, err := s.find(r, p, access.Modify)
	if err != nil {
		return err
	}
	var sig api.Signal
	if err := read(w, r, 1<<20, &sig); err != nil {
		return err
	}
	sig.By = p.Name
	if sig.Request == "" {
		sig.Request = rand.Text()
	}
	return s.mail(w, r, j, "signal", api.Mail{Signal: &sig})
}

func (s *Server) postRequeue(w http.ResponseWriter, r *http.Request, p Person) error {
	j, err := s.find(r, p, access.Modify)
	if err != nil {
		return err
	}
	var q api.Requeue
	if err := read(w, r, 1<<20, &q); err != nil {
		return err
	}
	q.By = p.Name
	if q.Request == "" {
		q.Request = rand.Text()
	}
	return s.mail(w, r, j, "requeue", api.Mail{Requeue: &q})
}

// mail leaves a message for the job's coordinator. A job that has ended needs
// none: to stop it is fine, to signal or requeue it is refused.
func (s *Server) mail(w http.ResponseWriter, r *http.Request, j *job, what string, m api.Mail) error {
	// Its coordinator may have sealed it a moment ago.
	if _, err := s.ended(r.Context(), j); err != nil {
		s.Log.Warn("journal cannot be read", "job", j.id, "error", err)
	}
	s.mu.Lock()
	sealed, abandoned := j.sealed, j.abandoned
	s.mu.Unlock()
	switch {
	case sealed != nil && m.Stop == nil:
		return api.Errorf(api.CodeRefused, "%s: has ended: %s", j.id, sealed.State)
	case abandoned && sealed == nil:
		return api.Errorf(api.CodeInternal, "%s: its coordinator cannot be started", j.id).
			WithHint("%s says why; what it started ends by itself when its lease is over", filepath.Join(j.dir(), "coordinator.log"))
	case sealed == nil:
		data, err := json.Marshal(m)
		if err != nil {
			return err
		}
		if err := j.home.place(j.rel(fmt.Sprintf("mailbox/%s-%s.json", what, rand.Text())), data); err != nil {
			return unwritable(filepath.Join(j.dir(), "mailbox"), err)
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
