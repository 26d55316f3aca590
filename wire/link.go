package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/wire/internal/pb"
)

// Link is one executor's connection, seen from the coordinator.
//
//	greeting ──Linked──→ linked ──Unlinked──→ gone
//	   │ refused            (reader: one goroutine; writer: while needed)
//	   └──────────→ closed
type Link struct {
	sender
	task plan.TaskID
	slot string
	gone chan struct{} // closed when Unlinked has returned, or Linked refused

	state sync.Mutex
	beat  time.Time
	off   offset
}

// Task is the task whose executor this is, as its certificate says.
func (l *Link) Task() plan.TaskID { return l.task }

// Slot is the slot of the executor, as it says itself.
func (l *Link) Slot() string { return l.slot }

// Send queues a directive and never waits. An error means that the link is at
// its end, or that the directive is too large; no error does not mean that the
// executor got it.
func (l *Link) Send(d Directive) error {
	m := directiveDown(d)
	if m == nil {
		return fmt.Errorf("directive: nothing in it: %w", ErrGarbage)
	}
	return l.send(m)
}

// Close ends the link after everything queued is written.
func (l *Link) Close() { l.finish() }

// LastBeat is when the executor was last heard of: its last beat, or its hello.
func (l *Link) LastBeat() time.Time {
	l.state.Lock()
	defer l.state.Unlock()
	return l.beat
}

// Offset is what must be added to a time of the executor's clock to have it on
// ours. It is 0 until the first beat.
func (l *Link) Offset() time.Duration {
	l.state.Lock()
	defer l.state.Unlock()
	return l.off.value
}

// link makes a greeted connection a link: identity, version and term are
// checked, an older connection of the same executor is ended first.
func (s *Server) link(ctx context.Context, conn *tls.Conn, who Identity, raw *pb.Hello) (func(), error) {
	if err := s.version(conn, raw.GetVersion(), raw.GetBinary()); err != nil {
		return nil, err
	}
	h := helloIn(raw)
	if h.Job != who.Job || h.Task != who.Task {
		err := fmt.Errorf("hello: says %s %s, certificate says %s: %w", h.Job, h.Task, who, ErrIdentity)
		s.refuse(conn, &pb.Refusal{Code: codeRefused, Text: err.Error()})
		return nil, err
	}
	l := &Link{task: h.Task, slot: h.Slot, gone: make(chan struct{}), beat: time.Now()}
	l.sender = sender{conn: conn, limits: &s.Limits, bound: s.Limits.Down, owner: &s.wg, writing: true}
	if err := s.enter(ctx, l); err != nil {
		return nil, err
	}
	w, err := s.Handler.Linked(l, h)
	if err != nil {
		s.refuse(conn, &pb.Refusal{Code: codeRefused, Text: err.Error()})
		s.leave(l)
		return nil, fmt.Errorf("%s: %w", who, err)
	}
	idle := s.Limits.serverIdle(w.Beat)
	return func() {
		if err := s.welcome(l, h, w); err != nil {
			s.unlink(l, err)
			return
		}
		// A fresh goroutine: the handshake has grown the stack of this one.
		s.wg.Go(func() { s.unlink(l, l.reason(s.read(l, idle))) })
	}, nil
}

func (s *Server) unlink(l *Link, err error) {
	l.fail(err)
	s.Handler.Unlinked(l, err)
	s.leave(l)
}

// welcome answers the hello and lets queued directives follow.
func (s *Server) welcome(l *Link, h Hello, w Welcome) error {
	if w.Term < h.Term {
		s.refuse(l.conn, &pb.Refusal{Code: codeSuperseded, Term: h.Term,
			Text: fmt.Sprintf("term %d: executor has seen term %d", w.Term, h.Term)})
		return &SupersededError{Term: h.Term}
	}
	if w.Now.IsZero() {
		w.Now = time.Now()
	}
	m := welcomeDown(w)
	m.Binary, m.Mark = s.Binary, s.mark()
	frame, err := encode(&pb.Down{Kind: &pb.Down_Welcome{Welcome: m}}, s.Limits.Down)
	if err != nil {
		return err
	}
	_ = l.conn.SetWriteDeadline(time.Now().Add(s.Limits.Write))
	if _, err := l.conn.Write(frame); err != nil {
		return err
	}
	l.open()
	return nil
}

// read hands over messages until the link ends, and says why it did. Nearly all
// of its life it waits in decode; its stack there is most of what a link costs,
// so what a frame means is looked at elsewhere.
func (s *Server) read(l *Link, idle time.Duration) error {
	for {
		_ = l.conn.SetReadDeadline(time.Now().Add(idle))
		up := new(pb.Up)
		err := decode(l.conn, up, s.Limits.Up)
		if err == nil {
			err = s.hear(l, up)
		}
		if err != nil {
			return s.ended(l, err, idle)
		}
	}
}

func (s *Server) ended(l *Link, err error, idle time.Duration) error {
	switch {
	case errors.Is(err, io.EOF):
		return ErrClosed
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%s: nothing heard for %s: %w", l.task, idle, ErrSilent)
	}
	return err
}

// hear takes one frame.
func (s *Server) hear(l *Link, up *pb.Up) error {
	if b := up.GetBeat(); b != nil {
		s.pong(l, b)
	}
	if leave := up.GetLeave(); leave != nil {
		return &SupersededError{Term: leave.GetTerm()}
	}
	if m, ok := messageIn(up); ok {
		s.Handler.Received(l, m)
	}
	return nil
}

// pong answers a beat at once, whatever the coordinator's loop waits for, and
// learns from it.
func (s *Server) pong(l *Link, b *pb.Beat) {
	now, mark := time.Now(), s.mark()
	l.state.Lock()
	l.beat = now
	if b.GetMark() != 0 {
		l.off.sample(moment(b.GetSent()), now, time.Duration(mark-b.GetMark()-b.GetHeld()))
	}
	l.state.Unlock()
	// An error here is an error of the link, which the reader is about to see.
	_ = l.send(&pb.Down{Kind: &pb.Down_Pong{Pong: &pb.Pong{Now: nanos(now), Mark: mark}}})
}

// enter puts the link into its place, after the one that stood there is gone.
func (s *Server) enter(ctx context.Context, l *Link) error {
	at := place{task: l.task, slot: l.slot}
	for {
		s.mu.Lock()
		old := s.links[at]
		if old == nil {
			s.links[at] = l
		}
		s.mu.Unlock()
		if old == nil {
			return nil
		}
		old.fail(ErrReplaced)
		select {
		case <-old.gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Server) leave(l *Link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.links, place{task: l.task, slot: l.slot})
	close(l.gone)
}
