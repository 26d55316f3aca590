package hdfs

import (
	"context"
	"fmt"
	"time"
)

const (
	// look is how often the NameNode is asked whether the file is closed. It is
	// after 2 to 3 s: the time until the DataNodes' next heartbeat.
	look = 50 * time.Millisecond
	// again is how often recovery is asked for: the NameNode tries anew at most
	// every 90 s, and asking more often changes nothing.
	again = 5 * time.Second
	// patience is how long Fence waits for the DataNodes to close the file. A
	// recovery that failed is not repeated for 90 s, and one that a DataNode met in
	// the middle of a write may never succeed.
	patience = 10 * time.Second
)

// Fence is storage.Fencer: it takes the file from its writer. When the file of a
// dead or stopped writer is closed, after some 3 s, nothing is added any more.
//
// It returns after ten seconds also if the DataNodes have not closed the file by
// then, as when one of them died together with the writer. The NameNode has
// refused the writer's calls since the first one, the DataNodes have cut its
// connections, and all that was acknowledged can be read from the open file.
func (f *FS) Fence(ctx context.Context, path string) error {
	done, err := f.client.RecoverLease(ctx, path)
	begun := time.Now()
	asked := begun
	tick := time.NewTicker(look)
	defer tick.Stop()
	for !done && err == nil && time.Since(begun) < patience {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: its writer may still be at it: %w", path, ctx.Err())
		}
		if time.Since(asked) > again {
			done, err = f.client.RecoverLease(ctx, path)
			asked = time.Now()
			continue
		}
		done, err = f.client.Closed(ctx, path)
	}
	return away(err)
}
