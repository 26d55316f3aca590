package coordinator

import (
	"context"
	"errors"
	"os"
	"path"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/history"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/storage"
)

// Broken is the outcome of a job whose coordinator cannot live.
func Broken(dir, reason string) event.Outcome {
	return event.Outcome{State: event.Failed, Status: 70, Origin: "muster", Class: event.ClassInternal, Text: reason,
		Hint: "see " + path.Join(dir, "coordinator.log")}
}

// Seal ends a job without a coordinator: it takes the journal over as one more
// term and writes the end. What the job had started ends by its lease. A job
// that is sealed already keeps its outcome.
func Seal(ctx context.Context, fsys storage.FS, dir string, o event.Outcome, version string) error {
	sub, err := readSubmission(ctx, fsys, dir)
	if err != nil {
		return err
	}
	j, events, err := history.Open(ctx, fsys, dir, history.Owner{PID: os.Getpid(), Version: version}, time.Now())
	if errors.Is(err, history.ErrFinished) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = j.Close() }() // what was acknowledged stays
	s := session.New(session.Options{})
	for _, e := range events {
		s.Evolve(e)
	}
	now := time.Now()
	var out []event.Event
	if s.Plan() == nil {
		out = append(out, session.Submit(sub.Plan, sub.Plan.User, "", now))
	}
	out = append(out, event.Event{At: now, Body: &event.VerdictReached{Outcome: o}}, event.Event{At: now, Body: &event.JobFinished{Outcome: o}})
	return j.Append(ctx, out)
}
