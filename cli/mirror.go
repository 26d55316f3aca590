package cli

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/muster-project/muster/keep"
	"github.com/muster-project/muster/plan"
)

// mirror brings the logs of a job on a cluster to this machine while somebody
// looks at them. For a job of this machine it is nil, and does nothing.
type mirror struct {
	keep   keep.Mirror
	live   *live
	plan   *plan.Plan
	cancel context.CancelFunc
	ended  chan struct{}
	done   chan struct{}
	over   bool
}

// mirrorOf makes the mirror of a job; follow says that running tasks are to be
// heard until they end.
func (e *Env) mirrorOf(j job, follow bool) (*mirror, error) {
	if j.remote == nil {
		return nil, nil
	}
	fsys, err := e.storage(j)
	if err != nil {
		return nil, err
	}
	m := &mirror{live: e.live(j), plan: j.Plan, ended: make(chan struct{}), done: make(chan struct{})}
	m.keep = keep.Mirror{FS: fsys, Job: j.Dir, Local: j.remote.dir, Log: slog.New(slog.DiscardHandler), Every: time.Second,
		Live: func(ctx context.Context, task string, incarnation int, stream string, offset int64) (io.ReadCloser, error) {
			id, err := plan.ParseTaskDir(task)
			if err != nil {
				return nil, err
			}
			return m.live.log(ctx, id, incarnation, stream, offset, follow)
		}}
	return m, nil
}

// watch says that an incarnation runs.
func (m *mirror) watch(id plan.TaskID, number int) {
	if m == nil {
		return
	}
	procs := 1
	if r := m.plan.Role(id.Role); r != nil {
		procs = max(1, r.Procs)
	}
	m.keep.Watch(id.Dir(), number, keep.Streams(procs))
}

// now brings what there is at this moment.
func (m *mirror) now(ctx context.Context) error {
	if m == nil {
		return nil
	}
	defer m.live.close()
	return m.keep.Now(ctx)
}

// start keeps the mirror up to date until stop or finish.
func (m *mirror) start(ctx context.Context) {
	if m == nil {
		return
	}
	ctx, m.cancel = context.WithCancel(ctx)
	go func() {
		defer close(m.done)
		_ = m.keep.Run(ctx, m.ended) // what cannot be read is tried again; the logs show what there is
	}()
}

// finish says that the job has ended. settled is closed once everything is here.
func (m *mirror) finish() (settled <-chan struct{}) {
	if m == nil {
		none := make(chan struct{})
		close(none)
		return none
	}
	if !m.over {
		m.over = true
		close(m.ended)
	}
	return m.done
}

func (m *mirror) stop() {
	if m == nil {
		return
	}
	m.cancel()
	<-m.done
	m.live.close()
}
