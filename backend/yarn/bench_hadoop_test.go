//go:build hadoop

package yarn

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/login"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/token"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
	hdfsfiles "github.com/muster-project/muster/storage/hdfs"
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
	who, err := login.New(b.conf, login.Options{User: b.user, Tokens: b.cred})
	if err != nil {
		b.t.Fatal(err)
	}
	files, err := openFiles(b.conf, who)
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
