package server

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"strconv"
	"syscall"

	"github.com/muster-project/muster/access"
	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend"
)

// handler is the list of everything a server answers. Each answer may be asked
// for again: a client whose server ended meanwhile repeats itself.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(http.ResponseWriter, *http.Request, Person) error{
		"GET /v1/health":                        s.health,
		"POST /v1/shutdown":                     s.shutdown,
		"HEAD /v1/blobs/{sha}":                  s.headBlob,
		"PUT /v1/blobs/{sha}":                   s.putBlob,
		"POST /v1/jobs":                         s.postJob,
		"GET /v1/jobs":                          s.getJobs,
		"GET /v1/jobs/{id}":                     s.getJob,
		"GET /v1/jobs/{id}/events":              s.getEvents,
		"GET /v1/jobs/{id}/logs":                s.getLogs,
		"GET /v1/jobs/{id}/lines":               s.getLines,
		"POST /v1/jobs/{id}/stop":               s.postStop,
		"POST /v1/jobs/{id}/signal":             s.postSignal,
		"POST /v1/jobs/{id}/requeue":            s.postRequeue,
		"GET /v1/local/capabilities":            s.getCapacity,
		"POST /v1/local/slots":                  s.postSlots,
		"POST /v1/local/slots/launched":         s.postLaunched,
		"DELETE /v1/local/slots/{job}/{number}": s.deleteSlots,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serveOne(w, r, answer) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, api.Errorf(api.CodeVersion, "%s %s: this server (%s) does not know it", r.Method, r.URL.Path, s.Version).
			WithHint("muster serve --stop ends it; the next command starts the one that fits"))
	})
	return mux
}

// serveOne counts the request, names who asks, and turns an error into an answer.
func (s *Server) serveOne(w http.ResponseWriter, r *http.Request, answer func(http.ResponseWriter, *http.Request, Person) error) {
	s.mu.Lock()
	closing := s.closing
	if !closing {
		s.busy++
	}
	s.mu.Unlock()
	if closing {
		panic(http.ErrAbortHandler) // for the client as if we were gone: it asks our successor
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy--
	}()
	p, ok := r.Context().Value(personKey{}).(Person)
	if !ok {
		fail(w, api.Errorf(api.CodeForbidden, "the kernel does not say who is asking"))
		return
	}
	if !s.Shared && p.UID != s.self.UID && !p.root() {
		fail(w, api.Errorf(api.CodeForbidden, "%s: this server is %s's own", p.Name, s.self.Name))
		return
	}
	if err := answer(w, r, p); err != nil {
		s.Log.Debug("refused", "method", r.Method, "path", r.URL.Path, "user", p.Name, "error", err)
		fail(w, err)
	}
}

// statuses are for those who look with curl; clients go by the code.
var statuses = map[api.Code]int{
	api.CodeUnknown: http.StatusNotFound, api.CodeForbidden: http.StatusForbidden,
	api.CodeRefused: http.StatusBadRequest, api.CodeConflict: http.StatusConflict,
	api.CodeBusy: http.StatusServiceUnavailable, api.CodeStorage: http.StatusInsufficientStorage,
	api.CodeVersion: http.StatusNotImplemented, api.CodeInternal: http.StatusInternalServerError,
}

func fail(w http.ResponseWriter, err error) {
	e := kind(err)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(api.CodeHeader, string(e.Code))
	w.WriteHeader(statuses[e.Code])
	_ = json.NewEncoder(w).Encode(e) // whoever asked may have left
}

// kind gives every error a code.
func kind(err error) *api.Error {
	var e *api.Error
	var refused *access.Denied
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, backend.ErrUnknownJob):
		return &api.Error{Code: api.CodeUnknown, Text: err.Error()}
	case errors.As(err, &refused):
		return &api.Error{Code: api.CodeForbidden, Text: refused.Error(), Tip: refused.Hint()}
	case errors.Is(err, fs.ErrPermission):
		return &api.Error{Code: api.CodeForbidden, Text: err.Error()}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EROFS):
		return &api.Error{Code: api.CodeStorage, Text: err.Error()}
	}
	return &api.Error{Code: api.CodeInternal, Text: err.Error()}
}

func reply(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(v)
}

// read decodes the body of a request.
func read(w http.ResponseWriter, r *http.Request, limit int64, v any) error {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit)).Decode(v); err != nil {
		return api.Errorf(api.CodeRefused, "%s %s: not what was expected: %v", r.Method, r.URL.Path, err)
	}
	return nil
}

func flag(r *http.Request, name string) bool {
	yes, _ := strconv.ParseBool(r.URL.Query().Get(name))
	return yes
}

func (s *Server) health(w http.ResponseWriter, r *http.Request, p Person) error {
	h, err := s.homeOf(p)
	if err != nil {
		return err
	}
	s.mu.Lock()
	jobs := s.open()
	s.mu.Unlock()
	return reply(w, api.Hello{API: api.Version, Version: s.Version, PID: pid(), UID: s.self.UID, Shared: s.Shared, Jobs: jobs, State: h.path(".")})
}

// shutdown ends the server after its answer; jobs go on.
func (s *Server) shutdown(w http.ResponseWriter, r *http.Request, p Person) error {
	if p.UID != s.self.UID && !p.root() {
		return api.Errorf(api.CodeForbidden, "%s: only %s may end this server", p.Name, s.self.Name)
	}
	s.mu.Lock()
	n := s.open()
	s.mu.Unlock()
	if n > 0 && flag(r, "idle") {
		return api.Errorf(api.CodeBusy, "serve: %d jobs are not done", n)
	}
	w.WriteHeader(http.StatusNoContent)
	http.NewResponseController(w).Flush()
	s.end()
	return nil
}

func (s *Server) headBlob(w http.ResponseWriter, r *http.Request, p Person) error {
	h, err := s.homeOf(p)
	if err == nil {
		err = goodHash(r.PathValue("sha"))
	}
	if err == nil && !h.hasBlob(r.PathValue("sha")) {
		err = api.Errorf(api.CodeUnknown, "blob %s: is not here", r.PathValue("sha"))
	}
	return err
}

func (s *Server) putBlob(w http.ResponseWriter, r *http.Request, p Person) error {
	sha := r.PathValue("sha")
	h, err := s.homeOf(p)
	if err == nil {
		err = goodHash(sha)
	}
	if err == nil && !h.hasBlob(sha) {
		err = h.putBlob(sha, r.Body)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
