package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
)

func TestCall(t *testing.T) {
	n := newNetwork(t)
	s := n.set("a:1", &server{simple: true})
	c := client(t, n, Config{Addresses: []string{"a:1"}})
	for i := range 3 {
		got, err := ask(t.Context(), c.Call, fmt.Sprint("hello ", i))
		if err != nil || got != fmt.Sprint("echo hello ", i) {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	want := []call{
		{Address: "a:1", Conn: 1, Method: "say", Text: "hello 0", Client: string(c.id), ID: 0},
		{Address: "a:1", Conn: 1, Method: "say", Text: "hello 1", Client: string(c.id), ID: 1},
		{Address: "a:1", Conn: 1, Method: "say", Text: "hello 2", Client: string(c.id), ID: 2},
	}
	if diff := cmp.Diff(want, s.seen()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if len(c.id) != 16 {
		t.Errorf("a client id of %d bytes", len(c.id))
	}
	x := s.contexts[0]
	if x.GetUserInfo().GetEffectiveUser() != "alice" || x.GetProtocol() != "org.example.Protocol" || x.GetUserInfo().RealUser != nil {
		t.Errorf("connection context %v", x)
	}
}

// Answers come in any order over one connection.
func TestCallsShareAConnection(t *testing.T) {
	const many = 50
	n := newNetwork(t)
	var all sync.WaitGroup
	all.Add(many)
	s := n.set("a:1", &server{simple: true, answer: func(k call) (string, error) {
		all.Done()
		all.Wait() // nobody is answered until everybody has asked
		return k.Text, nil
	}})
	c := client(t, n, Config{Addresses: []string{"a:1"}})
	var group sync.WaitGroup
	for i := range many {
		group.Go(func() {
			text := fmt.Sprint("caller ", i)
			if got, err := ask(t.Context(), c.Call, text); err != nil || got != text {
				t.Errorf("%s got %q, %v", text, got, err)
			}
		})
	}
	group.Wait()
	if conns, _ := s.counts(); conns != 1 {
		t.Errorf("%d connections, want 1", conns)
	}
}

func TestExceptions(t *testing.T) {
	n := newNetwork(t)
	n.set("a:1", &server{simple: true, answer: func(k call) (string, error) {
		return "", &RemoteError{Class: "org.example.OutOfCheese", Message: "no cheese\nbut bread: 3", Detail: 1}
	}})
	c := client(t, n, Config{Addresses: []string{"a:1"}})
	_, err := ask(t.Context(), c.Call, "x")
	var r *RemoteError
	if !errors.As(err, &r) {
		t.Fatalf("got %v", err)
	}
	want := &RemoteError{Class: "org.example.OutOfCheese", Message: "no cheese but bread: 3", Address: "a:1", Detail: 1}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("exception (-want +got):\n%s", diff)
	}
	if want := "say at a:1: OutOfCheese: no cheese but bread: 3"; err.Error() != want {
		t.Errorf("text %q, want %q", err, want)
	}
	if !errors.Is(err, Exception("org.example.OutOfCheese")) || errors.Is(err, Standby) || errors.Is(err, Exception("OutOfCheese")) {
		t.Errorf("identities of %v are wrong", err)
	}
}

func TestFailover(t *testing.T) {
	standby := func(call) (string, error) { return "", Standby }
	tests := []struct {
		name    string
		servers map[string]*server
		want    []string // addresses that got the call, in order
	}{
		{"refused", map[string]*server{"b:1": {simple: true}}, []string{"b:1"}},
		{"standby", map[string]*server{"a:1": {simple: true, answer: standby}, "b:1": {simple: true}}, []string{"a:1", "b:1"}},
		{"hung up", map[string]*server{"a:1": {simple: true, answer: func(call) (string, error) { return "", errHangUp }}, "b:1": {simple: true}}, []string{"a:1", "b:1"}},
		{"fatal standby", map[string]*server{
			"a:1": {simple: true, answer: func(call) (string, error) {
				return "", &RemoteError{Class: string(Standby), Message: "not now", Fatal: true}
			}},
			"b:1": {simple: true},
		}, []string{"a:1", "b:1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				for a, s := range tt.servers {
					n.set(a, s)
				}
				c := client(t, n, Config{Addresses: []string{"a:1", "b:1"}})
				began := time.Now()
				for _, text := range []string{"first", "second"} {
					if got, err := ask(t.Context(), c.Call, text); err != nil || got != "echo "+text {
						t.Fatalf("got %q, %v", got, err)
					}
				}
				if waited := time.Since(began); waited > 0 {
					t.Errorf("waited %v although another address was left", waited)
				}
				var got []string
				for _, a := range []string{"a:1", "b:1"} {
					if s := tt.servers[a]; s != nil {
						for _, k := range s.seen() {
							if k.Text == "first" {
								got = append(got, a)
							} else if a != "b:1" {
								t.Error("the second call went to a server that had failed")
							}
						}
					}
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("the call went to %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// A call whose answer was lost is repeated under the same ids, by which a server
// with a retry cache knows it again.
func TestRepeat(t *testing.T) {
	for _, why := range []error{errHangUp, Retriable, Standby} {
		t.Run(why.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				s := n.set("a:1", &server{simple: true, answer: func(k call) (string, error) {
					if k.Retry < 3 {
						return "", why
					}
					return "done", nil
				}})
				c := client(t, n, Config{Addresses: []string{"a:1"}})
				began := time.Now()
				if got, err := ask(t.Context(), c.Call, "x"); err != nil || got != "done" {
					t.Fatalf("got %q, %v", got, err)
				}
				// 100, 200 and 400 ms, each halved at most.
				if waited := time.Since(began); waited < 350*time.Millisecond || waited > 700*time.Millisecond {
					t.Errorf("waited %v", waited)
				}
				for i, k := range s.seen() {
					if k.ID != 0 || k.Client != string(c.id) || k.Retry != int32(i) {
						t.Errorf("try %d has id %d, retry count %d", i, k.ID, k.Retry)
					}
				}
				if len(s.seen()) != 4 {
					t.Errorf("%d tries, want 4", len(s.seen()))
				}
			})
		})
	}
}

func TestRepeatEnds(t *testing.T) {
	tests := []struct {
		name  string
		retry Retry
		limit time.Duration // of the context; 0: none
		want  time.Duration // about when it is given up
		tries int           // 0: not counted
		is    error
	}{
		{name: "after its time", retry: Retry{For: 10 * time.Second}, want: 10 * time.Second},
		{name: "by default", want: time.Minute},
		{name: "after its tries", retry: Retry{Tries: 3}, tries: 3},
		{name: "never", retry: Never, tries: 1},
		{name: "with the context", retry: Retry{For: -1}, limit: 5 * time.Minute, want: 5 * time.Minute, is: context.DeadlineExceeded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				s := n.set("a:1", &server{simple: true, answer: func(call) (string, error) { return "", Retriable }})
				c := client(t, n, Config{Addresses: []string{"a:1"}, Retry: tt.retry})
				ctx := t.Context()
				if tt.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.limit)
					defer cancel()
				}
				began := time.Now()
				_, err := ask(ctx, c.Call, "x")
				if !errors.Is(err, Retriable) {
					t.Errorf("got %v, want the last exception in it", err)
				}
				if tt.is != nil && !errors.Is(err, tt.is) {
					t.Errorf("got %v, want %v in it", err, tt.is)
				}
				if took := time.Since(began); tt.tries == 0 && (took > tt.want || took < tt.want-5*time.Second) {
					t.Errorf("given up after %v, want %v", took, tt.want)
				}
				if tt.tries > 0 && len(s.seen()) != tt.tries {
					t.Errorf("%d tries, want %d", len(s.seen()), tt.tries)
				}
			})
		})
	}
}

func TestNoServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		c := client(t, n, Config{Addresses: []string{"a:1", "b:1"}, Retry: Never})
		if _, err := ask(t.Context(), c.Call, "x"); !errors.Is(err, ErrConnect) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("got %v, want %v", err, ErrConnect)
		}
		if _, err := ask(t.Context(), client(t, n, Config{}).Call, "x"); err == nil || !strings.Contains(err.Error(), "no address") {
			t.Errorf("without an address: got %v", err)
		}
		// One comes up while a call is repeated.
		patient := client(t, n, Config{Addresses: []string{"a:1", "b:1"}})
		timer := time.AfterFunc(20*time.Second, func() { n.set("b:1", &server{simple: true}) })
		defer timer.Stop()
		if got, err := ask(t.Context(), patient.Call, "x"); err != nil || got != "echo x" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// Once repeats what was not sent or not done, and nothing else.
func TestOnce(t *testing.T) {
	tests := []struct {
		name   string
		first  error // what the first server answers
		unsure bool
		calls  int
	}{
		{"standby", Standby, false, 2},
		{"wants it later", Retriable, false, 2},
		{"exception", IOException, false, 1},
		{"hangs up", errHangUp, true, 1},
		{"silent", errSilence, true, 1},
		{"fatal", &RemoteError{Class: string(ServerFault), Fatal: true}, true, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				var count atomic.Int32
				answer := func(call) (string, error) {
					if count.Add(1) == 1 {
						return "", tt.first
					}
					return "done", nil
				}
				n.set("b:1", &server{simple: true, answer: answer})
				c := client(t, n, Config{Addresses: []string{"a:1", "b:1"}})
				_, err := ask(t.Context(), c.Once, "x") // a:1 refuses: nothing was sent
				if errors.Is(err, ErrUnanswered) != tt.unsure {
					t.Errorf("got %v, unsure should be %v", err, tt.unsure)
				}
				if (err == nil) != (tt.calls == 2) {
					t.Errorf("got %v", err)
				}
				if got := int(count.Load()); got != tt.calls {
					t.Errorf("%d calls, want %d", got, tt.calls)
				}
			})
		})
	}
}

