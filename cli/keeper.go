package cli

import (
	"context"
	"time"
)

// keeper looks that a job somebody waits for has a coordinator, as long as it
// has not ended. If none lives for a while it asks for a server, which takes
// the job up again. So run and wait survive the death of both.
type keeper struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// keepEvery is how often it looks; a server restarts a coordinator faster.
const keepEvery = 3 * time.Second

func (e *Env) keeper(ctx context.Context, j job) *keeper {
	ctx, cancel := context.WithCancel(ctx)
	k := &keeper{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(k.done)
		tick := time.NewTicker(keepEvery)
		defer tick.Stop()
		misses := 0
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if alive(j.Dir) {
				misses = 0
				continue
			}
			if misses++; misses > 1 {
				e.wake(ctx) // what it says is said by the next verb that needs a server
			}
		}
	}()
	return k
}

func (k *keeper) stop() {
	k.cancel()
	<-k.done
}
