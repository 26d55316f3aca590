//go:build hadoop

package yarn

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/coordinator"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/storage"
)

// newClient is the client's side on the real cluster, with directories of its
// own. The coordinator's container runs a script instead of the binary: what it
// does is what a test needs.
func newClient(t *testing.T, user, script string) *Backend {
	t.Helper()
	dir := os.Getenv("HADOOP_CONF_DIR")
	if dir == "" {
		t.Fatal("HADOOP_CONF_DIR is not set: test/cluster/hadoop brings up a cluster and sets it")
	}
	binary := func(name string) func() (string, error) {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte("#!/bin/bash\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return func() (string, error) { return file, nil }
	}
	c := At(dir, Who{User: user})
	c.Layout = Layout{Root: "/tmp/muster-test-" + user + "-" + rand.Text()[:8], Shared: "/tmp/muster-gangs"}
	c.Muster, c.Executor = binary("muster"), binary("executor")
	b := New(c)
	b.Seal = func(ctx context.Context, ref backend.Ref, o event.Outcome) error {
		return coordinator.Seal(ctx, b.FS(), ref.Dir, o, "test")
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		refs, err := b.List(ctx)
		if err != nil {
			t.Error(err)
		}
		for _, r := range refs {
			if id, err := hadoop.ParseApp(r.Native); err == nil {
				if r, err := b.rm.Report(ctx, id); err != nil || r.GetUser() != user {
					continue // another part of the test takes care of it
				}
				if err := b.rm.Kill(ctx, id, "end of the test"); err != nil && !errors.Is(err, hadoop.NoSuchApplication) {
					t.Error(err)
				}
			}
		}
		if err := errors.Join(b.fs.Remove(ctx, b.Layout.Root), b.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// newPlan is a job of n small tasks.
func newPlan(user string, n int) *plan.Plan {
	var random [plan.IDBytes]byte
	_, _ = rand.Read(random[:]) // never fails
	return &plan.Plan{Version: plan.PlanVersion, ID: plan.NewID(random), Name: "client test", User: user, Framework: "plain", Backend: Name,
		Timing: plan.DefaultTiming(), Roles: []plan.Role{{Name: "worker", Instances: spec.Count{Min: n, Max: n}, Procs: 1,
			Resources: plan.Resources{CPUs: 1, Memory: 128 * mib}, Wait: true, Counted: true, Command: spec.Command{Argv: []string{"true"}}}}}
}

func submission(p *plan.Plan) backend.Submission {
	return backend.Submission{Plan: p, Environ: []string{"PATH=/usr/bin:/bin", `ODD={"a":{"b":1}} $x`}, Dir: "/", Umask: 0o022}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("after %s still not: %s", patience, what)
		}
	}
}

func (b *Backend) mustReport(t *testing.T, ref backend.Ref) *yarnpb.ApplicationReport {
	t.Helper()
	id, err := hadoop.ParseApp(ref.Native)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.rm.Report(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The coordinator's container finds its files, and nothing of the job in its
// environment.
func TestSubmit(t *testing.T) {
	out := t.TempDir()
	b := newClient(t, "alice", `echo "$@" > `+out+`/args; cp am.json site.xml `+out+`; env > `+out+`/env; echo done > `+out+`/done; sleep 60`)
	p := newPlan("alice", 1)
	p.Native = map[string]any{"yarn": map[string]any{"tags": []any{"Nightly"}, "max_attempts": 1}}
	p.ACLs.View.Users = []string{"bob"}
	ref, err := b.Submit(t.Context(), submission(p))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the coordinator's container has run", func() bool {
		_, err := os.Stat(filepath.Join(out, "done"))
		return err == nil
	})
	text := func(name string) string {
		data, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if got := strings.TrimSpace(text("args")); got != "coordinator --yarn" {
		t.Errorf("started with %q", got)
	}
	if env := text("env"); strings.Contains(env, "ODD=") || strings.Contains(env, p.ID) {
		t.Errorf("its environment tells of the job: %s", env)
	}
	var am AM
	if err := json.Unmarshal([]byte(text("am.json")), &am); err != nil {
		t.Fatal(err)
	}
	if am.Job != p.ID || am.App != ref.Native || am.Ticket != ref.Native || am.Try != 1 || string(am.Dir) != ref.Dir || am.User != "alice" ||
		am.Queue != "root.default" || len(am.Partitions) != 1 || !am.Scheduler.HostPort || am.Scheduler.Rounding.Min.Memory == 0 || !am.Muster.Public {
		t.Errorf("it is told %+v", am)
	}
	site, err := conf.Read("site.xml", strings.NewReader(text("site.xml")), nil)
	if err != nil || site.String("fs.defaultFS", "") != am.Filesystem || site.String("yarn.resourcemanager.scheduler.address", "") == "" {
		t.Errorf("its configuration: %v, %s", err, text("site.xml"))
	}
	r := b.mustReport(t, ref)
	want := []string{Tag(p.ID), "nightly"}
	tags := slices.Sorted(slices.Values(r.GetTags()))
	if r.GetApplicationType() != AppType || !slices.Equal(tags, want) || r.GetUser() != "alice" || !hadoop.SameQueue(r.GetQueue(), "default") {
		t.Errorf("application %v", r)
	}
	if s, err := b.Status(t.Context(), ref); err != nil || s.Phase != backend.PhaseQueued {
		t.Errorf("status %+v, %v", s, err)
	}
	found, err := b.Find(t.Context(), p.ID)
	if err != nil || found != ref {
		t.Errorf("found %+v, %v; want %+v", found, err, ref)
	}
	if _, err := b.Find(t.Context(), "m-aaaaaaaaaa"); !errors.Is(err, backend.ErrUnknownJob) {
		t.Errorf("a job that nobody submitted is found: %v", err)
	}
	list, err := b.List(t.Context())
	if err != nil || len(list) != 1 || list[0] != ref {
		t.Errorf("list %+v, %v", list, err)
	}
}

func mustApp(t *testing.T, ref backend.Ref) hadoop.AppID {
	t.Helper()
	id, err := hadoop.ParseApp(ref.Native)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Many clients that submit one job submit one application.
func TestSubmitTogether(t *testing.T) {
	b := newClient(t, "alice", "sleep 60")
	p := newPlan("alice", 1)
	refs := make([]backend.Ref, 6)
	var g errgroup.Group
	for i := range refs {
		g.Go(func() (err error) {
			c := New(b.Config)
			refs[i], err = c.Submit(t.Context(), submission(p))
			return errors.Join(err, c.Close())
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, r := range refs {
		if r != refs[0] {
			t.Fatalf("two answers: %+v, %+v", r, refs[0])
		}
	}
	again, err := b.Submit(t.Context(), submission(p))
	if err != nil || again != refs[0] {
		t.Fatalf("submit once more: %+v, %v", again, err)
	}
	apps, err := b.rm.Applications(t.Context(), hadoop.Filter{Tags: []string{Tag(p.ID)}})
	if err != nil || len(apps) != 1 {
		t.Fatalf("%d applications of one job, %v", len(apps), err)
	}
	other := submission(newPlan("alice", 2))
	other.Plan.ID = p.ID
	if _, err := b.Submit(t.Context(), other); err == nil || !strings.Contains(err.Error(), "another job") {
		t.Fatalf("another job under the same id: %v", err)
	}
}

// A client that dies between any two steps leaves what the next one goes on with.
func TestSubmitAfterLostAnswer(t *testing.T) {
	b := newClient(t, "alice", "sleep 60")
	for _, lost := range []string{"submission", "id", "am"} {
		t.Run(lost, func(t *testing.T) {
			p := newPlan("alice", 1)
			s, _ := Decode(p)
			if err := b.connect(); err != nil {
				t.Fatal(err)
			}
			st := newStore(b.fs, b.Layout)
			dir := b.Layout.Job(p.ID)
			if err := st.prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := b.writeJob(t.Context(), st, dir, submission(p)); err != nil {
				t.Fatal(err)
			}
			j := &job{Backend: b, store: st, dir: dir, plan: p, settings: s}
			var want hadoop.AppID
			if lost != "submission" {
				var err error
				if want, err = j.claim(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
			}
			if lost == "am" {
				if _, err := j.describe(t.Context(), 1, want, Aside{}); err != nil {
					t.Fatal(err)
				}
			}
			ref, err := b.Submit(t.Context(), submission(p))
			if err != nil {
				t.Fatal(err)
			}
			if !want.IsZero() && ref.Native != want.String() {
				t.Errorf("submitted as %s, the first client had %s", ref.Native, want)
			}
			b.mustReport(t, ref)
		})
	}
}

// What the resource manager refuses leaves nothing.
func TestSubmitRefused(t *testing.T) {
	b := newClient(t, "bob", "sleep 60")
	p := newPlan("bob", 1)
	p.Queue = "ml"
	_, err := b.Submit(t.Context(), submission(p))
	if err == nil || !strings.Contains(err.Error(), "bob") {
		t.Fatalf("bob may submit to ml: %v", err)
	}
	if _, err := b.fs.Stat(t.Context(), string(b.Layout.Job(p.ID))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory is left: %v", err)
	}
}

// Stop works before a coordinator runs, while one runs that does not listen, and
// after the end.
func TestStop(t *testing.T) {
	b := newClient(t, "alice", "sleep 60")
	t.Run("queued", func(t *testing.T) {
		ref, err := b.Submit(t.Context(), submission(newPlan("alice", 1)))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := b.Stop(t.Context(), ref, false); err != nil {
				t.Fatal(err)
			}
		}
		over, err := sealed(t.Context(), b.fs, JobDir(ref.Dir))
		if err != nil || over == nil || over.State != event.Stopped || over.Status != 130 {
			t.Errorf("sealed with %+v, %v", over, err)
		}
		if s := b.mustReport(t, ref).GetState(); s != yarnpb.AppState_KILLED {
			t.Errorf("the application is %s", s)
		}
		if s, err := b.Status(t.Context(), ref); err != nil || s.Phase != backend.PhaseEnded {
			t.Errorf("status %+v, %v", s, err)
		}
	})
	t.Run("unmanaged", func(t *testing.T) {
		// A coordinator that registers and never reads its mail.
		m := newBench(t)
		m.open(1)
		ref := b.adopt(t, m.app, m.user)
		if err := b.Stop(t.Context(), ref, false); err != nil {
			t.Fatal(err)
		}
		mail, err := b.fs.List(t.Context(), JobDir(ref.Dir).Mailbox())
		if err != nil || len(mail) != 1 {
			t.Fatalf("mail %v, %v", mail, err)
		}
		if s := b.mustReport(t, ref).GetState(); s != yarnpb.AppState_RUNNING {
			t.Fatalf("a kind stop killed it: %s", s)
		}
	})
}

// adopt makes a job directory for an application that a test submitted itself.
func (b *Backend) adopt(t *testing.T, app hadoop.AppID, user string) backend.Ref {
	t.Helper()
	p := newPlan(user, 1)
	if err := b.connect(); err != nil {
		t.Fatal(err)
	}
	st := newStore(b.fs, b.Layout)
	dir := b.Layout.Job(p.ID)
	if err := st.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.writeJob(t.Context(), st, dir, submission(p)); err != nil {
		t.Fatal(err)
	}
	if err := storage.PublishBytes(t.Context(), b.fs, dir.App(1), modeData, []byte(app.String())); err != nil {
		t.Fatal(err)
	}
	return backend.Ref{Job: p.ID, Native: app.String(), Dir: string(dir)}
}

// Blobs are sent once, shared, and swept by age, but not from under a job.
func TestBlobs(t *testing.T) {
	b := newClient(t, "alice", "sleep 60")
	if err := b.connect(); err != nil {
		t.Fatal(err)
	}
	st := newStore(b.fs, b.Layout)
	if err := st.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, []byte(t.Name()+rand.Text()), 0o600); err != nil {
		t.Fatal(err)
	}
	first, sent, err := st.putFile(t.Context(), file, modeData)
	if err != nil || !sent || first.Public {
		t.Fatalf("%+v, sent %v, %v", first, sent, err)
	}
	second, sent, err := newStore(b.fs, b.Layout).putFile(t.Context(), file, modeData)
	if err != nil || sent || second != first {
		t.Fatalf("sent twice, or changed: %+v, %+v, %v", first, second, err)
	}
	sha := path.Base(first.Path)
	if n, err := st.sweep(t.Context(), time.Now().Add(-time.Hour)); err != nil || n != 0 {
		t.Fatalf("%d young ones swept, %v", n, err)
	}
	if err := b.fs.SetTimes(t.Context(), st.layout.Used(sha), time.Now().Add(-2*blobAge)); err != nil {
		t.Fatal(err)
	}
	p := newPlan("alice", 1)
	p.Work.Archive = sha
	ref, err := b.Submit(t.Context(), submission(p))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.fs.SetTimes(t.Context(), st.layout.Used(sha), time.Now().Add(-2*blobAge)); err != nil {
		t.Fatal(err)
	}
	if n, err := st.sweep(t.Context(), time.Now().Add(-blobAge)); err != nil || n != 0 {
		t.Fatalf("%d swept from under a job, %v", n, err)
	}
	if err := b.Stop(t.Context(), ref, true); err != nil {
		t.Fatal(err)
	}
	if n, err := st.sweep(t.Context(), time.Now().Add(-blobAge)); err != nil || n != 1 {
		t.Fatalf("%d old ones swept, want 1; %v", n, err)
	}
	if _, err := b.fs.Stat(t.Context(), first.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	program, _, err := st.putFile(t.Context(), file, modeProgram)
	if err != nil || !program.Public {
		t.Errorf("a program in directories that all may pass is not shared: %+v, %v", program, err)
	}
	r, err := b.fs.Open(t.Context(), program.Path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if data, err := io.ReadAll(r); err != nil || !strings.HasPrefix(string(data), t.Name()) {
		t.Errorf("read back %q, %v", data, err)
	}
}
