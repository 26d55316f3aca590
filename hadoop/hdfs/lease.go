package hdfs

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
)

// RecoverLease takes a file from its writer: from this call on the NameNode
// refuses the writer's calls, and within seconds its connections are cut. It
// tells whether the file is closed already; if not, ask Closed. Asking again is
// harmless: the NameNode starts over at most every 90 s.
func (c *Client) RecoverLease(ctx context.Context, path string) (closed bool, err error) {
	clean, err := check(ctx, path)
	if err != nil {
		return false, err
	}
	var r hdfspb.BoolResponse
	err = c.call(ctx, "recoverLease", &hdfspb.SrcClientRequest{Src: &clean, ClientName: &c.name}, &r)
	if errors.Is(err, RecoveryInProgress) || errors.Is(err, AlreadyBeingCreated) { // somebody else asked, too
		return false, nil
	}
	return r.GetResult(), problem(path, "cannot be taken from its writer", err)
}

// Closed tells whether nobody writes the file any more.
func (c *Client) Closed(ctx context.Context, path string) (bool, error) {
	clean, err := check(ctx, path)
	if err != nil {
		return false, err
	}
	var r hdfspb.BoolResponse
	err = c.call(ctx, "isFileClosed", &hdfspb.SrcRequest{Src: &clean}, &r)
	return r.GetResult(), problem(path, "cannot tell whether it is closed", err)
}

// renewal is how often the leases of open files are renewed. After 60 s without
// that anybody may take a file, and a DataNode hangs up on a silent writer.
const renewal = 10 * time.Second

// keep adds an open file to those that are kept open; the first one starts the
// goroutine that does it for all.
func (c *Client) keep(w *Writer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return fs.ErrClosed
	}
	c.open[w] = true
	if len(c.open) == 1 {
		ctx, cancel := context.WithCancel(context.Background())
		c.rest = cancel
		c.work.Go(func() { c.renew(ctx) })
	}
	return nil
}

// drop takes a file out; with the last one the goroutine ends.
func (c *Client) drop(w *Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open[w] {
		return
	}
	delete(c.open, w)
	if len(c.open) == 0 {
		c.rest()
	}
}

func (c *Client) renew(ctx context.Context) {
	tick := time.NewTicker(c.renewal)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		open := c.opened()
		for _, w := range open {
			if w.beat() {
				c.reclaim(ctx, w)
			}
		}
		one, stop := context.WithTimeout(ctx, renewal)
		for _, w := range open {
			// A lease that cannot be renewed is no reason to stop: nobody may want
			// the file, and whoever takes it ends the writer by that.
			_ = c.call(one, "renewLease", &hdfspb.RenewLeaseRequest{ClientName: &w.holder}, &hdfspb.VoidResponse{})
		}
		stop()
	}
}

// reclaim has the NameNode close what a broken writer cannot, if nobody can read it
// otherwise: its DataNodes were restarted. A writer that has nothing to say for
// hours would leave readers waiting for as long. Its next call fails in any case.
// A DataNode that is away is not waited for here: a recovery that fails is not
// repeated for 90 s.
func (c *Client) reclaim(ctx context.Context, w *Writer) {
	ctx, stop := context.WithTimeout(ctx, releasing)
	defer stop()
	r, err := c.Open(ctx, w.src, 0)
	switch {
	case err == nil:
		_ = r.Close()
	case errors.Is(err, errUnrecovered):
		_, _ = c.RecoverLease(ctx, w.src) // the next time tells
	}
}

func (c *Client) opened() []*Writer {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*Writer, 0, len(c.open))
	for w := range c.open {
		out = append(out, w)
	}
	return out
}
