// Package page is what a coordinator shows people of its job over HTTP: the
// running job comes in, HTML, text and JSON go out. A resource manager's proxy
// stands before it, so every link is relative and nothing needs more than GET.
// It changes nothing. A Door decides who comes in, where the cluster cares.
package page

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/wire"
)

// Job is the running job.
type Job interface {
	View() session.View
	// Log gives a log of a task from its executor.
	Log(ctx context.Context, id plan.TaskID, o wire.OpenLog) (io.ReadCloser, error)
	// Usage is what each task used when it was last heard of.
	Usage() map[plan.TaskID]wire.Usage
}

//go:embed job.html
var files embed.FS

// html is made when somebody looks: every process of muster has this package in
// it, and most show nobody anything.
var html = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("job.html").Funcs(functions).ParseFS(files, "job.html"))
})

// Serve answers on the listener until ctx is done. Without a door everybody comes
// in.
func Serve(ctx context.Context, ln net.Listener, j Job, door *Door, log *slog.Logger) error {
	srv := &http.Server{Handler: Handler(j, door), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Handler is all pages of a job.
//
//	/                                            the job, for people
//	/job.json                                    session.View
//	/usage.json                                  what tasks use
//	/logs/ROLE/INDEX/INCARNATION/STREAM          text; ?offset=N, ?follow=1, ?timed=1
func Handler(j Job, door *Door) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { show(w, j) })
	mux.HandleFunc("GET /job.json", func(w http.ResponseWriter, r *http.Request) { data(w, public(j.View())) })
	mux.HandleFunc("GET /usage.json", func(w http.ResponseWriter, r *http.Request) { data(w, usage(j)) })
	mux.HandleFunc("GET /logs/{role}/{index}/{incarnation}/{stream}", func(w http.ResponseWriter, r *http.Request) { text(w, r, j) })
	if door != nil {
		return guard(door.guard(mux))
	}
	return guard(mux)
}

// guard sets what keeps a task's words from doing anything in a browser.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func show(w http.ResponseWriter, j Job) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = html().Execute(w, modelOf(public(j.View()), time.Now())) // whoever reads it may be gone
}

func data(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// Used is what one task uses, in usage.json.
type Used struct {
	Task   plan.TaskID   `json:"task"`
	CPU    time.Duration `json:"cpu"`    // used so far, nanoseconds
	Memory int64         `json:"memory"` // bytes
	Procs  int           `json:"procs"`
	At     time.Time     `json:"at"` // when this answer was made
}

func usage(j Job) []Used {
	out := []Used{}
	now := time.Now()
	for id, u := range j.Usage() {
		out = append(out, Used{Task: id, CPU: u.CPU, Memory: u.Memory, Procs: u.Procs, At: now})
	}
	return out
}

// text copies a log as long as the reader wants it.
func text(w http.ResponseWriter, r *http.Request, j Job) {
	index, err1 := strconv.Atoi(r.PathValue("index"))
	incarnation, err2 := strconv.Atoi(r.PathValue("incarnation"))
	offset, err3 := int64(0), error(nil)
	if o := r.FormValue("offset"); o != "" {
		offset, err3 = strconv.ParseInt(o, 10, 64)
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id := plan.TaskID{Role: r.PathValue("role"), Index: index}
	in, err := j.Log(r.Context(), id, wire.OpenLog{Incarnation: incarnation, Name: r.PathValue("stream"), Offset: offset,
		Follow: r.FormValue("follow") != "", Timed: r.FormValue("timed") != ""})
	if err != nil {
		http.Error(w, id.String()+": "+err.Error(), http.StatusNotFound)
		return
	}
	defer in.Close()
	if r.FormValue("timed") != "" {
		w.Header().Set("Content-Type", "application/octet-stream")
	} else {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	if _, err := io.Copy(flushing{w, http.NewResponseController(w)}, in); err != nil {
		panic(http.ErrAbortHandler) // the reader must not take a torn log for a whole one
	}
}

// flushing sends every piece at once: somebody watches.
type flushing struct {
	io.Writer
	c *http.ResponseController
}

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	return n, errors.Join(err, f.c.Flush())
}
