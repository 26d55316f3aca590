package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/muster-project/muster/plan"
)

// desk is a coordinator for tests: it remembers what it is told.
type desk struct {
	mu       sync.Mutex
	term     int64
	beat     time.Duration
	refuse   error
	onLink   func(*Link)
	links    []*Link
	hellos   []Hello
	got      []Message
	unlinked []error
	order    []string
}

func (d *desk) Linked(l *Link, h Hello) (Welcome, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuse != nil {
		return Welcome{}, d.refuse
	}
	d.links, d.hellos, d.order = append(d.links, l), append(d.hellos, h), append(d.order, "linked")
	if d.onLink != nil {
		d.onLink(l)
	}
	return Welcome{Term: d.term, Beat: d.beat}, nil
}

func (d *desk) Received(_ *Link, m Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.got = append(d.got, m)
}

func (d *desk) Unlinked(_ *Link, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unlinked, d.order = append(d.unlinked, err), append(d.order, "unlinked")
}

// look runs f under the desk's lock.
func look[T any](d *desk, f func() T) T {
	d.mu.Lock()
	defer d.mu.Unlock()
	return f()
}

func (d *desk) link(t *testing.T, n int) *Link {
	t.Helper()
	eventually(t, "link", func() bool { return look(d, func() bool { return len(d.links) > n }) })
	return look(d, func() *Link { return d.links[n] })
}

func (d *desk) reason(t *testing.T) error {
	t.Helper()
	eventually(t, "unlinked", func() bool { return look(d, func() bool { return len(d.unlinked) > 0 }) })
	return look(d, func() error { return d.unlinked[0] })
}

// site is a job's authority with a server for it.
type site struct {
	t    testing.TB
	auth *Authority
	desk *desk
	srv  *Server
	addr string
	stop func()
}

const jobID = "m-7k3f"

var worker = plan.TaskID{Role: "worker", Index: 3}

func newSite(t testing.TB, d *desk, limits Limits) *site {
	t.Helper()
	auth, err := NewAuthority(jobID)
	if err != nil {
		t.Fatal(err)
	}
	conf, err := auth.Coordinator()
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, auth: auth, desk: d, addr: ln.Addr().String(),
		srv: &Server{TLS: conf, Handler: d, Limits: limits, Binary: "1.0"}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.srv.Serve(ctx, ln) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

func (s *site) executor(task plan.TaskID) *tls.Config { return s.side(task, Executor) }

func (s *site) control(task plan.TaskID) *tls.Config { return s.side(task, Control) }

// side is one of an executor's TLS sides.
func (s *site) side(task plan.TaskID, kind func(authority, cert, key []byte) (*tls.Config, error)) *tls.Config {
	s.t.Helper()
	cert, key, err := s.auth.Issue(task)
	if err != nil {
		s.t.Fatal(err)
	}
	conf, err := kind(s.auth.Certificate(), cert, key)
	if err != nil {
		s.t.Fatal(err)
	}
	return conf
}

func hello(task plan.TaskID) Hello {
	return Hello{Job: jobID, Slot: "s-" + task.String(), Task: task, Binary: "1.0", Phase: PhaseIdle}
}

// dial connects an executor, with a short silence if limits say so.
func (s *site) dial(task plan.TaskID, limits Limits) *Conn {
	s.t.Helper()
	c, _, err := Dialer{Limits: limits}.Dial(s.t.Context(), s.addr, s.executor(task), hello(task))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// drain hears directives into a channel until the link ends.
func drain(c *Conn) (<-chan Directive, <-chan error) {
	out, end := make(chan Directive, 1000), make(chan error, 1)
	go func() {
		for {
			d, err := c.Recv()
			if err != nil {
				end <- err
				return
			}
			out <- d
		}
	}()
	return out, end
}

func next[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
	}
	panic("unreachable")
}

func is(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
