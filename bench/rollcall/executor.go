package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/wire"
)

// crowd plays the executors of a job.
type crowd struct {
	contexts []executor.Context
	confs    []*tls.Config
	conns    []*wire.Conn
	beat     time.Duration // as the coordinator said

	started atomic.Int64
	all     chan struct{} // closed when all have started
	fail    sync.Once
	err     error
	bad     chan struct{} // closed when err is set
	wg      sync.WaitGroup
	sent    atomic.Int64 // beats
	again   atomic.Int64 // connections that had to be tried again
}

// dialing bounds how many executors connect at a time: the kernel's queue of
// connections is not longer.
const dialing = 512

func newCrowd(contexts []executor.Context) (*crowd, error) {
	c := &crowd{contexts: contexts, confs: make([]*tls.Config, len(contexts)), conns: make([]*wire.Conn, len(contexts)),
		all: make(chan struct{}), bad: make(chan struct{})}
	for i, x := range contexts {
		var err error
		if c.confs[i], err = wire.Executor(x.Authority, x.Cert, x.Key); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// call lets everybody connect and returns once all were told to start.
func (c *crowd) call(ctx context.Context) error {
	gate := make(chan struct{}, dialing)
	for i := range c.contexts {
		gate <- struct{}{}
		c.wg.Go(func() {
			leave := sync.OnceFunc(func() { <-gate })
			defer leave()
			if err := c.play(ctx, i, leave); err != nil && ctx.Err() == nil {
				c.fail.Do(func() { c.err = err; close(c.bad) })
			}
		})
	}
	select {
	case <-c.all:
		return nil
	case <-c.bad:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// play is one executor, from its first word to its last.
func (c *crowd) play(ctx context.Context, i int, connected func()) error {
	x := c.contexts[i]
	hello := wire.Hello{Job: x.Job, Slot: x.Slot, Task: x.Task, Phase: wire.PhaseIdle, Host: host(i),
		Control: fmt.Sprintf("%s:%d", host(i), 40000+i%20000), PID: 1000 + i}
	conn, w, err := c.dial(ctx, i, hello)
	if err != nil {
		return err
	}
	connected()
	defer conn.Close()
	if i == 0 {
		c.beat = w.Beat
	}
	c.conns[i] = conn
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.wg.Go(func() { c.pulse(ctx, conn, w.Beat) })
	for {
		d, err := conn.Recv()
		if err != nil {
			return fmt.Errorf("%s: %w", x.Task, err)
		}
		if d.Quit != nil {
			return nil
		}
		if err := c.answer(conn, i, d); err != nil {
			return err
		}
	}
}

// tries is how often an executor connects in vain; real ones never give up. A
// coordinator on a busy machine turns some away that it could not greet in time.
const tries = 10

func (c *crowd) dial(ctx context.Context, i int, hello wire.Hello) (*wire.Conn, wire.Welcome, error) {
	limits := wire.Limits{Greeting: 5 * time.Minute} // the machine may be busy
	for try := 1; ; try++ {
		conn, w, err := wire.Dialer{Limits: limits}.Dial(ctx, c.contexts[i].Address, c.confs[i], hello)
		if err == nil || try == tries || ctx.Err() != nil {
			return conn, w, err
		}
		c.again.Add(1)
		t := time.NewTimer(100*time.Millisecond + rand.N(time.Second))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
	}
}

func (c *crowd) answer(conn *wire.Conn, i int, d wire.Directive) error {
	switch {
	case d.Prepare != nil:
		ports := map[string]int{}
		for n, p := range d.Prepare.Ports {
			ports[p.Name] = 30000 + n
		}
		return conn.Send(wire.Message{Registered: &wire.Registered{Incarnation: d.Prepare.Incarnation, Host: host(i), Ports: ports}})
	case d.Start != nil:
		if c.started.Add(1) == int64(len(c.contexts)) {
			close(c.all)
		}
		return conn.Send(wire.Message{Started: &wire.Started{Incarnation: 1, PIDs: []int{2000 + i}}})
	}
	return nil
}

func host(i int) string { n := i / perNode; return fmt.Sprintf("10.%d.%d.1", n/250, n%250) }

// pulse beats at the coordinator's interval, each executor at a moment of its
// own, until ctx is done.
func (c *crowd) pulse(ctx context.Context, conn *wire.Conn, every time.Duration) {
	t := time.NewTimer(rand.N(every))
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		b := wire.Beat{Incarnation: 1, Sent: time.Now(), Usage: wire.Usage{CPU: time.Second, Memory: 1 << 30, Procs: 2}}
		if conn.Send(wire.Message{Beat: &b}) == nil {
			c.sent.Add(1)
		}
		t.Reset(every)
	}
}

// beats waits and returns how many beats there were meanwhile.
func (c *crowd) beats(ctx context.Context, span time.Duration) int {
	t := time.NewTimer(span)
	defer t.Stop()
	before := c.sent.Load()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return int(c.sent.Load() - before)
}

// end lets every task succeed.
func (c *crowd) end() {
	for _, conn := range c.conns {
		_ = conn.Send(wire.Message{Exited: &wire.Exited{Incarnation: 1, Exit: event.Exit{At: time.Now()}}})
	}
}
