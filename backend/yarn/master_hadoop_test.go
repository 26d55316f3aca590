//go:build hadoop

package yarn

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/test/cluster/hadoop/lab"
)

// A gang is granted, started, ended and closed, and the resource manager says so.
func TestGangOnTheCluster(t *testing.T) {
	w := role("worker", 6, 6, small())
	b := newBench(t, w)
	begin := time.Now()
	b.open(1)
	b.request(ask(1, 6, w))
	slots := b.grants(6)
	t.Logf("granted after %s", time.Since(begin))
	b.launch(slots...)
	t.Logf("running after %s", time.Since(begin))
	var ids []string
	for _, s := range slots {
		ids = append(ids, s.ID)
		if s.Rack == "" || s.Node == "" || s.Resources.Memory < 64<<20 {
			t.Errorf("%+v, want its node, rack and size", s)
		}
	}
	if err := b.gang.Release(t.Context(), ids, true); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		if e := b.next(); e.Gone == nil || e.Gone.Class != "" {
			t.Fatalf("%s, want Gone", said(e))
		}
	}
	t.Logf("gone after %s", time.Since(begin))
	r := b.close(event.Outcome{State: event.Succeeded, Text: "all went well"})
	t.Logf("closed after %s", time.Since(begin))
	if r.GetState() != yarnpb.AppState_FINISHED || r.GetFinalStatus() != yarnpb.FinalStatus_APP_SUCCEEDED || r.GetDiagnostics() != "succeeded: all went well" {
		t.Errorf("%v, %v, %q", r.GetState(), r.GetFinalStatus(), r.GetDiagnostics())
	}
}

// The next coordinator finds what runs; what was granted and not started, and
// what ended meanwhile, is gone.
func TestTakeoverOnTheCluster(t *testing.T) {
	w := role("worker", 3, 3, small())
	b := newManaged(t, w)
	b.open(1)
	b.request(ask(1, 3, w))
	slots := b.grants(3)
	b.launch(slots[:2]...)
	b.heard()
	if err := b.gang.Leave(); err != nil {
		t.Fatal(err)
	}
	b.nextAttempt(1)
	b.open(2, slots...)
	adopted := map[string]bool{}
	for range slots {
		switch e := b.next(); {
		case e.Adopted != nil:
			adopted[e.Adopted.ID] = true
		case e.Gone != nil && e.Gone.Slot == slots[2].ID && e.Gone.Class == event.ClassLost:
		default:
			t.Errorf("%s", said(e))
		}
	}
	if !adopted[slots[0].ID] || !adopted[slots[1].ID] {
		t.Errorf("adopted %v, want %s and %s", adopted, slots[0].ID, slots[1].ID)
	}
	b.request(backend.Request{Number: 2, Minimum: 1, Asks: []backend.Ask{{Task: slots[2].Task, Resources: small()}}})
	b.launch(b.grants(1)...)
	if r := b.close(event.Outcome{State: event.Failed, Text: "worker/1 failed", Status: 3}); r.GetFinalStatus() != yarnpb.FinalStatus_APP_FAILED ||
		r.GetDiagnostics() != "failed: worker/1 failed (status 3)" {
		t.Errorf("%v, %q", r.GetFinalStatus(), r.GetDiagnostics())
	}
}

// heard waits until the resource manager has heard of what was started. Only what
// it knows to run outlives an attempt, nodes tell it with their heartbeats, and
// nothing that it answers shows whether they have: it calls a container running
// from the moment that it is granted.
func (b *bench) heard() {
	b.t.Helper()
	heartbeat := b.conf.Duration("yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", time.Second, time.Millisecond)
	timer := time.NewTimer(4 * heartbeat)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.t.Context().Done():
	}
}

// nextAttempt ends the n-th attempt, as the resource manager does when a
// coordinator is not heard of any more, and takes the next one's token.
func (b *bench) nextAttempt(n int32) {
	b.t.Helper()
	if err := b.rm.FailAttempt(b.t.Context(), hadoop.AttemptID{App: b.app, Number: n}); err != nil {
		b.t.Fatal(err)
	}
	b.login(n + 1)
}

