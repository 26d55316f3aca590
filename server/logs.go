package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"github.com/muster-project/muster/access"
	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/process/capture"
)

// getLogs sends the output of one process of a task, as lines that are safe to
// show; with follow until the job is sealed.
func (s *Server) getLogs(w http.ResponseWriter, r *http.Request, p Person) error {
	j, err := s.find(r, p, access.View)
	if err != nil {
		return err
	}
	if j.owner.UID != s.self.UID {
		// Root opens no file below a directory that a user can rearrange.
		return api.Errorf(api.CodeRefused, "%s: this server opens no log of others itself", j.id).WithHint("muster logs %s shows them to those who may see the job", j.id)
	}
	q := r.URL.Query()
	path, err := s.logPath(j, q.Get("task"), q.Get("proc"), q.Get("stream"))
	if err != nil {
		return err
	}
	log, last, err := openLog(path, q.Get("since"), q.Get("tail"))
	if errors.Is(err, fs.ErrNotExist) {
		return api.Errorf(api.CodeUnknown, "%s: %s has printed nothing yet", j.id, q.Get("task"))
	}
	if err != nil {
		return err
	}
	defer log.Close()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if flag(r, "follow") {
		s.owned.Go(func() { s.whenSealed(ctx, j, cancel) })
	} else {
		cancel() // to the present end
	}
	out := http.NewResponseController(w)
	for _, line := range last {
		io.WriteString(w, line.Text+"\n") // a broken connection is met below
	}
	for line, err := range log.Follow(ctx) {
		if err != nil {
			panic(http.ErrAbortHandler) // an answer that broke off must not look whole
		}
		if _, err := io.WriteString(w, line.Text+"\n"); err != nil {
			return nil // whoever asked left
		}
		if err := out.Flush(); err != nil {
			return nil
		}
	}
	return nil
}

// whenSealed calls done when the job has ended or nobody waits any more.
func (s *Server) whenSealed(ctx context.Context, j *job, done func()) {
	defer done()
	for line, err := range s.lines(ctx, j, 1, true, true) {
		_, _ = line, err
	}
}

// logPath is the log of the newest incarnation of a task.
func (s *Server) logPath(j *job, task, proc, stream string) (string, error) {
	id, err := plan.ParseTask(task)
	n, nerr := strconv.Atoi(proc)
	if err != nil || id.IsZero() || !fileName(id.Role) || nerr != nil || n < 0 || stream != "out" && stream != "err" {
		return "", api.Errorf(api.CodeRefused, "%s: not a task's output: task, proc and stream (out, err) must be named", task)
	}
	dir := filepath.Join(j.dir(), "tasks", id.Dir())
	names, err := readNames(dir)
	if err != nil {
		return "", err
	}
	newest := 0
	for _, name := range names {
		if k, err := strconv.Atoi(name); err == nil {
			newest = max(newest, k)
		}
	}
	if newest == 0 {
		return "", api.Errorf(api.CodeUnknown, "%s: %s has not started yet", j.id, task)
	}
	return filepath.Join(dir, strconv.Itoa(newest), "logs", fmt.Sprintf("%d.%s", n, stream)), nil
}

// openLog opens a log at a time, before its last lines, or at its beginning.
// The last lines are read already; the reader goes on after them.
func openLog(path, since, tail string) (*capture.Reader, []capture.Line, error) {
	if since != "" {
		t, err := time.Parse(time.RFC3339Nano, since)
		if err != nil {
			return nil, nil, api.Errorf(api.CodeRefused, "since: %q is not a time", since)
		}
		r, err := capture.OpenSince(path, t)
		return r, nil, err
	}
	n, err := strconv.Atoi(tail)
	if err != nil || n < 0 {
		r, err := capture.Open(path)
		return r, nil, err
	}
	// Times are coarse: lines of the same moment may precede the last n.
	near, err := capture.Tail(path, n)
	if err != nil {
		return nil, nil, err
	}
	var at time.Time
	if len(near) > 0 {
		at = near[0].At
	}
	r, err := capture.OpenSince(path, at)
	if err != nil {
		return nil, nil, err
	}
	var last []capture.Line
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r, last[max(0, len(last)-n):], nil
		}
		if err != nil {
			return nil, nil, errors.Join(err, r.Close())
		}
		last = append(last, line)
	}
}
