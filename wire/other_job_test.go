package wire

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/muster-project/muster/plan"
)

// Nobody of another job gets in at an executor: not that job's coordinator, not
// one of its tasks, however much of this job's names they bear.
func TestAnotherJobDoesNotReachAnExecutor(t *testing.T) {
	s := newSite(t, &desk{}, Limits{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	reached := make(chan string, 10)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	conf := s.control(worker)
	wg.Go(func() {
		err := ServeControl(ctx, ln, conf, quiet, Controlled{
			Told:   func(int64, string) { reached <- "told" },
			Called: func(context.Context, *Stream, Call) { reached <- "called" },
		})
		if err != nil {
			t.Error(err)
		}
	})
	other, err := NewAuthority(jobID)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := other.Coordinator()
	if err != nil {
		t.Fatal(err)
	}
	theirs.VerifyConnection = nil // it does not mind whom it meets
	if err := Nudge(ctx, ln.Addr().String(), theirs, 99, "10.6.6.6:6"); err == nil {
		t.Error("another job's coordinator nudged an executor")
	}
	cert, key, err := other.Issue(plan.TaskID{Role: "worker", Index: 1})
	if err != nil {
		t.Fatal(err)
	}
	task, err := Executor(other.Certificate(), cert, key)
	if err != nil {
		t.Fatal(err)
	}
	task.VerifyConnection = nil
	if err := Nudge(ctx, ln.Addr().String(), task, 99, "10.6.6.6:6"); err == nil {
		t.Error("another job's task nudged an executor")
	}
	own, err := s.auth.Coordinator()
	if err != nil {
		t.Fatal(err)
	}
	if err := Nudge(ctx, ln.Addr().String(), own, 4, "10.0.0.1:77"); err != nil {
		t.Fatal(err)
	}
	select {
	case what := <-reached:
		if len(reached) > 0 {
			t.Errorf("%s, and more", what)
		}
	case <-time.After(10 * time.Second):
		t.Error("its own coordinator does not reach it")
	}
}
