package executor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/muster-project/muster/wire"
)

// connector keeps the link to the coordinator of the highest term. It runs as
// long as the executor.
//
//	dial with a fresh hello → linked → directives … → unlinked → wait → again
type connector struct {
	e     *executor
	tries int // since the last link
}

// Waits between two attempts grow from first to last; each is varied by half,
// so that the executors of a large job do not come back as one.
const (
	firstWait = 100 * time.Millisecond
	lastWait  = 5 * time.Second
)

func (c *connector) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := c.once(ctx); err != nil && ctx.Err() == nil {
			c.e.log.Warn("no link", "error", err)
		}
		c.pause(ctx)
	}
}

// once dials, and hears directives until the link ends.
func (c *connector) once(ctx context.Context) error {
	ask := asked{answer: make(chan asked, 1)}
	if !c.e.tell(ctx, ask) {
		return nil
	}
	now := <-ask.answer
	conn, w, err := wire.Dialer{Limits: c.e.opt.Limits}.Dial(ctx, now.known.Address, c.e.tls, now.hello)
	if err != nil {
		return fmt.Errorf("term %d: %w", now.known.Term, err)
	}
	c.tries = 0
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if !c.e.tell(ctx, linked{conn: conn, welcome: w, heard: time.Now(), version: now.version}) {
		return conn.Close()
	}
	for {
		d, err := conn.Recv()
		if err != nil {
			c.e.tell(ctx, unlinked{conn: conn, heard: conn.Heard()})
			return errors.Join(err, conn.Close())
		}
		if !c.e.tell(ctx, directive{conn: conn, Directive: d}) {
			return nil
		}
	}
}

func (c *connector) pause(ctx context.Context) {
	wait := min(firstWait<<min(c.tries, 10), lastWait)
	c.tries++
	t := time.NewTimer(wait/2 + rand.N(wait)) // jitter
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.e.wake:
		c.tries = 0
	case <-ctx.Done():
	}
}

// asked is the connector's question for a hello, and its answer.
type asked struct {
	answer  chan asked // of size 1
	hello   wire.Hello
	version int
	known   endpoint
}

func (a asked) apply(_ context.Context, e *executor) {
	a.answer <- asked{hello: e.hello(), version: e.version, known: e.known}
}

// linked says that a coordinator welcomed us.
type linked struct {
	conn    *wire.Conn
	welcome wire.Welcome
	heard   time.Time // when the welcome came, on this node's clock
	version int       // of the state in our hello
}

func (l linked) apply(_ context.Context, e *executor) {
	if l.welcome.Term < max(e.term, e.known.Term) {
		e.leave(l.conn)
		return
	}
	e.conn, e.seen, e.term = l.conn, l.welcome, l.welcome.Term
	e.contact = time.Now()
	if !l.welcome.Now.IsZero() {
		e.ahead = l.welcome.Now.Sub(l.heard)
	}
	e.log.Info("linked", "term", e.term, "beat", l.welcome.Beat)
	if l.welcome.Beat > 0 {
		e.beat.Reset(l.welcome.Beat)
	} else {
		e.beat.Reset(time.Second)
	}
	e.sendBeat()
	for key, value := range e.published {
		e.send(wire.Message{Published: &wire.Published{Key: key, Value: value}})
	}
	if l.version != e.version {
		e.answer()
	}
}

// unlinked says that a link ended.
type unlinked struct {
	conn  *wire.Conn
	heard time.Time
}

func (u unlinked) apply(_ context.Context, e *executor) {
	if e.conn == u.conn {
		e.contact = u.heard
		e.unlink()
	}
}

// unlink notes that there is no link any more.
func (e *executor) unlink() {
	e.conn = nil
	e.arm()
	select {
	case e.unlinked <- struct{}{}:
	default:
	}
}

// nudged says that a coordinator of some term told its address.
type nudged struct{ endpoint }

func (n nudged) apply(_ context.Context, e *executor) { e.learn(n.endpoint) }

// learn takes note of where a coordinator is, if its term is not behind us. A
// link to one of a lower term is left: the journal belongs to the higher.
func (e *executor) learn(at endpoint) {
	if at.Address == "" || at.Term < max(e.term, e.known.Term) || at == e.known {
		return
	}
	e.log.Info("coordinator found", "term", at.Term, "address", at.Address)
	e.known = at
	select {
	case e.wake <- struct{}{}:
	default:
	}
	if e.conn != nil && at.Term > e.seen.Term {
		e.leave(e.conn)
	}
}

// leave ends a link to a coordinator that is superseded, and tells it so.
func (e *executor) leave(conn *wire.Conn) {
	term := max(e.term, e.known.Term)
	e.log.Info("coordinator is superseded", "term", e.seen.Term, "by", term)
	if e.conn == conn {
		e.contact = time.Now()
		e.unlink()
	}
	e.wg.Go(func() { _ = conn.Leave(term) })
}
