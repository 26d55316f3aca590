package cli

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-project/muster/backend"
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
	if j.foreign() {
		close(k.done) // its owner tends it
		return k
	}
	if j.remote != nil {
		go func() {
			defer close(k.done)
			e.tend(ctx, j)
		}()
		return k
	}
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
			if alive(j) {
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

// tend keeps a job on a cluster until it is sealed. What fails is tried again:
// the cluster may be away for a while.
func (e *Env) tend(ctx context.Context, j job) {
	for {
		if err := e.keep(ctx, j); err == nil || ctx.Err() != nil {
			return
		}
		select {
		case <-time.After(keepEvery):
		case <-ctx.Done():
			return
		}
	}
}

// keep tends a job on a cluster once; nil once it is sealed.
func (e *Env) keep(ctx context.Context, j job) error {
	b, err := e.connect(j)
	if err != nil {
		return err
	}
	if k, ok := b.(backend.Keeper); ok {
		if err := k.Keep(ctx, j.remote.Ref); err != nil {
			return err
		}
	}
	return e.forget(j)
}

// forget notes that nobody need tend a job any more.
func (e *Env) forget(j job) error {
	if !isDir(j.remote.dir) {
		return nil // found on the cluster, and never noted here
	}
	return os.WriteFile(filepath.Join(j.remote.dir, endedFile), nil, 0o600)
}

func (k *keeper) stop() {
	k.cancel()
	<-k.done
}
