package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/wire/internal/pb"
)

var (
	callerTask = plan.TaskID{Role: "worker", Index: 0}
	calledTask = plan.TaskID{Role: "worker", Index: 1}
)

// phone is an executor's control port whose calls are answered by answer.
func (s *site) phone(answer func(context.Context, *Stream, Call)) string {
	s.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := ServeControl(ctx, ln, s.control(calledTask), quiet, Controlled{Called: answer}); err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(func() { cancel(); wg.Wait() })
	return ln.Addr().String()
}

// peer is the TLS side of worker/0 that dials to.
func (s *site) peer(to plan.TaskID) *tls.Config {
	return s.side(callerTask, func(authority, cert, key []byte) (*tls.Config, error) { return Peer(authority, cert, key, to) })
}

// upper answers with the input in capitals, says every signal on standard error,
// and ends with 7 when the input has.
func upper(_ context.Context, s *Stream, c Call) {
	for {
		f, err := s.Recv()
		if err != nil {
			return
		}
		if len(f.Stdin) > 0 {
			_ = s.Send(Flow{Stdout: bytes.ToUpper(f.Stdin), Taken: 1})
		}
		if f.Signal != "" {
			_ = s.Send(Flow{Stderr: []byte(f.Signal + " for " + strings.Join(c.Argv, " "))})
		}
		if f.StdinEnd {
			_ = s.Finish(Flow{Exit: &event.Exit{Class: event.ClassExit, Status: 7}})
			return
		}
	}
}

