package wire

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/wire/internal/pb"
)

// Handler is what a coordinator does with its executors. Calls for one link
// come one after the other; calls for different links come at the same time.
// None may wait for the coordinator's loop or for a disk: the goroutine that
// calls is the one that answers the executor's beats.
type Handler interface {
	// Linked: an executor said hello. An error refuses it, and its text is told
	// to the executor. Directives may be sent on the link from here on; they
	// follow the Welcome. A zero Now is filled in.
	Linked(l *Link, h Hello) (Welcome, error)
	Received(l *Link, m Message)
	// Unlinked comes exactly once for every link that Linked accepted, and before
	// Linked for the next connection of the same executor. errors.Is(err,
	// ErrSuperseded) means that the executor obeys a higher term than ours.
	Unlinked(l *Link, err error)
}

// Server is the coordinator's end of all links of a job. TLS and Handler must
// be set; TLS comes from Authority.Coordinator.
type Server struct {
	TLS     *tls.Config
	Handler Handler
	Log     *slog.Logger // nil: silent
	Binary  string       // version of this program, for people
	Limits  Limits

	gate  chan struct{} // one token for each handshake at work
	start time.Time     // of marks
	wg    sync.WaitGroup

	mu      sync.Mutex
	links   map[place]*Link
	streams map[string]*stream // logs that executors were asked for
}

// place is what one link at a time may stand for.
type place struct {
	task plan.TaskID
	slot string
}

// Greetings that may be under way at once; more wait in the kernel.
const greetings = 512

// farewell bounds the writing of what is still queued when a server ends.
const farewell = 2 * time.Second

// Serve accepts executors until ctx is done. Then it lets every link write what
// is queued, closes it, waits for all it started, and returns nil. Any other
// return is the listener's error.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	s.prepare()
	ctx, cancel := context.WithCancel(ctx)
	defer s.part()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()

	conf := s.gated() //nolint:contextcheck // each handshake brings its own
	pending := make(chan struct{}, greetings)
	for {
		pending <- struct{}{}
		conn, err := ln.Accept()
		switch {
		case err == nil:
			s.wg.Go(func() {
				defer func() { <-pending }()
				s.greet(ctx, tls.Server(conn, conf))
			})
		case ctx.Err() != nil:
			return nil
		case scarce(err):
			s.Log.Warn("accept: out of file descriptors; waiting", "error", err)
			<-pending
			if !pause(ctx, 100*time.Millisecond) {
				return nil
			}
		default:
			return fmt.Errorf("listener %s: %w", ln.Addr(), err)
		}
	}
}

func (s *Server) prepare() {
	s.Limits = s.Limits.filled()
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	s.gate = make(chan struct{}, s.Limits.Handshakes)
	s.start = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links, s.streams = map[place]*Link{}, map[string]*stream{}
}

// part says goodbye to every link; one that does not listen is cut off.
func (s *Server) part() {
	for _, l := range s.all() {
		l.finish()
	}
	late := time.AfterFunc(farewell, func() {
		for _, l := range s.all() {
			l.fail(ErrClosed)
		}
	})
	s.wg.Wait()
	late.Stop()
}

func (s *Server) all() []*Link {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*Link, 0, len(s.links))
	for _, l := range s.links {
		out = append(out, l)
	}
	return out
}

// greet takes a connection from its first byte to a link or a log stream.
func (s *Server) greet(ctx context.Context, conn *tls.Conn) {
	ctx, cancel := context.WithTimeout(ctx, s.Limits.Greeting)
	defer cancel()
	// Whatever waits below ends with ctx: the connection is closed under it.
	stop := context.AfterFunc(ctx, func() { _ = conn.NetConn().Close() })
	keep, err := s.hello(ctx, conn)
	stop()
	if err != nil {
		s.Log.Debug("connection refused", "from", conn.RemoteAddr(), "error", err)
		_ = conn.NetConn().Close()
		return
	}
	keep()
}

// hello gives what is to be done with the connection once it is greeted.
func (s *Server) hello(ctx context.Context, conn *tls.Conn) (func(), error) {
	if err := s.handshake(ctx, conn); err != nil {
		return nil, err
	}
	who, err := peer(conn.ConnectionState())
	if err != nil {
		return nil, err
	}
	var first pb.Up
	if err := decode(conn, &first, s.Limits.Up); err != nil {
		return nil, err
	}
	switch k := first.GetKind().(type) {
	case *pb.Up_Hello:
		return s.link(ctx, conn, who, k.Hello)
	case *pb.Up_LogHello:
		return s.stream(conn, who, k.LogHello)
	}
	return nil, fmt.Errorf("%s: first frame is no hello: %w", who, ErrGarbage)
}

// refuse tells the peer why, as far as it can be told.
func (s *Server) refuse(conn *tls.Conn, r *pb.Refusal) {
	r.Version, r.Binary = Version, s.Binary
	frame, err := encode(&pb.Down{Kind: &pb.Down_Refusal{Refusal: r}}, s.Limits.Down)
	if err == nil {
		_ = conn.SetWriteDeadline(time.Now().Add(farewell))
		_, _ = conn.Write(frame)
		_ = conn.CloseWrite()
	}
}

// version refuses a peer of another version in a sentence that names both.
func (s *Server) version(conn *tls.Conn, theirs int32, binary string) error {
	if theirs == Version {
		return nil
	}
	text := versions(theirs, binary, Version, s.Binary)
	s.refuse(conn, &pb.Refusal{Code: codeVersion, Text: text})
	return fmt.Errorf("%s: %w", text, ErrVersion)
}

// The codes of a refusal.
const (
	codeVersion    = "version"
	codeRefused    = "refused"
	codeSuperseded = "superseded"
)

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// mark is our clock as beats echo it: it never jumps.
func (s *Server) mark() int64 { return int64(time.Since(s.start)) + 1 }
