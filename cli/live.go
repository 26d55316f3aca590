package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/coordinator"
	"github.com/muster-project/muster/page"
	"github.com/muster-project/muster/plan"
)

// live is the way to the coordinator of a running job on a cluster: straight to
// its node, or through the resource manager's proxy where nodes cannot be
// reached from here. It is looked for anew when it fails.
type live struct {
	env  *Env
	job  job
	http *http.Client

	mu   sync.Mutex
	last way // that worked
}

// dialTime bounds the trying of one way: many sites drop what goes to nodes.
const dialTime = 2 * time.Second

// errNoPage says that the job's coordinator cannot be asked now: there may be none.
var errNoPage = errors.New("its coordinator cannot be reached")

func (e *Env) live(j job) *live {
	dialer := &net.Dialer{Timeout: dialTime}
	return &live{env: e, job: j, http: &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext,
		ResponseHeaderTimeout: 10 * time.Second, Proxy: http.ProxyFromEnvironment}}}
}

func (l *live) close() { l.http.CloseIdleConnections() }

// get opens one of the pages.
func (l *live) get(ctx context.Context, what string) (io.ReadCloser, error) {
	if way := l.known(); way.base != "" {
		if body, err := l.from(ctx, way, what); err == nil || errors.Is(err, errNotThere) {
			return body, err
		}
	}
	var problems []error
	for _, find := range []func(context.Context) (way, error){l.direct, l.proxied} {
		way, err := find(ctx)
		if err != nil || way.base == "" {
			problems = append(problems, err)
			continue
		}
		body, err := l.from(ctx, way, what)
		if err == nil || errors.Is(err, errNotThere) {
			l.mu.Lock()
			l.last = way
			l.mu.Unlock()
			return body, err
		}
		problems = append(problems, err)
	}
	return nil, fmt.Errorf("%s: %w: %w", l.job.ID, errNoPage, errors.Join(problems...))
}

// way is one way to the coordinator, and what opens its door.
type way struct {
	base  string // address, ending in a slash
	key   string
	query url.Values
	http  *http.Client // nil: live's own
}

func (l *live) known() way {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// errNotThere says that the coordinator answered, and has not what was asked for.
var errNotThere = errors.New("not there")

func (l *live) from(ctx context.Context, w way, what string) (io.ReadCloser, error) {
	if len(w.query) > 0 {
		sep := "?"
		if strings.Contains(what, "?") {
			sep = "&"
		}
		what += sep + w.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.base+what, nil)
	if err != nil {
		return nil, err
	}
	if w.key != "" {
		req.Header.Set("Authorization", "Bearer "+w.key)
	}
	resp, err := cmp.Or(w.http, l.http).Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
	resp.Body.Close()
	err = fmt.Errorf("%s: %s: %s", w.base, resp.Status, strings.TrimSpace(string(text)))
	if resp.StatusCode == http.StatusNotFound {
		err = fmt.Errorf("%w: %w", errNotThere, err)
	}
	return nil, err
}

// direct is the address that the newest coordinator left in the job's directory.
func (l *live) direct(ctx context.Context) (way, error) {
	fsys, err := l.env.storage(l.job)
	if err != nil {
		return way{}, err
	}
	dir := path.Join(l.job.Dir, "endpoint")
	list, err := fsys.List(ctx, dir)
	if err != nil || len(list) == 0 {
		return way{}, err
	}
	in, err := fsys.Open(ctx, path.Join(dir, list[len(list)-1].Name()), 0)
	if err != nil {
		return way{}, err
	}
	defer in.Close()
	var end coordinator.Endpoint
	if err := json.NewDecoder(in).Decode(&end); err != nil {
		return way{}, err // is being written
	}
	return way{base: end.Page, key: end.Key}, nil
}

// introducer is a backend whose resource manager wants to know who looks at a
// page through it.
type introducer interface {
	// Introduce gives a client that proves it, nil for any, and what is to be said.
	Introduce() (*http.Client, url.Values)
}

func (l *live) proxied(ctx context.Context) (way, error) {
	b, err := l.env.connect(l.job)
	if err != nil {
		return way{}, err
	}
	p, ok := b.(backend.Pager)
	if !ok {
		return way{}, nil
	}
	out := way{}
	if out.base, err = p.Page(ctx, l.job.remote.Ref); err != nil {
		return way{}, err
	}
	if i, ok := b.(introducer); ok {
		out.http, out.query = i.Introduce()
	}
	return out, nil
}

// log opens one log of a running task, with the times of its pieces; follow
// means until the task ends.
func (l *live) log(ctx context.Context, id plan.TaskID, incarnation int, stream string, offset int64, follow bool) (io.ReadCloser, error) {
	what := fmt.Sprintf("logs/%s/%d/%d/%s?timed=1&offset=%d", url.PathEscape(id.Role), id.Index, incarnation, stream, offset)
	if follow {
		what += "&follow=1"
	}
	return l.get(ctx, what)
}

// measure is what the tasks of a job on a cluster use, as their executors
// told the coordinator. Nothing while nobody can be asked.
func (l *live) measure(ctx context.Context) (map[plan.TaskID]usage, error) {
	body, err := l.get(ctx, "usage.json")
	if errors.Is(err, errNoPage) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var list []page.Used
	if err := json.NewDecoder(body).Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: its coordinator's answer is not understood: %w", l.job.ID, err)
	}
	out := map[plan.TaskID]usage{}
	for _, u := range list {
		out[u.Task] = usage{CPU: u.CPU, Memory: u.Memory, Procs: u.Procs}
	}
	return out, nil
}
