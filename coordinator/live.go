package coordinator

import (
	"context"
	"errors"
	"io"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/wire"
)

// ErrAway says that a task has no executor that could be asked now.
var ErrAway = errors.New("its executor is not connected")

// Live is the running job as people may look at it. It may be used by any
// number of goroutines.
type Live struct {
	k   *coordinator
	srv *wire.Server
}

// View is the job now.
func (l *Live) View() session.View {
	l.k.mu.Lock()
	defer l.k.mu.Unlock()
	return l.k.session.View()
}

// Log gives a log of a task from its executor; see wire.OpenLog. ErrAway where
// there is none.
func (l *Live) Log(ctx context.Context, id plan.TaskID, o wire.OpenLog) (io.ReadCloser, error) {
	link := l.k.links.of(id)
	if link == nil {
		return nil, ErrAway
	}
	return l.srv.OpenLog(ctx, link, o)
}

// Usage is what each task used when it was last heard of.
func (l *Live) Usage() map[plan.TaskID]wire.Usage { return l.k.links.usage() }