// A call that is given up leaves the connection to the others.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		release := make(chan struct{})
		s := n.set("a:1", &server{simple: true, answer: func(k call) (string, error) {
			if k.Text == "slow" {
				<-release
			}
			return k.Text, nil
		}})
		c := client(t, n, Config{Addresses: []string{"a:1"}})
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := ask(ctx, c.Call, "slow"); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want %v", err, context.Canceled)
			}
		})
		synctest.Wait()
		cancel()
		group.Wait()
		close(release) // its answer comes late
		if got, err := ask(t.Context(), c.Call, "quick"); err != nil || got != "quick" {
			t.Errorf("got %q, %v", got, err)
		}
		if conns, _ := s.counts(); conns != 1 {
			t.Errorf("%d connections, want 1", conns)
		}
	})
}

// A silent server is left, and the call goes to another.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.set("a:1", &server{simple: true, answer: func(call) (string, error) { return "", errSilence }})
		n.set("b:1", &server{simple: true})
		c := client(t, n, Config{Addresses: []string{"a:1", "b:1"}, Timeout: 7 * time.Second})
		began := time.Now()
		if got, err := ask(t.Context(), c.Call, "x"); err != nil || got != "echo x" {
			t.Errorf("got %q, %v", got, err)
		}
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestPingAndIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		s := n.set("a:1", &server{simple: true, answer: func(k call) (string, error) {
			if k.Text == "slow" {
				<-time.After(50 * time.Second)
			}
			return k.Text, nil
		}})
		c := client(t, n, Config{Addresses: []string{"a:1"}, Ping: 20 * time.Second, Idle: 10 * time.Second})
		if _, err := ask(t.Context(), c.Call, "slow"); err != nil {
			t.Fatal(err)
		}
		if _, pings := s.counts(); pings != 2 {
			t.Errorf("%d pings in 50 s, want 2", pings)
		}
		if _, err := ask(t.Context(), c.Call, "quick"); err != nil {
			t.Fatal(err)
		}
		if conns, _ := s.counts(); conns != 1 {
			t.Errorf("%d connections, want 1", conns)
		}
		<-time.After(21 * time.Second)
		synctest.Wait()
		if k := c.live; k.reason() == nil {
			t.Error("an idle connection is still open")
		}
		if _, err := ask(t.Context(), c.Call, "quick"); err != nil {
			t.Fatal(err)
		}
		if conns, _ := s.counts(); conns != 2 {
			t.Errorf("%d connections, want 2", conns)
		}
	})
}

func TestReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		release := make(chan struct{})
		s := n.set("a:1", &server{simple: true, answer: func(k call) (string, error) {
			if k.Text == "slow" {
				<-release
			}
			return k.Text, nil
		}})
		user := "old"
		c := client(t, n, Config{Addresses: []string{"a:1"}, Auth: func(context.Context) (Auth, error) { return Auth{User: user}, nil }})
		var group sync.WaitGroup
		group.Go(func() {
			if got, err := ask(t.Context(), c.Call, "slow"); err != nil || got != "slow" {
				t.Errorf("the call in progress: %q, %v", got, err)
			}
		})
		synctest.Wait()
		user = "new"
		c.Reset()
		if _, err := ask(t.Context(), c.Call, "quick"); err != nil {
			t.Error(err)
		}
		old := c.old[0]
		close(release)
		group.Wait()
		synctest.Wait()
		if old.reason() == nil {
			t.Error("the old connection is open though its last call is answered")
		}
		users := func(x *ipcpb.IpcConnectionContext) string { return x.GetUserInfo().GetEffectiveUser() }
		if len(s.contexts) != 2 || users(s.contexts[0]) != "old" || users(s.contexts[1]) != "new" {
			t.Errorf("connections as %v", s.contexts)
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.set("a:1", &server{simple: true, answer: func(call) (string, error) { return "", errSilence }})
		c := client(t, n, Config{Addresses: []string{"a:1"}})
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				if _, err := ask(t.Context(), c.Call, "x"); !errors.Is(err, ErrClosed) {
					t.Errorf("got %v, want %v", err, ErrClosed)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		c.Close()
		group.Wait()
		c.Close()
		if _, err := ask(t.Context(), c.Call, "x"); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: got %v, want %v", err, ErrClosed)
		}
		if time.Since(began) > 0 {
			t.Errorf("took %v", time.Since(began))
		}
	})
}

// Those who wait for one connecting share what comes of it, also a failure.
func TestConnectingIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		s := n.set("a:1", &server{auths: []string{"TOKEN DIGEST-MD5"}, token: bobs})
		s.greet = nil
		dials := 0
		c := client(t, n, Config{Addresses: []string{"a:1"}, Retry: Never, Connect: 3 * time.Second, Auth: func(ctx context.Context) (Auth, error) {
			dials++
			<-ctx.Done()
			return Auth{}, context.Cause(ctx)
		}})
		began := time.Now()
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() {
				if _, err := ask(t.Context(), c.Call, "x"); err == nil || !strings.Contains(err.Error(), "no proof of who calls") {
					t.Errorf("got %v", err)
				}
			})
		}
		group.Wait()
		if took := time.Since(began); took != 3*time.Second || dials != 1 {
			t.Errorf("%d openings in %v, want 1 in 3s", dials, took)
		}
	})
}
