package wire

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/wire/internal/pb"
)

// A followed log is a connection of its own, dialled by the executor because a
// coordinator asked for it on the link. After the greeting it carries the log's
// bytes and nothing else; TCP holds the writer back when the reader is slow, and
// TLS tells an orderly end from a torn one.

// stream is a log that was asked for and has not been taken yet.
type stream struct {
	task plan.TaskID
	conn chan *tls.Conn // of size 1
	fail chan error     // of size 1
}

// OpenLog asks the executor of a link for a log and gives its bytes. ctx bounds
// the reading too: when it is done, the connection is closed.
func (s *Server) OpenLog(ctx context.Context, l *Link, o OpenLog) (io.ReadCloser, error) {
	o.Stream = rand.Text()
	want := &stream{task: l.task, conn: make(chan *tls.Conn, 1), fail: make(chan error, 1)}
	s.mu.Lock()
	s.streams[o.Stream] = want
	s.mu.Unlock()
	defer s.forget(o.Stream, want)

	if err := l.Send(Directive{OpenLog: &o}); err != nil {
		return nil, fmt.Errorf("log %s of %s: %w", o.Name, l.task, err)
	}
	select {
	case conn := <-want.conn:
		r := &logReader{Conn: conn}
		r.stop = context.AfterFunc(ctx, func() { _ = conn.NetConn().Close() })
		return r, nil
	case err := <-want.fail:
		return nil, fmt.Errorf("log %s of %s: %w", o.Name, l.task, err)
	case <-l.gone:
		return nil, fmt.Errorf("log %s of %s: %w", o.Name, l.task, ErrClosed)
	case <-ctx.Done():
		return nil, fmt.Errorf("log %s of %s: %w", o.Name, l.task, ctx.Err())
	}
}

// forget closes a connection that came while nobody waited any more.
func (s *Server) forget(id string, want *stream) {
	s.mu.Lock()
	delete(s.streams, id)
	s.mu.Unlock()
	select {
	case conn := <-want.conn:
		_ = conn.NetConn().Close()
	default:
	}
}

// stream hands a greeted log connection to the one who asked for it.
func (s *Server) stream(conn *tls.Conn, who Identity, h *pb.LogHello) (func(), error) {
	if err := s.version(conn, h.GetVersion(), h.GetBinary()); err != nil {
		return nil, err
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		want := s.streams[h.GetStream()]
		switch {
		case want == nil || want.task != who.Task:
			_ = conn.NetConn().Close()
		case h.GetError() != "":
			_ = conn.NetConn().Close()
			want.fail <- errors.New(h.GetError())
			delete(s.streams, h.GetStream())
		default:
			want.conn <- conn
			delete(s.streams, h.GetStream())
		}
	}, nil
}

// logReader ends with io.EOF only if the executor closed the log orderly.
type logReader struct {
	*tls.Conn
	stop func() bool
}

func (r *logReader) Close() error {
	r.stop()
	return r.NetConn().Close()
}

// DialLog opens the connection that OpenLog asked for. failure, if not nil, is
// told instead of a log, and the writer is then nil.
func DialLog(ctx context.Context, addr string, conf *tls.Config, streamID string, failure error) (io.WriteCloser, error) {
	limits := Limits{}.filled()
	conn, err := connect(ctx, addr, conf, limits)
	if err != nil {
		return nil, err
	}
	h := &pb.LogHello{Version: Version, Stream: streamID}
	if failure != nil {
		h.Error = failure.Error()
	}
	frame, err := encode(&pb.Up{Kind: &pb.Up_LogHello{LogHello: h}}, limits.Up)
	if err == nil {
		_ = conn.SetWriteDeadline(time.Now().Add(limits.Write))
		_, err = conn.Write(frame)
	}
	if err != nil || failure != nil {
		return nil, errors.Join(err, conn.Close())
	}
	_ = conn.SetWriteDeadline(time.Time{})
	return conn, nil
}
