package cli

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/muster-project/muster/backend/local"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/history"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
	storage "github.com/muster-project/muster/storage/local"
)

// disk is the file system that holds the state directory.
var disk = storage.FS{}

// journal gives a job's facts; with follow it waits for more until the job is
// sealed. It reads files only, so it works while nothing of muster runs.
func (e *Env) journal(ctx context.Context, j job, follow bool) iter.Seq2[event.Event, error] {
	if j.served != nil {
		return j.served.facts(ctx, j.ID, follow)
	}
	fsys, err := e.storage(j)
	if err != nil {
		return func(yield func(event.Event, error) bool) { yield(event.Event{}, err) }
	}
	if follow {
		return history.Follow(ctx, fsys, j.Dir, 1)
	}
	return history.Read(ctx, fsys, j.Dir, 1)
}

// inspect replays a job's journal into a report.
func (e *Env) inspect(ctx context.Context, j job) (*report, error) {
	if j.remote != nil && j.remote.denied != nil {
		return nil, j.remote.denied
	}
	s := session.New(session.Options{Ready: readyFor(j.Plan)})
	heard := j.Submitted
	for ev, err := range e.journal(ctx, j, false) {
		if err != nil {
			return nil, fault(codeOf(err), fmt.Errorf("%s: journal: %w", j.ID, err))
		}
		s.Evolve(ev)
		heard = ev.At
	}
	return e.reportOf(s, j, heard), nil
}

func (e *Env) reportOf(s *session.Session, j job, heard time.Time) *report {
	r := &report{View: s.View(), Dir: j.Dir, Heard: heard, Alive: alive(j)}
	r.Warnings = append(slices.Clone(j.Plan.Warnings), r.Warned...)
	if r.ID == "" { // its coordinator has not come to life yet
		r.View = unopened(j)
	}
	if r.Outcome != nil {
		r.Warnings = append(r.Warnings, r.Outcome.Warnings...)
	}
	r.Addresses = r.View.Addresses()
	until := e.Now()
	if !r.Ended.IsZero() {
		until = r.Ended
	}
	r.Elapsed = until.Sub(r.Submitted).Round(time.Millisecond).Seconds()
	return r
}

// unopened is the view of a job that has no journal yet.
func unopened(j job) session.View {
	p := j.Plan
	v := session.View{ID: j.ID, Name: p.Name, User: p.User, Framework: p.Framework, Backend: p.Backend, Queue: p.Queue,
		State: "queued", Submitted: j.Submitted}
	for _, r := range p.Roles {
		for n := range r.Instances.Max {
			v.Tasks = append(v.Tasks, session.TaskView{Task: plan.TaskID{Role: r.Name, Index: n}, State: "waiting", Rank: -1})
		}
	}
	return v
}

// alive says whether a coordinator holds the job. On a cluster only its resource
// manager knows, which is asked where somebody wants to know why a job waits; a
// dead coordinator is replaced there without our doing.
func alive(j job) bool {
	if j.remote != nil {
		return true
	}
	if j.served != nil {
		return j.served.coordinator
	}
	yes, err := local.Alive(j.Dir)
	return yes && err == nil
}

// outcome waits for the end of a job.
func (e *Env) outcome(ctx context.Context, j job) (event.Outcome, error) {
	if j.remote != nil && j.remote.denied != nil {
		return event.Outcome{}, j.remote.denied
	}
	keep := e.keeper(ctx, j)
	defer keep.stop()
	for ev, err := range e.journal(ctx, j, true) {
		if err != nil {
			return event.Outcome{}, fmt.Errorf("%s: journal: %w", j.ID, err)
		}
		if b, ok := ev.Body.(*event.JobFinished); ok {
			return b.Outcome, nil
		}
	}
	return event.Outcome{}, faultf(exitInternal, "%s: its journal ended without an outcome", j.ID)
}
