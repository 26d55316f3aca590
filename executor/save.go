package executor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	if err := s.insist(ctx, e); err != nil {
		return fmt.Errorf("checkpoints cannot be fetched: %w", err)
	}
	s.once.Do(func() { e.wg.Go(func() { s.ckpt.Run(ctx, &s.mu) }) })
	return nil
}

// What a task waits for a storage that doesn't let it have its checkpoints. One
// that is away comes back, and a token that has ended is replaced by the
// coordinator; a task that was started again for it would only find the same.
const (
	fetchTime  = 2 * time.Minute
	fetchFirst = 250 * time.Millisecond
	fetchMost  = 8 * time.Second
)

// insist fetches, again and again where it is the storage that fails: not what
// this machine's own file system says, nor a lack of rights.
func (s *saver) insist(ctx context.Context, e *executor) error {
	end := time.Now().Add(fetchTime)
	for wait := fetchFirst; ; wait = min(2*wait, fetchMost) {
		s.mu.Lock()
		err := s.ckpt.Fetch(ctx)
		s.mu.Unlock()
		_, here := errors.AsType[*fs.PathError](err)
		if err == nil || here || errors.Is(err, fs.ErrPermission) || time.Now().After(end) {
			return err
		}
		e.log.Warn("checkpoints cannot be fetched; trying again", "error", err, "in", wait)
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return errors.Join(err, ctx.Err())
		}
	}
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
