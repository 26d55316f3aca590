package rpc

import (
	"context"
	"errors"
	"fmt"
)

// opening is a connection that one caller opens while others wait for it.
type opening struct {
	done chan struct{}
	err  error // set before done is closed
	own  bool  // the error is the opener's alone: its context ended
}

// connection returns the live connection or opens one, and the address it goes
// to. Callers that come while one is being opened share what comes of it.
func (c *Client) connection(ctx context.Context) (*conn, string, error) {
	for {
		c.mu.Lock()
		if len(c.cfg.Addresses) == 0 {
			c.mu.Unlock()
			return nil, "no address", &setupError{errors.New("no address is known")}
		}
		address := c.cfg.Addresses[c.at]
		if c.life.Err() != nil {
			c.mu.Unlock()
			return nil, address, ErrClosed
		}
		if c.live != nil && c.live.usable() {
			defer c.mu.Unlock()
			return c.live, c.live.address, nil
		}
		c.putAside()
		if o := c.opening; o != nil {
			c.mu.Unlock()
			select {
			case <-o.done:
			case <-ctx.Done():
				return nil, address, context.Cause(ctx)
			}
			if o.err != nil && !o.own {
				return nil, address, o.err
			}
			continue
		}
		o := &opening{done: make(chan struct{})}
		c.opening = o
		ended := c.takeEnded()
		c.mu.Unlock()
		for _, k := range ended {
			k.group.Wait()
		}
		k, err := c.open(ctx, address)
		k, err = c.opened(ctx, o, k, err)
		return k, address, err
	}
}

// opened tells those who wait what came of it.
func (c *Client) opened(ctx context.Context, o *opening, k *conn, err error) (*conn, error) {
	c.mu.Lock()
	c.opening = nil
	if err == nil && c.life.Err() != nil {
		err = ErrClosed
	} else if err == nil {
		c.live = k
	}
	o.err, o.own = err, ctx.Err() != nil
	c.mu.Unlock()
	if err != nil && k != nil {
		k.close()
		k = nil
	}
	close(o.done)
	return k, err
}

// putAside retires the connection; the lock is held.
func (c *Client) putAside() {
	if c.live == nil {
		return
	}
	c.old = append(c.old, c.live)
	c.live.retire()
	c.live = nil
}

// takeEnded takes the connections off the list whose goroutines are ending; the
// lock is held.
func (c *Client) takeEnded() []*conn {
	var ended, rest []*conn
	for _, k := range c.old {
		if k.reason() != nil {
			ended = append(ended, k)
		} else {
			rest = append(rest, k)
		}
	}
	c.old = rest
	return ended
}

// open connects to one address and proves who calls. It ends early when the
// client is closed.
func (c *Client) open(ctx context.Context, address string) (*conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Connect, errSlow)
	defer cancel()
	ctx, abort := context.WithCancelCause(ctx)
	defer context.AfterFunc(c.life, func() { abort(ErrClosed) })()
	auth, err := c.cfg.Auth(ctx)
	if err != nil {
		return nil, &authError{err}
	}
	nc, err := c.cfg.Dial(ctx, "tcp", address)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		return nil, fmt.Errorf("%w: %w", ErrConnect, err)
	}
	p, err := handshake(ctx, nc, address, c.cfg.Protocol, c.id, auth, c.cfg.Least)
	if err != nil {
		nc.Close()
		return nil, err
	}
	c.cfg.Log.DebugContext(ctx, "connected", "address", address, "protocol", c.cfg.Protocol)
	return start(p, c.cfg.Timeout, c.cfg.Ping, c.cfg.Idle), nil
}

// leaveAddress moves on to the next address, unless somebody has done so.
func (c *Client) leaveAddress(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cfg.Addresses[c.at] != address {
		return
	}
	c.at = (c.at + 1) % len(c.cfg.Addresses)
	c.putAside()
}
