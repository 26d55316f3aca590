package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/muster-project/muster/wire/internal/pb"
)

// Dialer is the executor's end. Its zero value takes the default limits.
type Dialer struct{ Limits Limits }

// Dial connects an executor to a coordinator with the default limits.
func Dial(ctx context.Context, addr string, conf *tls.Config, h Hello) (*Conn, Welcome, error) {
	return Dialer{}.Dial(ctx, addr, conf, h)
}

// Conn is an executor's link to a coordinator. Send may be called by anybody;
// Recv by one goroutine, which must call it all the time: it is also what hears
// the answers to beats.
type Conn struct {
	sender
	wg   sync.WaitGroup
	lim  Limits
	idle time.Duration

	state sync.Mutex
	heard time.Time
	mark  int64 // of the last welcome or pong
}

// Dial says hello and waits for the welcome. ErrSuperseded means that the
// coordinator there has a lower term than h.Term; it has been told so.
func (d Dialer) Dial(ctx context.Context, addr string, conf *tls.Config, h Hello) (*Conn, Welcome, error) {
	limits := d.Limits.filled()
	ctx, cancel := context.WithTimeout(ctx, limits.Greeting)
	defer cancel()
	raw, err := connect(ctx, addr, conf, limits)
	if err != nil {
		return nil, Welcome{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.NetConn().Close() })
	answer, err := greet(raw, h, limits)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = raw.NetConn().Close()
		return nil, Welcome{}, fmt.Errorf("coordinator %s: %w", addr, err)
	}
	w := welcomeIn(answer)
	c := &Conn{lim: limits, idle: limits.clientIdle(w.Beat), heard: time.Now(), mark: answer.GetMark()}
	c.sender = sender{conn: raw, limits: &c.lim, bound: limits.Up, owner: &c.wg}
	return c, w, nil
}

// connect makes the TLS connection.
func connect(ctx context.Context, addr string, conf *tls.Config, limits Limits) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, limits.Greeting)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("coordinator %s: %w", addr, err)
	}
	out := tls.Client(conn, conf)
	if err := out.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("coordinator %s: %w", addr, err)
	}
	return out, nil
}

// greet exchanges hello and welcome.
func greet(conn *tls.Conn, h Hello, limits Limits) (*pb.Welcome, error) {
	frame, err := encode(helloUp(h), limits.Up)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(frame); err != nil {
		return nil, err
	}
	var down pb.Down
	if err := decode(conn, &down, limits.Down); err != nil {
		return nil, err
	}
	switch k := down.GetKind().(type) {
	case *pb.Down_Welcome:
		w := k.Welcome
		if w.GetVersion() != Version {
			return nil, fmt.Errorf("%s: %w", versions(Version, h.Binary, w.GetVersion(), w.GetBinary()), ErrVersion)
		}
		if w.GetTerm() < h.Term {
			return nil, errors.Join(&SupersededError{Term: h.Term}, leave(conn, h.Term, limits))
		}
		return w, nil
	case *pb.Down_Refusal:
		return nil, refusal(k.Refusal)
	}
	return nil, fmt.Errorf("first frame is no welcome: %w", ErrGarbage)
}

// leave tells a coordinator that it is superseded, and ends the connection.
func leave(conn *tls.Conn, term int64, limits Limits) error {
	frame, err := encode(&pb.Up{Kind: &pb.Up_Leave{Leave: &pb.Leave{Term: term}}}, limits.Up)
	if err != nil {
		return err
	}
	if _, err := conn.Write(frame); err != nil {
		return err
	}
	return conn.Close()
}

func refusal(r *pb.Refusal) error {
	switch {
	case r.GetCode() == codeVersion || r.GetVersion() != Version:
		return fmt.Errorf("%s: %w", r.GetText(), ErrVersion)
	case r.GetCode() == codeSuperseded:
		return &SupersededError{Term: r.GetTerm()}
	}
	return fmt.Errorf("%w: %s", ErrRefused, r.GetText())
}

// Send queues a message and never waits. An error means that the link is at its
// end, or that this message is too large.
func (c *Conn) Send(m Message) error {
	up := messageUp(m)
	if up == nil {
		return fmt.Errorf("message: nothing in it: %w", ErrGarbage)
	}
	if b := up.GetBeat(); b != nil {
		c.state.Lock()
		b.Mark, b.Held = c.mark, int64(time.Since(c.heard))
		c.state.Unlock()
	}
	return c.send(up)
}

// Recv waits for the next directive. Any error is the end of the link.
func (c *Conn) Recv() (Directive, error) {
	for {
		_ = c.conn.SetReadDeadline(time.Now().Add(c.idle))
		var down pb.Down
		if err := decode(c.conn, &down, c.limits.Down); err != nil {
			err = c.reason(c.ended(err))
			c.fail(err)
			return Directive{}, err
		}
		c.note(down.GetPong())
		if d, ok := directiveIn(&down); ok {
			return d, nil
		}
	}
}

func (c *Conn) ended(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return ErrClosed
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("coordinator: nothing heard for %s: %w", c.idle, ErrSilent)
	}
	return err
}

// note remembers the newest mark, and when it came.
func (c *Conn) note(p *pb.Pong) {
	c.state.Lock()
	defer c.state.Unlock()
	if p != nil {
		c.heard, c.mark = time.Now(), p.GetMark()
	}
}

// Heard is when the coordinator answered last.
func (c *Conn) Heard() time.Time {
	c.state.Lock()
	defer c.state.Unlock()
	return c.heard
}

// Leave tells the coordinator that a higher term is obeyed from now on, and
// ends the link.
func (c *Conn) Leave(term int64) error {
	_ = c.send(&pb.Up{Kind: &pb.Up_Leave{Leave: &pb.Leave{Term: term}}})
	return c.Close()
}

// Close writes what is queued, as long as a write may take, and ends the link.
func (c *Conn) Close() error {
	c.finish()
	c.wg.Wait()
	c.fail(ErrClosed)
	return nil
}
