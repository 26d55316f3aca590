package server_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-project/muster/server"
)

// cluster is one job on a cluster that cannot be tended at first.
type cluster struct {
	tries atomic.Int32
	end   chan struct{}
}

func (c *cluster) Open() ([]string, error) { return []string{idA}, nil }

func (c *cluster) Keep(ctx context.Context, name string) error {
	if name != idA {
		return errors.New("another job is tended")
	}
	if c.tries.Add(1) == 1 {
		return errors.New("the cluster is away")
	}
	select {
	case <-c.end:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A server stays for a job on a cluster however long nobody asks for it, tries
// again what failed, and ends when the job has.
func TestAServerTendsJobsOnClustersAndStaysForThem(t *testing.T) {
	w := newWorld(t)
	c := &cluster{end: make(chan struct{})}
	const idle = 300 * time.Millisecond
	w.serve(func(conf *server.Config) { conf.Away, conf.Idle = c, idle })
	client := w.client()
	eventually(t, "it is tended again", func() bool { return c.tries.Load() == 2 })
	if h, err := client.Hello(t.Context()); err != nil || h.Jobs != 1 {
		t.Errorf("hello says %+v, %v; want one job", h, err)
	}
	close(c.end)
	eventually(t, "the server ends", func() bool {
		_, err := client.Hello(t.Context())
		return err != nil
	})
	if n := c.tries.Load(); n != 2 {
		t.Errorf("it was tended %d times, want twice", n)
	}
}
