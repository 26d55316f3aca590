package coordinator_test

import (
	"context"
	"errors"
	"testing"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/coordinator"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
)

// yielding is a gang whose place is what another one lacks.
type yielding struct {
	*backend.Feed
	left bool
}

const why = "stepped aside for m-other"

func (y *yielding) Open(context.Context, *plan.Plan, int64, []backend.Slot) (backend.Gang, error) {
	return y, nil
}

func (y *yielding) Request(_ context.Context, r backend.Request) error {
	y.Tell(backend.Event{Aside: &backend.Aside{Request: r.Number, Reason: why}})
	return nil
}
func (y *yielding) Launch(context.Context, []backend.Start) error { return nil }
func (y *yielding) Release(context.Context, []string, bool) error { return nil }
func (y *yielding) Leave() error                                  { y.left = true; y.Feed.Close(); return nil }
func (y *yielding) Close(context.Context, event.Outcome) error {
	return errors.New("the job was ended")
}

// A coordinator that steps aside notes why and leaves; the job is not ended, and
// the next coordinator goes on with it.
func TestWhoStepsAsideLeavesTheJobToTheNext(t *testing.T) {
	b := newBench(t, "exit=0")
	y := &yielding{Feed: backend.NewFeed()}
	err := coordinator.Run(t.Context(), coordinator.Config{Dir: b.dir, FS: b.fs, Gang: y, Listen: "127.0.0.1:0",
		Framework: func(string) (framework.Framework, error) { return b.fw, nil }})
	if !errors.Is(err, coordinator.ErrAside) || !y.left {
		t.Fatalf("%v, left %t; want ErrAside after Leave", err, y.left)
	}
	v := b.view()
	if v.State != "queued" || len(v.Waiting) != 1 || v.Waiting[0] != why {
		t.Errorf("state %s, waiting %q; want queued, and why", v.State, v.Waiting)
	}
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := b.outcome(); o.State != event.Succeeded {
		t.Errorf("%+v, want success", o)
	}
	if v := b.view(); v.Term != 2 {
		t.Errorf("term %d, want 2", v.Term)
	}
}