// A coordinator whose attempt was given up learns it, and touches nothing more.
func TestSupersededOnTheCluster(t *testing.T) {
	w := role("worker", 1, 1, small())
	b := newManaged(t, w)
	b.open(1)
	b.request(ask(1, 1, w))
	slots := b.launch(b.grants(1)...)
	b.heard()
	old := b.gang
	b.nextAttempt(1)
	if e := b.next(); !e.Superseded {
		t.Fatalf("%s, want Superseded", said(e))
	}
	if err := old.Release(t.Context(), []string{slots[0].ID}, true); !errors.Is(err, backend.ErrSuperseded) {
		t.Errorf("release: %v, want ErrSuperseded", err)
	}
	if err := old.Close(t.Context(), event.Outcome{}); !errors.Is(err, backend.ErrSuperseded) {
		t.Errorf("close: %v, want ErrSuperseded", err)
	}
	b.open(2, slots...)
	if e := b.next(); e.Adopted == nil || e.Adopted.ID != slots[0].ID {
		t.Fatalf("%s, want Adopted: the old coordinator touched nothing", said(e))
	}
	b.close(event.Outcome{State: event.Stopped})
}

// What goes wrong with a container is told by its class and with the numbers.
func TestEndsOnTheCluster(t *testing.T) {
	w := role("worker", 1, 1, small())
	for name, tc := range map[string]struct {
		context *yarnpb.ContainerLaunchContext
		class   event.Class // of its end; empty if it must not start
		says    string
	}{
		"over its memory": {runs("exec tail /dev/zero")(""), event.ClassMemory, "of 64 MB of memory"},
		"a file that has changed": {&yarnpb.ContainerLaunchContext{Command: []string{"exec sleep 600"}, LocalResources: []*yarnpb.NamedLocalResource{{
			Key: new("file"), Value: Resource{Path: "/no/such/file", Size: 1, Time: 1}.proto(filesystem{scheme: "hdfs", host: "localhost", port: 18020})}}},
			"", "could not be brought to"},
		"a program that ends": {runs("sleep 2; exit 7")(""), event.ClassLost, "ended with 7"},
		"SIGKILL":             {runs("sleep 2; kill -9 $$")(""), event.ClassLost, "SIGKILL"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, w)
			b.context = func(string) *yarnpb.ContainerLaunchContext { return tc.context }
			b.open(1)
			b.request(ask(1, 1, w))
			slots := b.grants(1)
			if tc.class != "" {
				b.launch(slots...)
				if e := b.next(); e.Gone == nil || e.Gone.Class != tc.class || !strings.Contains(e.Gone.Reason, tc.says) {
					t.Errorf("%s, want Gone, %s, %q", said(e), tc.class, tc.says)
				} else {
					t.Log(e.Gone.Reason)
				}
			} else {
				if err := b.gang.Launch(t.Context(), []backend.Start{{Slot: slots[0]}}); err != nil {
					t.Fatal(err)
				}
				if e := b.next(); e.Started == nil || e.Started.Err == nil || !strings.Contains(e.Started.Err.Error(), tc.says) {
					t.Errorf("%s, want an error that says %q", said(e), tc.says)
				} else {
					t.Log(e.Started.Err)
				}
				if err := b.gang.Release(t.Context(), []string{slots[0].ID}, true); err != nil {
					t.Fatal(err)
				}
				if e := b.next(); e.Gone == nil {
					t.Errorf("%s, want Gone", said(e))
				}
			}
			b.close(event.Outcome{State: event.Failed})
		})
	}
}

// Tasks with GPUs stand on as few nodes as fit; what is welcome comes later.
func TestPackingOnTheCluster(t *testing.T) {
	w := role("worker", 3, 4, plan.Resources{CPUs: 1, Memory: 64 << 20, GPUs: 1})
	b := newBench(t, w)
	b.open(1)
	b.request(ask(1, 3, w))
	slots := b.grants(4)
	for _, s := range slots {
		if s.Node != slots[0].Node {
			t.Errorf("%s is on %s and %s on %s, want one node for all", slots[0].Task, slots[0].Node, s.Task, s.Node)
		}
		if s.Resources.GPUs != 1 {
			t.Errorf("%+v, want a GPU", s)
		}
	}
	b.close(event.Outcome{State: event.Stopped})
}

