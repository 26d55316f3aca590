package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/storage/faulty"
	"github.com/muster-project/muster/storage/local"
	"github.com/muster-project/muster/wire"
)

// Where nodes share no file system, the end of a task is told only after what it
// saved is where an executor on another node finds it.
func TestWhatATaskSavedIsThereForAnotherNodeWhenItsEndIsTold(t *testing.T) {
	j := newJob(t)
	saved := filepath.Join(j.dir, "saved")
	begin := func(term int64, node string) (*desk, *life) {
		d := j.coordinator(term, true)
		c := j.context(d, worker)
		c.Saved, c.Checkpoint, c.Root = saved, filepath.Join(j.dir, node, "checkpoint"), filepath.Join(j.dir, node, "task")
		return d, liveWith(t, c, Options{FS: local.FS{}})
	}
	d, first := begin(1, "first")
	d.exits(1, shell(`echo step 30 >$MUSTER_CHECKPOINT_DIR/model; exit 0`))
	// The first executor still lives: nothing waits for its own end.
	e, second := begin(2, "second")
	e.exits(1, shell(`[ "$(cat $MUSTER_CHECKPOINT_DIR/model)" = "step 30" ] && exit 0; exit 9`))
	if got := read(t, filepath.Join(j.dir, "second", "checkpoint", "model")); got != "step 30\n" {
		t.Errorf("the second node has %q", got)
	}
	for _, x := range []struct {
		d *desk
		l *life
	}{{d, first}, {e, second}} {
		x.d.send(wire.Directive{Quit: &wire.Quit{Reason: "job is done"}})
		if err := x.l.end(); err != nil {
			t.Error(err)
		}
	}
}

// A token that has ended costs no restart: the storage is asked again until it
// answers. What this machine says is told at once.
func TestATaskWaitsForAStorageThatDoesNotLetItHaveItsCheckpoints(t *testing.T) {
	saved := "saved"
	for name, tc := range map[string]struct {
		err   error
		waits bool
	}{
		"a token that has ended": {errors.New("authentication: InvalidToken"), true},
		"a disk of this machine": {&fs.PathError{Op: "mkdir", Path: "x", Err: syscall.ENOSPC}, false},
		"no right":               {fmt.Errorf("saved: %w", fs.ErrPermission), false},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t)
			d := j.coordinator(1, true)
			c := j.context(d, worker)
			c.Saved, c.Checkpoint = filepath.Join(j.dir, saved), filepath.Join(j.dir, "checkpoint")
			if err := os.MkdirAll(c.Saved, 0o700); err != nil {
				t.Fatal(err)
			}
			var failed atomic.Int64
			l := liveWith(t, c, Options{FS: faulty.FS{FS: local.FS{}, Plan: func(call faulty.Call) faulty.Fault {
				if call.Op == faulty.Stat && call.Path == c.Saved && failed.Add(1) <= 3 {
					return faulty.Fault{Err: tc.err}
				}
				return faulty.Fault{}
			}}})
			d.send(wire.Directive{Prepare: &wire.Prepare{Incarnation: 1, Epoch: 1}})
			r := wait(d, registered(1))
			if prepared := r.Exit == nil; prepared != tc.waits {
				t.Errorf("exit %+v after %d failures, want a task that is prepared: %v", r.Exit, failed.Load(), tc.waits)
			}
			if r.Exit != nil && (r.Exit.Class != event.ClassPrepare || r.Exit.Status != 126) {
				t.Errorf("class %s, status %d", r.Exit.Class, r.Exit.Status)
			}
			d.send(wire.Directive{Quit: &wire.Quit{Reason: "job is done"}})
			if err := l.end(); err != nil {
				t.Error(err)
			}
		})
	}
}
