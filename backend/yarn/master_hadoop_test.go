//go:build hadoop

package yarn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/token"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
	hdfsfiles "github.com/muster-project/muster/storage/hdfs"
	"github.com/muster-project/muster/test/cluster/hadoop/lab"
)

// bench is an application whose master is the test itself, on a real cluster.
type bench struct {
	t    *testing.T
	conf *conf.Conf
	rm   *hadoop.RM
	user string
	app  hadoop.AppID
	am   *AM
	cred *token.Credentials
	plan *plan.Plan
	gang backend.Gang
	// tokens is where the containers of managed masters leave what they are given:
	// masters without containers have one attempt only. Empty for none.
	tokens string
	// What a test changes before it opens the gang.
	context func(role string) *yarnpb.ContainerLaunchContext
	opener  func(*Opener)
}

// patience bounds every wait on the cluster.
const patience = time.Minute

func site(t *testing.T) *conf.Conf {
	t.Helper()
	dir := os.Getenv("HADOOP_CONF_DIR")
	if dir == "" {
		t.Fatal("HADOOP_CONF_DIR is not set: test/cluster/hadoop brings up a cluster and sets it")
	}
	c, err := conf.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newBench submits an application without a container for its master.
func newBench(t *testing.T, roles ...plan.Role) *bench { return newBenchIn(t, "", roles...) }

// newManaged submits one whose master has a container that does nothing but hand
// its token to the test, so that there may be a second attempt.
func newManaged(t *testing.T, roles ...plan.Role) *bench { return newBenchIn(t, t.TempDir(), roles...) }

func newBenchIn(t *testing.T, tokens string, roles ...plan.Role) *bench {
	t.Helper()
	b := &bench{t: t, conf: site(t), user: "tester", tokens: tokens, context: runs("exec sleep 600")}
	var err error
	if b.rm, err = hadoop.NewRM(b.conf, func(context.Context) (rpc.Auth, error) { return rpc.Auth{User: b.user}, nil }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.rm.Close() })
	b.plan = &plan.Plan{Version: plan.PlanVersion, ID: fmt.Sprintf("m-%d", time.Now().UnixNano()), Name: t.Name(), User: b.user,
		Timing: plan.DefaultTiming(), Roles: roles}
	b.submit(t.Context())
	return b
}

func (b *bench) submit(ctx context.Context) {
	b.t.Helper()
	var err error
	if b.app, _, err = b.rm.NewApplication(ctx); err != nil {
		b.t.Fatal(err)
	}
	master := &yarnpb.ContainerLaunchContext{}
	if b.tokens != "" {
		master.Command = []string{"cp $HADOOP_TOKEN_FILE_LOCATION " + b.tokens + "/part && mv " + b.tokens + "/part " + b.tokens + "/$CONTAINER_ID && exec sleep 600"}
	}
	err = b.rm.Submit(ctx, &yarnpb.ApplicationSubmissionContext{
		ApplicationId: b.app.Proto(), Name: new(b.t.Name()), Queue: new("default"), UnmanagedAm: new(b.tokens == ""),
		ApplicationType: new(AppType), Tags: []string{Tag(b.plan.ID)}, KeepContainers: new(true),
		AmContainerSpec: master, Priority: hadoop.PriorityOf(0), MaxAppAttempts: new(int32(3)),
		Resource: Size{Memory: 64, VCores: 1}.Proto(),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = b.rm.Kill(context.WithoutCancel(ctx), b.app, "the test is over") })
	b.am = &AM{Version: AMVersion, Job: b.plan.ID, User: b.user, App: b.app.String(), Try: 1, Ticket: b.app.String(), Queue: "default",
		Dir: JobDir("/tmp/muster-master-test/" + b.plan.ID), Shared: "/tmp/muster-master-test/gangs", Kept: true,
		Scheduler: Scheduler{Rounding: hadoop.RoundingOf(b.conf, ""), HostPort: true}}
	b.login(1)
}

// login takes the token of the n-th attempt's master.
func (b *bench) login(n int32) {
	b.t.Helper()
	b.until("the master has a token", func() bool {
		r, err := b.rm.Report(b.t.Context(), b.app)
		if err != nil {
			b.t.Fatal(err)
		}
		if r.GetState() == yarnpb.AppState_FAILED {
			b.t.Fatal(r.GetDiagnostics())
		}
		switch {
		case r.GetCurrentAttempt().GetAttemptId() != n:
			return false
		case b.tokens == "" && r.AmRmToken != nil:
			b.cred = &token.Credentials{Tokens: []token.Token{*token.FromProto(r.GetAmRmToken())}}
			return true
		}
		files, err := filepath.Glob(fmt.Sprintf("%s/container_*_%02d_*", b.tokens, n))
		if err != nil || len(files) == 0 {
			return false
		}
		if b.cred, err = token.Load(files[0]); err != nil {
			b.t.Fatal(err)
		}
		return true
	})
}

