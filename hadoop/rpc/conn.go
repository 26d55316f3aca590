package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
)

// errGone says that a connection ended before a request was handed to it: the
// request has not been sent.
var errGone = errors.New("connection closed")

// errIdle is why a connection ended that nobody needed.
var errIdle = errors.New("idle")

// conn is one authenticated connection with its two goroutines: one writes
// requests and pings, the other reads answers. Both end before Close returns.
type conn struct {
	p       *pipe
	address string
	wait    time.Duration // the longest that a write may take
	ping    time.Duration // silence after which a waiting connection is pinged
	idle    time.Duration // time without calls after which it is closed

	queue  chan []byte   // frames to send
	closed chan struct{} // closed by fail
	group  sync.WaitGroup

	mu      sync.Mutex
	err     error // why it is closed
	pending map[int32]chan answer
	used    time.Time // when the last call came, was answered or given up
	pinged  time.Time // when something was last sent to keep the connection alive
	retired bool      // no new calls; it closes when the last is answered
	unsent  error     // why nothing more can be written
}

// answer is what came back for one call: the message's bytes or an error.
type answer struct {
	body []byte
	err  error
}

// start takes a connection over that has been through its handshake.
func start(p *pipe, wait, ping, idle time.Duration) *conn {
	c := &conn{
		p: p, address: p.address, wait: wait, ping: ping, idle: idle,
		queue: make(chan []byte, 16), closed: make(chan struct{}),
		pending: map[int32]chan answer{}, used: time.Now(),
	}
	c.group.Go(c.read)
	c.group.Go(c.write)
	return c
}

// close ends the connection and waits for its goroutines.
func (c *conn) close() {
	c.fail(ErrClosed)
	c.group.Wait()
}

// fail ends the connection; the first reason stays. Whoever waits for an answer
// gets it.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.closed)
	c.p.nc.Close()
	for id, done := range c.pending {
		delete(c.pending, id)
		done <- answer{err: err}
	}
}

// reason is why the connection ended, nil while it lives.
func (c *conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// epitaph is why the connection took no call: it waits for the server's last
// words where those may still come. Nil means that it was only retired.
func (c *conn) epitaph(ctx context.Context) error {
	c.mu.Lock()
	dying := c.unsent != nil
	c.mu.Unlock()
	if dying {
		select {
		case <-c.closed:
		case <-ctx.Done():
		}
	}
	return c.reason()
}

// usable tells whether new calls may come.
func (c *conn) usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err == nil && !c.retired
}

// retire lets calls in progress end and takes no new ones.
func (c *conn) retire() {
	c.mu.Lock()
	c.retired = true
	empty := len(c.pending) == 0
	c.mu.Unlock()
	if empty {
		c.fail(errGone)
	}
}

// enter notes a call that is about to be sent.
func (c *conn) enter(id int32) (chan answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || c.retired {
		return nil, errGone
	}
	done := make(chan answer, 1)
	c.pending[id] = done
	c.used = time.Now()
	return done, nil
}

// leave forgets a call; a late answer to it is dropped.
func (c *conn) leave(id int32) (done chan answer) {
	c.mu.Lock()
	done = c.pending[id]
	delete(c.pending, id)
	c.used = time.Now()
	over := c.retired && len(c.pending) == 0
	c.mu.Unlock()
	if over {
		c.fail(errGone)
	}
	return done
}

// call sends one request and waits for its answer. sent tells whether the server
// may have got it.
func (c *conn) call(ctx context.Context, id int32, request []byte) (body []byte, sent bool, err error) {
	done, err := c.enter(id)
	if err != nil {
		return nil, false, err
	}
	defer c.leave(id)
	select {
	case c.queue <- request:
	case <-c.closed:
		return nil, false, errGone
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	select {
	case a := <-done:
		return a.body, true, a.err
	case <-ctx.Done():
		return nil, true, context.Cause(ctx)
	}
}

// read hands answers to whoever waits for them.
func (c *conn) read() {
	for {
		if err := c.receive(); err != nil {
			c.mu.Lock()
			if c.unsent != nil && !is[*RemoteError](err) {
				err = fmt.Errorf("connection lost: %w", c.unsent)
			}
			c.mu.Unlock()
			c.fail(err)
			return
		}
	}
}

// receive takes one answer in. Its error ends the connection.
func (c *conn) receive() error {
	b, err := c.p.read()
	if err != nil {
		return fmt.Errorf("connection lost: %w", err)
	}
	var h ipcpb.RpcResponseHeader
	if b, err = pop(b, &h); err != nil {
		return err
	}
	rerr := remote(&h, c.address)
	if h.GetStatus() == ipcpb.RpcResponseHeader_FATAL {
		return rerr // whatever the call: the server closes
	}
	done := c.leave(int32(h.GetCallId()))
	if done == nil {
		return nil // nobody waits for it any more
	}
	done <- answer{body: b, err: rerr}
	return nil
}
