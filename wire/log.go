package wire

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/wire/internal/pb"
)

// A followed log is a connection of its own, dialled by the executor because a
// coordinator asked for it on the link. After the greeting it carries pieces of
// the log, each behind its length; TCP holds the writer back when the reader is
// slow. A piece of length 0 is the end, so that a torn log is no whole one (a
// closed connection alone does not tell: Go's TLS takes that for an end).

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
		r := &logReader{conn: conn}
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

// logReader ends with io.EOF only if the executor said that this is the end.
type logReader struct {
	conn *tls.Conn
	stop func() bool
	left int64 // of the current piece
	end  bool
}

func (r *logReader) Read(p []byte) (int, error) {
	for r.left == 0 {
		if r.end {
			return 0, io.EOF
		}
		var length [head]byte
		if _, err := io.ReadFull(r.conn, length[:]); err != nil {
			return 0, torn(err)
		}
		r.left = int64(binary.BigEndian.Uint32(length[:]))
		r.end = r.left == 0
	}
	n, err := r.conn.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, torn(err)
}

func (r *logReader) Close() error {
	r.stop()
	return r.conn.NetConn().Close()
}

// LogWriter carries a log to its reader: Close is its end, Abort leaves it torn.
type LogWriter struct{ conn *tls.Conn }

// piece is the most that one length stands for.
const piece = 1 << 20

// Write sends p, and waits for a slow reader.
func (w *LogWriter) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		part := p[done:min(len(p), done+piece)]
		if err := w.head(len(part)); err != nil {
			return done, err
		}
		n, err := w.conn.Write(part)
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

func (w *LogWriter) head(n int) error {
	var length [head]byte
	binary.BigEndian.PutUint32(length[:], uint32(n)) // at most piece
	_, err := w.conn.Write(length[:])
	return err
}

// Close says that this is the end of the log.
func (w *LogWriter) Close() error {
	_ = w.conn.SetWriteDeadline(time.Now().Add(farewell))
	return errors.Join(w.head(0), w.conn.Close())
}

// Abort ends the connection so that the reader learns that the log is torn.
func (w *LogWriter) Abort() { _ = w.conn.NetConn().Close() }

// DialLog opens the connection that OpenLog asked for. failure, if not nil, is
// told instead of a log, and the writer is then nil.
func DialLog(ctx context.Context, addr string, conf *tls.Config, streamID string, failure error) (*LogWriter, error) {
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
	return &LogWriter{conn: conn}, nil
}
