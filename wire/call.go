package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/wire/internal/pb"
)

// A call reaches into a task: it runs one more command in the task's tree, with
// the caller's standard files attached, or waits for the task's end. It is a
// connection of its own, to the executor's control port:
//
//	caller ──call, then flow: stdin, signals ──→ executor
//	       ←──────── flow: stdout, stderr, exit ─
//
// A task's own programs call through their executor, which has the certificates
// that they must not have: by a socket in the task's directory, with the same
// frames in plain.

// Call says what is wanted.
type Call struct {
	// Peer is the name by which the executor that is asked in plain knows another
	// one. It is empty on a control port.
	Peer string
	// Incarnation that is meant; 0: the one that runs.
	Incarnation int
	// Argv is the command. Empty: only wait until the incarnation has ended.
	Argv []string
	Env  map[string]string // over the task's own
}

// Flow is one frame of a call. Each field that is set counts.
type Flow struct {
	Stdin    []byte
	StdinEnd bool
	Signal   string // to the command: "SIGINT"
	Stdout   []byte
	Stderr   []byte
	Taken    int // chunks of Stdin that the command's pipe has taken since the last such word
	// Exit is the last frame: of the command, or of the incarnation.
	Exit    *event.Exit
	Refused string // instead of Exit: why there is nothing
}

const (
	// Chunk is the most that one frame carries of a stream of bytes.
	Chunk = 32 << 10
	// Window is how many chunks of stdin may be on their way, so that a signal
	// never waits behind input that the command does not read.
	Window = 4
	// flowLimit bounds a frame: a chunk of each stream and the last lines of stderr.
	flowLimit = 512 << 10
	// calls that one executor serves at a time.
	calls = 1024
	// settle is how long the end of a call waits for the caller to have read it.
	settle = 10 * time.Second
)

// ErrCall says that a call came to nothing; its text tells why.
var ErrCall = errors.New("call refused")

// Stream is either end of a call. Send may be called by anybody, Recv by one
// goroutine.
type Stream struct {
	conn net.Conn
	mu   sync.Mutex // one frame after the other
}

// DialCall calls the executor that listens at control. conf comes from Peer or
// from Authority.Coordinator.
func DialCall(ctx context.Context, control string, conf *tls.Config, c Call) (*Stream, error) {
	within, cancel := context.WithTimeout(ctx, Limits{}.filled().Greeting)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(within, "tcp", control)
	if err != nil {
		return nil, fmt.Errorf("executor %s: %w", control, err)
	}
	conn := tls.Client(raw, conf)
	if err := conn.HandshakeContext(within); err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("executor %s: %w", control, err)
	}
	s, err := StartCall(conn, c)
	if err != nil {
		return nil, fmt.Errorf("executor %s: %w", control, err)
	}
	return s, nil
}

// StartCall sends a call on a connection, which belongs to the stream then.
func StartCall(conn net.Conn, c Call) (*Stream, error) {
	frame, err := encode(&pb.Down{Kind: &pb.Down_Call{Call: callOut(c)}}, Limits{}.filled().Up)
	if err == nil {
		_ = conn.SetWriteDeadline(time.Now().Add(settle))
		_, err = conn.Write(frame)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	_ = conn.SetWriteDeadline(time.Time{})
	return &Stream{conn: conn}, nil
}

// TakeCall reads the call of a caller that needs no proof of who it is.
func TakeCall(conn net.Conn) (*Stream, Call, error) {
	_ = conn.SetReadDeadline(time.Now().Add(settle))
	var down pb.Down
	err := decode(conn, &down, Limits{}.filled().Up)
	switch c := down.GetCall(); {
	case err != nil:
	case c == nil:
		err = ErrGarbage
	case c.GetVersion() != Version:
		err = ErrVersion
	}
	if err != nil {
		return nil, Call{}, errors.Join(fmt.Errorf("call: %w", err), conn.Close())
	}
	_ = conn.SetReadDeadline(time.Time{})
	return &Stream{conn: conn}, callIn(down.GetCall()), nil
}

// Send writes one frame, and waits for a peer that does not read.
func (s *Stream) Send(f Flow) error {
	frame, err := encode(flowOut(f), flowLimit)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.conn.Write(frame)
	return err
}

// Recv reads one frame. An error is the end of the call, also io.EOF: the last
// frame of a whole one is Exit or Refused.
func (s *Stream) Recv() (Flow, error) {
	var f pb.Flow
	if err := decode(s.conn, &f, flowLimit); err != nil {
		return Flow{}, err
	}
	return flowIn(&f), nil
}

// Finish sends the last frame and waits until the caller has hung up: to close
// with input unread would take the frame back.
func (s *Stream) Finish(f Flow) error {
	_ = s.conn.SetDeadline(time.Now().Add(settle))
	err := s.Send(f)
	if half, ok := s.conn.(interface{ CloseWrite() error }); ok && err == nil {
		err = half.CloseWrite()
	}
	if err == nil {
		_, _ = io.Copy(io.Discard, s.conn)
	}
	s.Abort()
	return err
}

// Refuse ends a call that comes to nothing.
func (s *Stream) Refuse(why string) { _ = s.Finish(Flow{Refused: why}) }

// Abort ends the connection at once: the peer sees a call that is torn.
func (s *Stream) Abort() {
	if c, ok := s.conn.(*tls.Conn); ok {
		_ = c.NetConn().Close()
		return
	}
	_ = s.conn.Close()
}

// Relay carries two streams into each other until one ends, and ends both.
func Relay(ctx context.Context, a, b *Stream) {
	stop := context.AfterFunc(ctx, func() { a.Abort(); b.Abort() })
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { carry(a, b) })
	carry(b, a)
	wg.Wait()
	a.Abort()
	b.Abort()
}

func carry(to, from *Stream) {
	_, err := io.CopyBuffer(plainWriter{to.conn}, plainReader{from.conn}, make([]byte, 8<<10))
	if half, ok := to.conn.(interface{ CloseWrite() error }); ok && err == nil {
		// What was said last is still to be read there.
		err = half.CloseWrite()
	}
	if err != nil {
		to.Abort()
		from.Abort()
	}
}

// Without these io.CopyBuffer would take buffers of its own.
type (
	plainWriter struct{ io.Writer }
	plainReader struct{ io.Reader }
)
