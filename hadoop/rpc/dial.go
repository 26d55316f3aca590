package rpc

import (
	"context"
	"errors"
	"fmt"
)

// connection returns the live connection or opens one. Callers that come while
// one is being opened wait for it.
func (c *Client) connection(ctx context.Context) (*conn, error) {
	for {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil, ErrClosed
		}
		if c.live != nil && c.live.usable() {
			k := c.live
			c.mu.Unlock()
			return k, nil
		}
		c.putAside()
		if wait := c.opening; wait != nil {
			c.mu.Unlock()
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		if len(c.cfg.Addresses) == 0 {
			c.mu.Unlock()
			return nil, errors.New("no address")
		}
		opened := make(chan struct{})
		c.opening = opened
		address, ended := c.cfg.Addresses[c.at], c.takeEnded()
		c.mu.Unlock()

		for _, k := range ended {
			k.group.Wait()
		}
		k, err := c.open(ctx, address)
		c.mu.Lock()
		c.opening = nil
		closed := c.closed
		if err == nil && !closed {
			c.live = k
		}
		c.mu.Unlock()
		if err == nil && closed {
			k.close()
			err = ErrClosed
		}
		close(opened)
		return k, err
	}
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

// open connects to one address and proves who calls.
func (c *Client) open(ctx context.Context, address string) (*conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Connect, errNoConnection)
	defer cancel()
	auth, err := c.cfg.Auth(ctx)
	if err != nil {
		return nil, &authError{err}
	}
	nc, err := c.cfg.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoConnection, err)
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