func TestAttachCarriesBothWaysAndTheStatus(t *testing.T) {
	s := newSite(t, &desk{}, Limits{})
	call, err := DialCall(t.Context(), s.phone(upper), s.peer(calledTask), Call{Argv: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	in, feed := io.Pipe()
	said := make(chan string, 1)
	signals := make(chan string, 1)
	signals <- "SIGINT"
	big := strings.Repeat("x", 10*Window*Chunk)
	var out bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() {
		if got := next(t, said); got != "SIGINT for a b" {
			t.Errorf("standard error: %q", got)
		}
		_, _ = io.WriteString(feed, big)
		_ = feed.Close()
	})
	exit, err := call.Attach(t.Context(), in, &out, writer(func(p []byte) { said <- string(p) }), signals)
	wg.Wait()
	if err != nil || exit.Status != 7 || exit.Class != event.ClassExit {
		t.Errorf("%+v, %v", exit, err)
	}
	if out.String() != strings.ToUpper(big) {
		t.Errorf("%d bytes came back, want %d", out.Len(), len(big))
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

// A command that reads nothing keeps its input away, and lets signals through.
func TestASignalPassesInputThatNobodyReads(t *testing.T) {
	s := newSite(t, &desk{}, Limits{})
	chunks := make(chan int, 1)
	addr := s.phone(func(_ context.Context, st *Stream, _ Call) {
		n := 0
		for {
			f, err := st.Recv()
			if err != nil {
				return
			}
			if len(f.Stdin) > 0 {
				if n++; n == Window {
					chunks <- n
				}
			}
			if f.Signal != "" {
				_ = st.Finish(Flow{Exit: &event.Exit{Signal: f.Signal, Status: n}})
				return
			}
		}
	})
	call, err := DialCall(t.Context(), addr, s.peer(calledTask), Call{})
	if err != nil {
		t.Fatal(err)
	}
	signals := make(chan string, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		next(t, chunks)
		signals <- "SIGTERM"
	})
	exit, err := call.Attach(t.Context(), endless{}, io.Discard, io.Discard, signals)
	wg.Wait()
	if err != nil || exit.Signal != "SIGTERM" || exit.Status != Window {
		t.Errorf("%+v, %v: want the signal after %d chunks", exit, err, Window)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestACallIsTornWhenEitherSideGoes(t *testing.T) {
	s := newSite(t, &desk{}, Limits{})
	gone := make(chan error, 1)
	wait := s.phone(func(_ context.Context, st *Stream, _ Call) {
		_ = st.Send(Flow{Stdout: []byte("up")})
		_, err := st.Recv()
		for err == nil {
			_, err = st.Recv()
		}
		gone <- err
	})
	call, err := DialCall(t.Context(), wait, s.peer(calledTask), Call{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = call.Attach(ctx, nil, writer(func([]byte) { cancel() }), io.Discard, nil)
	if err == nil || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "call is torn") {
		t.Errorf("the caller sees %v", err)
	}
	if err := next(t, gone); err == nil {
		t.Error("the called sees no end")
	}
	call, err = DialCall(t.Context(), s.phone(func(_ context.Context, st *Stream, _ Call) { st.Abort() }), s.peer(calledTask), Call{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.Attach(t.Context(), nil, io.Discard, io.Discard, nil); err == nil {
		t.Error("a call without a last frame counts as whole")
	}
}

func TestARefusalIsTold(t *testing.T) {
	s := newSite(t, &desk{}, Limits{})
	addr := s.phone(func(_ context.Context, st *Stream, _ Call) { st.Refuse("incarnation 2 has ended") })
	call, err := DialCall(t.Context(), addr, s.peer(calledTask), Call{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = call.Attach(t.Context(), nil, io.Discard, io.Discard, nil)
	if !errors.Is(err, ErrCall) || !strings.Contains(err.Error(), "incarnation 2 has ended") {
		t.Errorf("got %v", err)
	}
}

// Whoever is called proves that he is the one who is meant; whoever calls, that
// he is of the same job.
func TestACallReachesOnlyWhoIsMeant(t *testing.T) {
	s := newSite(t, &desk{}, Limits{})
	addr := s.phone(upper)
	if _, err := DialCall(t.Context(), addr, s.peer(plan.TaskID{Role: "worker", Index: 2}), Call{}); !errors.Is(err, ErrIdentity) {
		t.Errorf("worker/1 was taken for worker/2: %v", err)
	}
	coordinator, err := s.auth.Coordinator()
	if err != nil {
		t.Fatal(err)
	}
	call, err := DialCall(t.Context(), addr, coordinator, Call{Argv: []string{"ls"}})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := call.Attach(t.Context(), nil, io.Discard, io.Discard, nil); err != nil || exit.Status != 7 {
		t.Errorf("the coordinator's call: %+v, %v", exit, err)
	}
	other := newSite(t, &desk{}, Limits{})
	call, err = DialCall(t.Context(), addr, other.peer(calledTask), Call{})
	if err == nil {
		_, err = call.Attach(t.Context(), nil, io.Discard, io.Discard, nil)
	}
	if err == nil {
		t.Error("an executor of another authority was answered")
	}
}

// What is said in plain reaches the peer, and its answer comes back whole.
func TestARelayIsTransparent(t *testing.T) {
	s := newSite(t, &desk{}, Limits{})
	addr := s.phone(upper)
	near, far := net.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		in, c, err := TakeCall(far)
		if err != nil {
			t.Error(err)
			return
		}
		out, err := DialCall(t.Context(), addr, s.peer(calledTask), c)
		if err != nil {
			t.Error(err)
			return
		}
		Relay(t.Context(), in, out)
	})
	call, err := StartCall(near, Call{Peer: "worker-1", Argv: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	exit, err := call.Attach(t.Context(), strings.NewReader(strings.Repeat("abc", Chunk)), &out, io.Discard, nil)
	wg.Wait()
	if err != nil || exit.Status != 7 || out.String() != strings.Repeat("ABC", Chunk) {
		t.Errorf("%+v, %v, %d bytes", exit, err, out.Len())
	}
}

func TestEveryFieldOfACallArrives(t *testing.T) {
	var c Call
	var f Flow
	n := 0
	fill(t, reflect.ValueOf(&c).Elem(), &n)
	fill(t, reflect.ValueOf(&f).Elem(), &n)
	down := &pb.Down{Kind: &pb.Down_Call{Call: callOut(c)}}
	if diff := cmp.Diff(c, callIn(travel(t, down, new(pb.Down)).GetCall())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(f, flowIn(travel(t, flowOut(f), new(pb.Flow))), unsaid); diff != "" {
		t.Error(diff)
	}
}

// FuzzFlow: whatever a peer sends on a call, what we understood of it survives
// being sent on.
func FuzzFlow(f *testing.F) {
	for _, m := range []proto.Message{
		flowOut(Flow{Stdin: []byte("x"), StdinEnd: true, Signal: "SIGINT"}),
		flowOut(Flow{Exit: &event.Exit{Status: 1}, Taken: 3, Refused: "no"}),
		callOut(Call{Peer: "worker-1", Argv: []string{"sh", "-c", ""}, Env: map[string]string{"A": "b"}}),
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var flow pb.Flow
		if proto.Unmarshal(in, &flow) == nil {
			want := flowIn(&flow)
			if diff := cmp.Diff(want, flowIn(travel(t, flowOut(want), new(pb.Flow))), loose...); diff != "" {
				t.Fatal(diff)
			}
		}
		var call pb.Call
		if proto.Unmarshal(in, &call) == nil {
			want := callIn(&call)
			if diff := cmp.Diff(want, callIn(travel(t, callOut(want), new(pb.Call))), loose...); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}
