package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/muster-project/muster/access"
	"github.com/muster-project/muster/api"
)

// mostReaders is how many people may read logs at a time: each costs a process.
const mostReaders = 64

// getLines sends what a job's tasks printed, merged by time, as lines of JSON. A
// process of the job's owner reads it: below a directory that a user can
// rearrange, links lead no further than where that user may go anyway.
func (s *Server) getLines(w http.ResponseWriter, r *http.Request, p Person) error {
	j, err := s.find(r, p, access.View)
	if err != nil {
		return err
	}
	if s.readers.Add(1) > mostReaders {
		s.readers.Add(-1)
		return api.Errorf(api.CodeBusy, "%s: %d people read logs already", j.id, mostReaders).WithHint("try again later")
	}
	defer s.readers.Add(-1)
	cmd := s.ownersProcess(r.Context(), j, lineCommand(s.Lines, j.dir(), r))
	var problem complaint
	cmd.Stderr = &problem
	alive, err1 := cmd.StdinPipe() // closed, also by our own death, it ends the reader
	lines, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return api.Errorf(api.CodeInternal, "%s: its logs cannot be read: %v", j.id, err)
	}
	sent, err := forward(w, lines)
	alive.Close()
	if err != nil { // whoever asked left
		_ = cmd.Wait()
		return nil
	}
	if err = cmd.Wait(); err == nil || r.Context().Err() != nil {
		return nil
	}
	if sent {
		panic(http.ErrAbortHandler) // an answer that broke off must not look whole
	}
	text := strings.TrimPrefix(strings.TrimSpace(problem.String()), "muster: ")
	if text == "" {
		text = err.Error()
	}
	return api.Errorf(api.CodeRefused, "%s: its logs cannot be read: %s", j.id, text)
}

// lineCommand is the command line of a reader. Each value is in one word with
// the name of its flag, so that it can be no other flag.
func lineCommand(argv []string, dir string, r *http.Request) []string {
	q := r.URL.Query()
	out := append(append([]string{}, argv...), "--job="+dir, "--follow="+strconv.FormatBool(flag(r, "follow")))
	for _, name := range []string{"since", "tail", "stream", "grep", "incarnation", "task"} {
		for _, value := range q[name] {
			if value != "" {
				out = append(out, "--"+name+"="+value)
			}
		}
	}
	return out
}

// forward sends what comes, as it comes.
func forward(w http.ResponseWriter, in io.Reader) (sent bool, err error) {
	out := http.NewResponseController(w)
	buf := make([]byte, 64<<10)
	for {
		n, end := in.Read(buf)
		if n > 0 {
			sent = true
			if _, err := w.Write(buf[:n]); err != nil {
				return sent, err
			}
			if err := out.Flush(); err != nil {
				return sent, err
			}
		}
		if errors.Is(end, io.EOF) {
			return sent, nil
		}
		if end != nil {
			return sent, end
		}
	}
}

// complaint keeps the beginning of what a process complains of.
type complaint struct{ bytes.Buffer }

func (c *complaint) Write(p []byte) (int, error) {
	const most = 4 << 10
	if room := most - c.Len(); room > 0 {
		c.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
