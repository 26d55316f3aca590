package executor

import (
	"path/filepath"
	"testing"

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