// Tasks that must not share a node do not, and one too many waits and says why.
func TestSpreadOnTheCluster(t *testing.T) {
	for name, tc := range map[string]struct{ tasks, granted int }{"as many as nodes": {2, 2}, "one more": {3, 0}} {
		t.Run(name, func(t *testing.T) {
			w := role("worker", tc.tasks, tc.tasks, small())
			b := newBench(t, w)
			b.plan.Native = map[string]any{Name: map[string]any{"placement": map[string]any{"kind": placeSpread}}}
			b.open(1)
			b.request(ask(1, tc.tasks, w))
			if tc.granted == 0 {
				e := <-b.gang.Events()
				for e.Waiting != nil && !strings.Contains(strings.Join(e.Waiting.Reasons, " "), "one on each node") {
					e = <-b.gang.Events()
				}
				if e.Waiting == nil {
					if e.Refused == nil {
						t.Errorf("%s, want Waiting or Refused", said(e))
					}
				}
				b.close(event.Outcome{State: event.Stopped})
				return
			}
			if slots := b.grants(tc.granted); slots[0].Node == slots[1].Node {
				t.Errorf("both are on %s", slots[0].Node)
			}
			b.close(event.Outcome{State: event.Stopped})
		})
	}
}

// Two gangs that do not fit together run one after the other, and the second one
// holds nothing while it waits.
func TestTwoGangsOnTheCluster(t *testing.T) {
	w := role("worker", 5, 5, plan.Resources{CPUs: 1, Memory: 64 << 20, GPUs: 1})
	first, second := newBench(t, w), newBench(t, w)
	first.open(1)
	second.open(1)
	first.request(ask(1, 5, w))
	first.launch(first.grants(5)...)
	second.request(ask(1, 5, w))
	select {
	case e := <-second.gang.Events():
		if e.Waiting == nil {
			t.Fatalf("%s, want Waiting", said(e))
		}
		t.Logf("%q", e.Waiting.Reasons)
	case <-time.After(patience):
		t.Fatal("nobody says why it waits")
	}
	r, err := second.rm.Report(t.Context(), second.app)
	if err != nil || r.GetProgress() != 0 {
		t.Errorf("progress %v, %v; want exactly 0", r.GetProgress(), err)
	}
	if r, err = first.rm.Report(t.Context(), first.app); err != nil || r.GetProgress() <= 0 {
		t.Errorf("progress %v, %v; want more than 0", r.GetProgress(), err)
	}
	first.close(event.Outcome{State: event.Succeeded})
	second.launch(second.grants(5)...)
	second.close(event.Outcome{State: event.Succeeded})
}

// A resource manager that restarts is told everything again; what runs goes on. It
// takes back what nobody starts anything in, and says so: here within seconds.
func TestResourceManagerRestarts(t *testing.T) {
	first, more := role("worker", 2, 2, small()), role("more", 1, 1, small())
	more.Stage = 1
	b := newBench(t, first, more)
	t.Cleanup(http.DefaultClient.CloseIdleConnections) // the cluster is asked over HTTP whether it is healthy
	cluster, err := lab.Open(b.conf.Dir())
	if err != nil {
		t.Fatal(err)
	}
	b.open(1)
	b.request(ask(1, 2, first))
	slots := b.launch(b.grants(2)...)
	restart := func(ctx context.Context, settings ...string) error {
		return errors.Join(cluster.Stop(ctx, "rm"), cluster.Start(ctx, "rm", settings...), cluster.Wait(ctx))
	}
	t.Cleanup(func() {
		if err := restart(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := restart(t.Context(), "-D", "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms=3000"); err != nil {
		t.Fatal(err)
	}
	b.request(ask(2, 1, more))
	forgotten := b.grants(1)[0]
	if e := b.next(); e.Gone == nil || e.Gone.Slot != forgotten.ID || e.Gone.Class != event.ClassLost || !e.Gone.Blameless || !strings.Contains(e.Gone.Reason, "in time") {
		t.Errorf("%s, want that %s was taken back", said(e), forgotten.ID)
	} else {
		t.Log(e.Gone.Reason)
	}
	b.request(ask(3, 1, more))
	slots = append(slots, b.launch(b.grants(1)...)...)
	var ids []string
	for _, s := range slots {
		ids = append(ids, s.ID)
	}
	if err := b.gang.Release(t.Context(), ids, true); err != nil {
		t.Fatal(err)
	}
	for range ids {
		if e := b.next(); e.Gone == nil || e.Gone.Class != "" {
			t.Fatalf("%s, want Gone", said(e))
		}
	}
	if r := b.close(event.Outcome{State: event.Succeeded}); r.GetFinalStatus() != yarnpb.FinalStatus_APP_SUCCEEDED {
		t.Errorf("%v", r.GetFinalStatus())
	}
}
