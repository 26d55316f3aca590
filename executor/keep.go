package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"github.com/muster-project/muster/keep"
)

// keepTime bounds how long an executor that is to end waits for its logs.
const keepTime = 10 * time.Second

// errKeep says that it was over.
var errKeep = errors.New("the storage did not take it in time")

// keeping is the logs of one incarnation on their way to where they outlive this
// node. It goes on after the incarnation's end, beside the next one.
type keeping struct {
	number int
	ended  chan struct{} // closed once nothing more is written
	over   bool          // it is closed
	hurry  chan struct{} // of size 1
	cancel context.CancelCauseFunc
}

// keep begins to keep the logs of an incarnation that runs now.
func (e *executor) keep(ctx context.Context, number int, dir string) {
	kept := e.Keep != "" && e.opt.FS != nil
	if !kept && e.LogDir == "" {
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	k := &keeping{number: number, ended: make(chan struct{}), hurry: make(chan struct{}, 1), cancel: cancel}
	e.keeping = append(e.keeping, k)
	logs := filepath.Join(dir, logDir)
	if e.LogDir != "" {
		s := shelf{logs: logs, dir: e.LogDir, prefix: fmt.Sprintf("%s.%d.", e.Task.Dir(), number), log: e.log}
		e.wg.Go(func() { s.run(ctx, k.ended) })
	}
	e.wg.Go(func() {
		if kept {
			w := keep.Writer{FS: e.opt.FS, Dir: path.Join(e.Keep, strconv.Itoa(number)), Logs: logs, Log: e.log}
			if err := w.Run(ctx, k.ended, k.hurry); err != nil {
				e.log.Error("output was not kept", "incarnation", number, "error", err)
			}
		}
		select {
		case <-k.ended:
		case <-ctx.Done():
		}
		e.tell(context.WithoutCancel(ctx), keepingDone{k})
	})
}

// written says that an incarnation has ended: its logs grow no more.
func (e *executor) written(number int) {
	for _, k := range e.keeping {
		if k.number == number && !k.over {
			k.over = true
			close(k.ended)
		}
	}
}

// hurry has all logs kept as far as they are there: we may be killed soon.
func (e *executor) hurry() {
	for _, k := range e.keeping {
		select {
		case k.hurry <- struct{}{}:
		default:
		}
	}
}

// boundKeeping starts the clock of an executor that only its logs keep from ending.
func (e *executor) boundKeeping() {
	if e.keepEnd == nil && e.ending != nil && !e.now.busy() && len(e.keeping) > 0 {
		e.keepEnd = time.After(cmp.Or(e.opt.KeepTime, keepTime))
	}
}

// giveUp ends the wait.
func (e *executor) giveUp() {
	for _, k := range e.keeping {
		k.cancel(errKeep)
	}
}

// keepingDone says that logs are kept, or given up.
type keepingDone struct{ *keeping }

func (d keepingDone) apply(_ context.Context, e *executor) {
	d.cancel(nil)
	for i, k := range e.keeping {
		if k == d.keeping {
			e.keeping = append(e.keeping[:i:i], e.keeping[i+1:]...)
			return
		}
	}
}
