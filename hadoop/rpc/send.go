package rpc

import (
	"errors"
	"time"
)

// write sends what is queued, pings while somebody waits in silence, and closes
// a connection that nobody uses.
func (c *conn) write() {
	tick := time.NewTimer(c.rest())
	defer tick.Stop()
	for {
		var err error
		select {
		case <-c.closed:
			return
		case b := <-c.queue:
			err = c.send(b)
		case <-tick.C:
			if err = c.look(); err == nil {
				tick.Reset(c.rest())
			}
		}
		switch {
		case errors.Is(err, errIdle):
			c.fail(err)
			return
		case err != nil:
			c.hear(err)
			return
		}
	}
}

// lastWords is how long a server that takes no more may still tell why.
const lastWords = time.Second

// hear ends writing after an error, which is mostly the server's closing: it says
// why before it does, so the reader has the last word, for a while.
func (c *conn) hear(err error) {
	c.mu.Lock()
	c.retired, c.unsent = true, err
	c.mu.Unlock()
	// It fails on a closed connection alone, from which reading ends anyway.
	_ = c.p.nc.SetReadDeadline(time.Now().Add(lastWords))
}

// send writes a frame and those that wait behind it.
func (c *conn) send(b []byte) error {
	if err := c.p.nc.SetWriteDeadline(time.Now().Add(c.wait)); err != nil {
		return err
	}
	for {
		if err := c.p.write(b); err != nil {
			return err
		}
		select {
		case b = <-c.queue:
			continue
		default:
		}
		return c.p.flush()
	}
}

// rest is how long it may be until look is due again.
func (c *conn) rest() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	rest := c.idle // the timer is not told when the last call ends
	if len(c.pending) > 0 {
		rest = min(rest, c.ping-time.Since(c.spoke()))
	} else {
		rest -= time.Since(c.used)
	}
	return max(rest, time.Millisecond)
}

// spoke is when the connection was last seen or made to work; the lock is held.
func (c *conn) spoke() time.Time {
	if c.pinged.After(c.used) {
		return c.pinged
	}
	return c.used
}

// look pings a connection on which calls wait, and ends an idle one.
func (c *conn) look() error {
	c.mu.Lock()
	waiting, now := len(c.pending) > 0, time.Now()
	if !waiting && now.Sub(c.used) >= c.idle {
		c.retired = true // under the lock, so that no call slips in
		c.mu.Unlock()
		return errIdle
	}
	silent := waiting && now.Sub(c.spoke()) >= c.ping
	if silent {
		c.pinged = now
	}
	c.mu.Unlock()
	if !silent {
		return nil
	}
	b, err := frame(header(callPing, nil, -1))
	if err != nil {
		return err
	}
	return c.send(b)
}
