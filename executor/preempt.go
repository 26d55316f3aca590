package executor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-project/muster/wire"
)

// warned is what the current incarnation was told of its preemption.
type warned struct {
	deadline time.Time          // on the coordinator's clock; zero: none
	cancel   context.CancelFunc // of the signal that is still to come; nil: none is
}

// onPreempt tells the task when it will be killed: a file at once, the role's
// signal when it is time. Told again, nothing changes; taken back, the file goes
// and no signal comes.
func (e *executor) onPreempt(ctx context.Context, p wire.Preempt) {
	i := &e.now
	if p.Incarnation != i.number || i.tree == nil || i.warned.deadline.Equal(p.Deadline) {
		return // it ends, or knows
	}
	i.hush()
	i.warned.deadline = p.Deadline
	file := filepath.Join(i.dir, deadlineFile)
	if p.Deadline.IsZero() {
		e.log.Info("not preempted after all", "incarnation", i.number)
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			e.log.Warn("deadline not removed", "error", err)
		}
		return
	}
	at := p.Deadline.Add(-e.ahead) // on this node's clock
	e.log.Info("will be preempted", "incarnation", i.number, "at", at, "reason", p.Reason, "signal", p.Signal)
	if err := writeDeadline(file, at); err != nil {
		e.log.Warn("deadline not written", "error", err)
	}
	sig := signalNumber(p.Signal)
	if p.Signal == "" || sig == 0 {
		return
	}
	ctx, i.warned.cancel = context.WithCancel(ctx)
	tree, wait := i.tree, time.NewTimer(0)
	if p.Before > 0 { // else at once
		wait.Reset(time.Until(at.Add(-p.Before)))
	}
	e.wg.Go(func() {
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-tree.Done():
			return
		case <-ctx.Done():
			return
		}
		if err := tree.Signal(sig); err != nil {
			e.log.Warn("signal of the preemption not delivered", "signal", p.Signal, "error", err)
		}
	})
}

// writeDeadline makes the file appear whole: a task may look at any time.
func writeDeadline(file string, at time.Time) error {
	text := at.UTC().Format(time.RFC3339Nano) + "\n"
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// hush drops a signal that has not been sent yet.
func (i *incarnation) hush() {
	if i.warned.cancel != nil {
		i.warned.cancel()
		i.warned.cancel = nil
	}
}
