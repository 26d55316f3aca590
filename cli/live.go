package cli

import (
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
	base string // of the way that worked last
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
	if base := l.way(); base != "" {
		if body, err := l.from(ctx, base, what); err == nil || errors.Is(err, errNotThere) {
			return body, err
		}
	}
	var problems []error
	for _, way := range []func(context.Context) (string, error){l.direct, l.proxied} {
		base, err := way(ctx)
		if err != nil || base == "" {
			problems = append(problems, err)
			continue
		}
		body, err := l.from(ctx, base, what)
		if err == nil || errors.Is(err, errNotThere) {
			l.mu.Lock()
			l.base = base
			l.mu.Unlock()
			return body, err
		}
		problems = append(problems, err)
	}
	return nil, fmt.Errorf("%s: %w: %w", l.job.ID, errNoPage, errors.Join(problems...))
}

func (l *live) way() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.base
}

// errNotThere says that the coordinator answered, and has not what was asked for.
var errNotThere = errors.New("not there")

func (l *live) from(ctx context.Context, base, what string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+what, nil)
	if err != nil {
		return nil, err
	}
	resp, err := l.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
	resp.Body.Close()
	err = fmt.Errorf("%s: %s: %s", base, resp.Status, strings.TrimSpace(string(text)))
	if resp.StatusCode == http.StatusNotFound {
		err = fmt.Errorf("%w: %w", errNotThere, err)
	}
	return nil, err
}

// direct is the address that the newest coordinator left in the job's directory.
func (l *live) direct(ctx context.Context) (string, error) {
	fsys, err := l.env.storage(l.job)
	if err != nil {
		return "", err
	}
	dir := path.Join(l.job.Dir, "endpoint")
	list, err := fsys.List(ctx, dir)
	if err != nil || len(list) == 0 {
		return "", err
	}
	in, err := fsys.Open(ctx, path.Join(dir, list[len(list)-1].Name()), 0)
	if err != nil {
		return "", err
	}
	defer in.Close()
	var end coordinator.Endpoint
	if err := json.NewDecoder(in).Decode(&end); err != nil {
		return "", err // is being written
	}
	return end.Page, nil
}

func (l *live) proxied(ctx context.Context) (string, error) {
	b, err := l.env.connect(l.job)
	if err != nil {
		return "", err
	}
	p, ok := b.(backend.Pager)
	if !ok {
		return "", nil
	}
	return p.Page(ctx, l.job.remote.Ref)
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