func (b *bench) open(term int64, known ...backend.Slot) {
	b.t.Helper()
	files, err := Storage(b.user)(b.conf)
	if err != nil {
		b.t.Fatal(err)
	}
	if f, ok := files.(*hdfsfiles.FS); ok {
		b.t.Cleanup(func() { _ = f.Client().Close() })
	}
	o := Opener{AM: b.am, Conf: b.conf, Credentials: b.cred, Host: "localhost", FS: files,
		Log:       slog.New(slog.NewTextHandler(b.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
		Container: func(role string, _ []byte) (*yarnpb.ContainerLaunchContext, error) { return b.context(role), nil }}
	if b.opener != nil {
		b.opener(&o)
	}
	g, err := o.Open(b.t.Context(), b.plan, term, known)
	if err != nil {
		b.t.Fatal(err)
	}
	b.gang = g
	b.t.Cleanup(func() { _ = g.Leave() })
}

func (b *bench) until(what string, ok func() bool) {
	b.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			b.t.Fatalf("after %s still not: %s", patience, what)
		}
	}
}

// next is the next event; it is an error if none comes.
func (b *bench) next() backend.Event {
	b.t.Helper()
	select {
	case e, ok := <-b.gang.Events():
		if !ok {
			b.t.Fatal("no more events")
		}
		if e.Waiting != nil {
			b.t.Logf("waits: %q", e.Waiting.Reasons)
			return b.next()
		}
		return e
	case <-time.After(patience):
		b.t.Fatalf("nothing heard for %s", patience)
	}
	return backend.Event{}
}

func role(name string, least, most int, r plan.Resources) plan.Role {
	return plan.Role{Name: name, Instances: spec.Count{Min: least, Max: most}, Procs: 1, Resources: r, StopGrace: spec.Duration(time.Second), Wait: true}
}

func small() plan.Resources { return plan.Resources{CPUs: 1, Memory: 64 << 20} }

func ask(number, minimum int, roles ...plan.Role) backend.Request {
	r := backend.Request{Number: number, Minimum: minimum}
	for _, ro := range roles {
		for i := range ro.Instances.Max {
			r.Asks = append(r.Asks, backend.Ask{Task: plan.TaskID{Role: ro.Name, Index: i}, Resources: ro.Resources})
		}
	}
	return r
}

func runs(command string) func(string) *yarnpb.ContainerLaunchContext {
	return func(string) *yarnpb.ContainerLaunchContext {
		return &yarnpb.ContainerLaunchContext{Command: []string{command}}
	}
}

// grants waits for n slots, in the order in which they are granted.
func (b *bench) grants(n int) []backend.Slot {
	b.t.Helper()
	var out []backend.Slot
	for len(out) < n {
		e := b.next()
		if e.Granted == nil {
			b.t.Fatalf("%s, want Granted", said(e))
		}
		out = append(out, *e.Granted)
	}
	return out
}

// launch starts executors and waits until they run.
func (b *bench) launch(slots ...backend.Slot) []backend.Slot {
	b.t.Helper()
	var starts []backend.Start
	for _, s := range slots {
		starts = append(starts, backend.Start{Slot: s})
	}
	if err := b.gang.Launch(b.t.Context(), starts); err != nil {
		b.t.Fatal(err)
	}
	for range slots {
		e := b.next()
		if e.Started == nil || e.Started.Err != nil {
			b.t.Fatalf("%s, want Started", said(e))
		}
		for i := range slots {
			if slots[i].ID == e.Started.Slot {
				slots[i].Native = e.Started.Native
			}
		}
	}
	return slots
}

func (b *bench) request(r backend.Request) {
	b.t.Helper()
	if err := b.gang.Request(b.t.Context(), r); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) close(o event.Outcome) *yarnpb.ApplicationReport {
	b.t.Helper()
	if err := b.gang.Close(b.t.Context(), o); err != nil {
		b.t.Fatal(err)
	}
	var r *yarnpb.ApplicationReport
	b.until("the resource manager says that it has ended", func() bool {
		var err error
		r, err = b.rm.Report(b.t.Context(), b.app)
		return err == nil && over(r.GetState())
	})
	return r
}

func said(e backend.Event) string {
	switch {
	case e.Started != nil:
		return fmt.Sprintf("Started %+v", *e.Started)
	case e.Gone != nil:
		return fmt.Sprintf("Gone %+v", *e.Gone)
	case e.Granted != nil:
		return fmt.Sprintf("Granted %+v", *e.Granted)
	case e.Adopted != nil:
		return fmt.Sprintf("Adopted %+v", *e.Adopted)
	case e.Refused != nil:
		return fmt.Sprintf("Refused %+v", *e.Refused)
	}
	return fmt.Sprintf("%+v", e)
}

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
	b.until("the resource manager has heard that they run", func() bool {
		list, err := b.rm.Containers(t.Context(), hadoop.AttemptID{App: b.app, Number: 1})
		running := 0
		for _, c := range list {
			if c.GetState() == yarnpb.ContainerState_C_RUNNING {
				running++
			}
		}
		return err == nil && running >= 2
	})
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

// A resource manager that restarts is told everything again; what runs goes on.
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
	if err := errors.Join(cluster.Stop(t.Context(), "rm"), cluster.Start(t.Context(), "rm"), cluster.Wait(t.Context())); err != nil {
		t.Fatal(err)
	}
	b.request(ask(2, 1, more))
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
