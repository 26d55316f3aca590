//go:build hadoop

package yarn

import (
	"context"
	"fmt"
	"log/slog"
	"os"
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
	// What a test changes before it opens the gang.
	command string
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
func newBench(t *testing.T, roles ...plan.Role) *bench {
	t.Helper()
	b := &bench{t: t, conf: site(t), user: "tester", command: "exec sleep 600"}
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
	err = b.rm.Submit(ctx, &yarnpb.ApplicationSubmissionContext{
		ApplicationId: b.app.Proto(), Name: new(b.t.Name()), Queue: new("default"), UnmanagedAm: new(true),
		ApplicationType: new(AppType), Tags: []string{Tag(b.plan.ID)}, KeepContainers: new(true),
		AmContainerSpec: &yarnpb.ContainerLaunchContext{}, Priority: hadoop.PriorityOf(0), MaxAppAttempts: new(int32(3)),
		Resource: Size{Memory: 64, VCores: 1}.Proto(),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = b.rm.Kill(context.WithoutCancel(ctx), b.app, "the test is over") })
	b.am = &AM{Version: AMVersion, Job: b.plan.ID, User: b.user, App: b.app.String(), Try: 1, Ticket: b.app.String(), Queue: "default",
		Scheduler: Scheduler{Rounding: hadoop.RoundingOf(b.conf, ""), HostPort: true}}
	b.until("the application has a token for its master", func() bool {
		r, err := b.rm.Report(ctx, b.app)
		if err != nil {
			b.t.Fatal(err)
		}
		if r.GetState() == yarnpb.AppState_FAILED {
			b.t.Fatal(r.GetDiagnostics())
		}
		if r.AmRmToken == nil {
			return false
		}
		b.cred = &token.Credentials{Tokens: []token.Token{*token.FromProto(r.GetAmRmToken())}}
		return true
	})
}

func (b *bench) open(term int64, known ...backend.Slot) {
	b.t.Helper()
	o := Opener{AM: b.am, Conf: b.conf, Credentials: b.cred, Host: "localhost",
		Log: slog.New(slog.NewTextHandler(b.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
		Container: func(string, []byte) (*yarnpb.ContainerLaunchContext, error) {
			return &yarnpb.ContainerLaunchContext{Command: []string{b.command}}, nil
		}}
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

// A gang is granted, started, ended and closed, and the resource manager says so.
func TestGangOnTheCluster(t *testing.T) {
	w := role("worker", 6, 6, small())
	b := newBench(t, w)
	begin := time.Now()
	b.open(1)
	t.Logf("open after %s", time.Since(begin))
	if err := b.gang.Request(t.Context(), ask(1, 6, w)); err != nil {
		t.Fatal(err)
	}
	var starts []backend.Start
	for len(starts) < 6 {
		e := b.next()
		if e.Granted == nil {
			t.Fatalf("%+v, want Granted", e)
		}
		starts = append(starts, backend.Start{Slot: *e.Granted})
	}
	t.Logf("granted after %s", time.Since(begin))
	if err := b.gang.Launch(t.Context(), starts); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 6; {
		e := b.next()
		if e.Started == nil || e.Started.Err != nil {
			t.Fatalf("%+v %+v, want Started", e, e.Started)
		}
		n++
	}
	t.Logf("running after %s", time.Since(begin))
	var ids []string
	for _, s := range starts {
		ids = append(ids, s.Slot.ID)
	}
	if err := b.gang.Release(t.Context(), ids, true); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		if e := b.next(); e.Gone == nil || e.Gone.Class != "" {
			t.Fatalf("%+v %+v, want Gone", e, e.Gone)
		}
	}
	t.Logf("gone after %s", time.Since(begin))
	if err := b.gang.Close(t.Context(), event.Outcome{State: event.Succeeded, Text: "all went well"}); err != nil {
		t.Fatal(err)
	}
	t.Logf("closed after %s", time.Since(begin))
	r, err := b.rm.Report(t.Context(), b.app)
	if err != nil {
		t.Fatal(err)
	}
	if r.GetState() != yarnpb.AppState_FINISHED || r.GetFinalStatus() != yarnpb.FinalStatus_APP_SUCCEEDED || r.GetDiagnostics() != "succeeded: all went well" {
		t.Errorf("%v, %v, %q", r.GetState(), r.GetFinalStatus(), r.GetDiagnostics())
	}
}
