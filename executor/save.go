package executor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/muster-project/muster/checkpoint"
)

// saveTime bounds how long the end of an incarnation waits for what it saved to
// reach the storage.
const saveTime = 2 * time.Minute

// saver keeps the checkpoint directory in step with the job's, where nodes share
// no file system. An incarnation starts after it has what was saved before, and
// its end is told after what it saved is where the next one finds it, wherever
// that runs.
type saver struct {
	mu   sync.Mutex // held during each round
	ckpt checkpoint.Sync
	once sync.Once // starts the rounds while tasks run
}

func newSaver(e *executor) *saver {
	if e.Saved == "" || e.opt.FS == nil || e.Checkpoint == "" {
		return nil
	}
	return &saver{ckpt: checkpoint.Sync{FS: e.opt.FS, Dir: e.Saved, Local: e.Checkpoint,
		Task: e.Task.Dir(), Log: e.log}}
}

// fetch brings what was saved; from then on rounds keep it so until ctx is done.
func (s *saver) fetch(ctx context.Context, e *executor) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	err := s.ckpt.Fetch(ctx)
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("checkpoints cannot be fetched: %w", err)
	}
	s.once.Do(func() { e.wg.Go(func() { s.ckpt.Run(ctx, &s.mu) }) })
	return nil
}

// flush stores what was saved; the processes have ended.
func (s *saver) flush(ctx context.Context, e *executor) {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, saveTime)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ckpt.Flush(ctx); err != nil {
		e.log.Error("checkpoints are not stored: they are lost with this node", "error", err)
	}
}
