package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend/local"
	"github.com/muster-project/muster/plan"
)

func (s *Server) getCapacity(w http.ResponseWriter, r *http.Request, p Person) error {
	use, err := s.engine.Use(r.Context())
	out := api.Capacity{Node: use.Machine.Node, Capabilities: local.Capabilities(use.Machine), Processors: len(use.Machine.CPUs),
		Free: use.Free, GPUs: use.Machine.GPUs}
	if errors.Is(err, local.ErrClaims) {
		out.Claims = strings.ReplaceAll(err.Error(), "\n", "; ")
	} else if err != nil {
		out.Trouble = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	for _, c := range use.Claims {
		out.Holds = append(out.Holds, api.Hold{Job: c.Job, Slot: c.Slot, Task: c.Task, User: c.User, CPUSet: c.CPUSet, GPUs: c.GPUs,
			Resources: plan.Resources{CPUs: c.CPUs, Memory: c.Memory, GPUs: len(c.GPUs)}})
	}
	return reply(w, out)
}

// ours gives the job of a coordinator that asks for slots: it runs as its owner.
func (s *Server) ours(id string, p Person) (*job, error) {
	j := s.job(id)
	if j == nil {
		return nil, api.Errorf(api.CodeUnknown, "%s: no such job", id)
	}
	if !j.owned(p) {
		return nil, api.Errorf(api.CodeForbidden, "%s: is %s's job, not %s's", id, j.owner.Name, p.Name)
	}
	return j, nil
}

// postSlots answers until the request has all it asked for, is refused, or the
// coordinator hangs up; then the request keeps its place for the next one.
func (s *Server) postSlots(w http.ResponseWriter, r *http.Request, p Person) error {
	var req api.SlotRequest
	if err := read(w, r, maxSubmission, &req); err != nil {
		return err
	}
	j, err := s.ours(req.Job, p)
	if err != nil {
		return err
	}
	for _, a := range req.Asks {
		if !fileName(a.Task.Role) || a.Resources.CPUs < 0 || a.Resources.Memory < 0 || a.Resources.GPUs < 0 {
			return api.Errorf(api.CodeRefused, "%s: no task that a slot can be given to", a.Task)
		}
	}
	ticket, answers := s.engine.Request(local.Wanted{Job: j.id, User: j.owner.Name, Number: req.Number, Asks: req.Asks,
		Minimum: max(1, min(req.Minimum, len(req.Asks))), Ticket: req.Ticket}, j.owner.UID)
	send := func(a api.SlotAnswer) bool {
		return json.NewEncoder(w).Encode(a) == nil && http.NewResponseController(w).Flush() == nil
	}
	if !send(api.SlotAnswer{Ticket: ticket}) {
		return nil
	}
	for {
		select {
		case <-r.Context().Done():
			return nil
		case a, open := <-answers:
			if !open {
				return nil // another connection asks the same now, or it was withdrawn
			}
			out := api.SlotAnswer{Reasons: a.Reasons, Refused: a.Refused, Done: a.Done}
			for _, g := range a.Granted {
				out.Granted = append(out.Granted, api.Grant{Slot: g.Slot, Claim: g.Claim})
			}
			if !send(out) || a.Done {
				return nil
			}
		}
	}
}

func (s *Server) postLaunched(w http.ResponseWriter, r *http.Request, p Person) error {
	var l api.Launched
	if err := read(w, r, 1<<24, &l); err != nil {
		return err
	}
	j, err := s.ours(l.Job, p)
	if err != nil {
		return err
	}
	s.engine.Launched(j.id, l.Slots)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) deleteSlots(w http.ResponseWriter, r *http.Request, p Person) error {
	j, err := s.ours(r.PathValue("job"), p)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || number < 0 {
		return api.Errorf(api.CodeRefused, "%s: not the number of a request", r.PathValue("number"))
	}
	s.engine.Drop(j.id, number)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
