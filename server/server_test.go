package server_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/local"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/server"
	"github.com/muster-project/muster/spec"
)

var one = plan.Resources{CPUs: 1}

func TestAJobRunsUntilItIsStopped(t *testing.T) {
	w := newWorld(t)
	w.serve()
	c := w.client()
	ref := w.submit(c, job(idA, "digits", 1, one))
	w.awaitStarts(ref.Dir, 1)
	j := w.awaitState(c, idA, "queued")
	if j.Name != "digits" || j.Dir != ref.Dir || !j.Coordinator {
		t.Errorf("job is %+v", j)
	}
	b := local.New(c)
	if s, err := b.Status(t.Context(), ref); err != nil || s.Phase != backend.PhaseRunning {
		t.Errorf("status %+v, %v; want running", s, err)
	}
	for range 2 { // twice is fine
		if err := b.Stop(t.Context(), ref, false); err != nil {
			t.Fatal(err)
		}
	}
	j = w.awaitState(c, idA, "stopped")
	if !strings.HasPrefix(j.Outcome.Text, "stopped by ") || j.Outcome.Text == "stopped by " {
		t.Errorf("outcome %q does not say who stopped it", j.Outcome.Text)
	}
	if err := b.Stop(t.Context(), ref, true); err != nil {
		t.Errorf("stopping what has ended: %v", err)
	}
	if s, err := b.Status(t.Context(), ref); err != nil || s.Phase != backend.PhaseEnded {
		t.Errorf("status %+v, %v; want ended", s, err)
	}
	if err := c.Signal(t.Context(), idA, api.Signal{Signal: "SIGUSR1"}); err == nil || !strings.Contains(err.Error(), "has ended: stopped") {
		t.Errorf("signal to an ended job: %v", err)
	}
	if got := len(starts(ref.Dir)); got != 1 {
		t.Errorf("%d coordinators, want 1", got)
	}
}

func TestSubmittingAgainGivesTheFirstAnswer(t *testing.T) {
	w := newWorld(t)
	w.serve()
	c := w.client()
	first := w.submit(c, job(idA, "digits", 1, one))
	if again := w.submit(c, job(idA, "digits", 1, one)); again != first {
		t.Errorf("second answer %+v, first %+v", again, first)
	}
	w.awaitStarts(first.Dir, 1)
	_, err := c.Submit(t.Context(), backend.Submission{Plan: job(idA, "other", 1, one)})
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeConflict {
		t.Errorf("another job under the same id: %v", err)
	}
	if ref, err := local.New(c).Find(t.Context(), idA); err != nil || ref != first {
		t.Errorf("found %+v, %v", ref, err)
	}
	if _, err := local.New(c).Find(t.Context(), idB); !errors.Is(err, backend.ErrUnknownJob) {
		t.Errorf("a job that nobody submitted: %v", err)
	}
	if got := len(starts(first.Dir)); got != 1 {
		t.Errorf("%d coordinators, want 1", got)
	}
}

func TestTheSubmissionIsForItsOwnerAlone(t *testing.T) {
	w := newWorld(t)
	w.serve()
	ref := w.submit(w.client(), job(idA, "digits", 1, one))
	for _, name := range []string{"", "journal", "mailbox", "endpoint", "slots", "tasks", "checkpoint", "submission.json"} {
		info, err := os.Stat(filepath.Join(ref.Dir, name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	var sub backend.Submission
	readJSON(t, filepath.Join(ref.Dir, "submission.json"), &sub)
	if !slices.Equal(sub.Environ, []string{"A=b"}) || sub.Umask != 0o22 || sub.Plan.User == "" {
		t.Errorf("submission %+v", sub)
	}
}

func TestWhatCannotRunIsRefused(t *testing.T) {
	w := newWorld(t)
	site := filepath.Join(shortDir(t), "site.yaml")
	if err := os.WriteFile(site, []byte("limits: {instances: 4, run: 1h}\nqueues: {dl: {limits: {gpus: 1}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.serve(func(c *server.Config) {
		c.SiteFile = site
	})
	tests := map[string]struct {
		change func(*plan.Plan)
		want   string
	}{
		"no id":                  {func(p *plan.Plan) { p.ID = "../../etc" }, "is not one of muster's"},
		"a way out":              {func(p *plan.Plan) { p.Roles[0].Name = "../x" }, "cannot be the name of a directory"},
		"no role":                {func(p *plan.Plan) { p.Roles = nil }, "it has no role"},
		"a newer plan":           {func(p *plan.Plan) { p.Version = 99 }, "version 99"},
		"over the site's limit":  {func(p *plan.Plan) { p.Roles[0].Instances.Max = 5 }, "instances: 5 asked, the site allows "},
		"without an end":         {func(p *plan.Plan) { p.Timeout.Run = 0 }, "timeout.run: no end asked"},
		"over the queue's limit": {func(p *plan.Plan) { p.Queue = "dl"; p.Roles[0].Resources.GPUs = 2 }, `gpus: 2 asked, queue "dl" allows `},
		"no plan at all":         {nil, "it has no plan"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var sub backend.Submission
			if tc.change != nil {
				sub.Plan = job(idA, "digits", 1, one)
				sub.Plan.Timeout.Run = spec.Duration(time.Minute)
				tc.change(sub.Plan)
			}
			_, err := w.client().Submit(t.Context(), sub)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v; want %q", err, tc.want)
			}
		})
	}
	if jobs, err := w.client().Jobs(t.Context(), false); err != nil || len(jobs) != 0 {
		t.Errorf("%d jobs, %v; want none", len(jobs), err)
	}
}

func TestACoordinatorThatIsKilledIsStartedAgain(t *testing.T) {
	w := newWorld(t)
	w.serve()
	c := w.client()
	ref := w.submit(c, job(idA, "digits", 1, one))
	for n := 1; n <= 2; n++ {
		pids := w.awaitStarts(ref.Dir, n)
		if err := syscall.Kill(pids[n-1], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	w.awaitStarts(ref.Dir, 3)
}

func TestACoordinatorThatCannotLiveEndsItsJob(t *testing.T) {
	w := newWorld(t)
	w.serve()
	c := w.client()
	ref := w.submit(c, job(idA, "crash", 1, one))
	j := w.awaitState(c, idA, "failed")
	if want := "the coordinator ended 3 times in a row, last with: exit status 1"; j.Outcome.Text != want || j.Outcome.Class != event.ClassInternal {
		t.Errorf("outcome %+v, want %q", j.Outcome, want)
	}
	if got := len(starts(ref.Dir)); got != 3 {
		t.Errorf("%d coordinators, want 3", got)
	}
}

func TestAServerThatIsKilledEndsNothing(t *testing.T) {
	w := newWorld(t)
	first := w.spawn("0s", false)
	c := w.client()
	ref := w.submit(c, job(idA, "digits", 1, one))
	pid := w.awaitStarts(ref.Dir, 1)[0]
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Wait()
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("coordinator %d: %v", pid, err)
	}
	w.spawn("0s", false)
	if j, err := c.Job(t.Context(), idA); err != nil || !j.Coordinator {
		t.Errorf("job %+v, %v", j, err)
	}
	// It is watched again, though it is no child of this server.
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := w.awaitStarts(ref.Dir, 2); len(got) != 2 {
		t.Errorf("coordinators %v, want exactly one more", got)
	}
}

func TestAServerTakesUpJobsWithoutACoordinator(t *testing.T) {
	w := newWorld(t)
	stop := w.serve()
	ref := w.submit(w.client(), job(idA, "digits", 1, one))
	pid := w.awaitStarts(ref.Dir, 1)[0]
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.serve()
	w.awaitStarts(ref.Dir, 2)
}

func TestAStateDirectoryHasOneServer(t *testing.T) {
	w := newWorld(t)
	starter := &api.Starter{Socket: api.Socket(w.state), State: w.state, Argv: self("as-server", w.state, w.claims, "0s", "false")}
	var all sync.WaitGroup
	pids := make([]int, 8)
	for i := range pids {
		all.Go(func() {
			own := &api.Starter{Socket: starter.Socket, State: starter.State, Argv: starter.Argv}
			if err := own.Ensure(t.Context()); err != nil {
				t.Errorf("ensure: %v", err)
				return
			}
			h, err := w.client().Hello(t.Context())
			if err != nil {
				t.Errorf("hello: %v", err)
			}
			pids[i] = h.PID
		})
	}
	all.Wait()
	t.Cleanup(func() { syscall.Kill(pids[0], syscall.SIGKILL); syscall.Wait4(pids[0], nil, 0, nil) })
	for _, pid := range pids {
		if pid != pids[0] || pid == 0 {
			t.Fatalf("servers %v, want one", pids)
		}
	}
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	w := newWorld(t)
	starter := &api.Starter{Socket: api.Socket(w.state), State: w.state, Argv: self("as-server", w.state, w.claims, "never", "false")}
	err := starter.Ensure(t.Context())
	if err == nil || !strings.Contains(err.Error(), `invalid duration "never"`) {
		t.Errorf("%v; want what the server said", err)
	}
}

func TestTheServerEndsWhenItIsIdle(t *testing.T) {
	w := newWorld(t)
	cmd := w.spawn("200ms", false)
	c := w.client()
	ref := w.submit(c, job(idA, "digits", 1, one))
	w.awaitStarts(ref.Dir, 1)
	busy := time.NewTimer(500 * time.Millisecond)
	<-busy.C
	if _, err := c.Hello(t.Context()); err != nil {
		t.Fatalf("it ended while a job runs: %v", err)
	}
	if err := c.Stop(t.Context(), idA, api.Stop{}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("server: %v", err)
	}
	if _, err := c.Hello(t.Context()); !api.Away(err) {
		t.Errorf("it still answers: %v", err)
	}
}

func TestFollowedEventsKeepTheServerAndEndWithTheJob(t *testing.T) {
	w := newWorld(t)
	w.serve()
	c := w.client()
	ref := w.submit(c, job(idA, "digits", 1, one))
	w.awaitStarts(ref.Dir, 1)
	var types []string
	for line, err := range c.Events(t.Context(), idA, 1, true) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := event.Unmarshal(line)
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, e.Body.Type())
		if e.Body.Type() == "job.submitted" {
			if err := c.Stop(t.Context(), idA, api.Stop{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := []string{"term.opened", "job.submitted", "job.finished"}; !slices.Equal(types, want) {
		t.Errorf("events %v, want %v", types, want)
	}
}

func TestASocketMayHaveALongPath(t *testing.T) {
	dir := shortDir(t)
	long := filepath.Join(dir, strings.Repeat("a-long-name/", 12))
	w := &world{t: t, state: filepath.Join(long, "state"), claims: filepath.Join(dir, "claims")}
	t.Cleanup(w.killAll)
	w.serve()
	if len(api.Socket(w.state)) < 120 {
		t.Fatalf("the path is short: %s", api.Socket(w.state))
	}
	ref := w.submit(w.client(), job(idA, "digits", 1, one))
	w.awaitStarts(ref.Dir, 1)
}

func TestBlobsAreKeptUnderTheirHash(t *testing.T) {
	w := newWorld(t)
	w.serve()
	c := w.client()
	const sha = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // of "hello"
	put := func(sha string) error {
		return c.PutBlob(t.Context(), sha, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("hello")), nil })
	}
	if has, err := c.HasBlob(t.Context(), sha); has || err != nil {
		t.Fatalf("%v, %v before it was put", has, err)
	}
	for range 2 {
		if err := put(sha); err != nil {
			t.Fatal(err)
		}
	}
	if has, err := c.HasBlob(t.Context(), sha); !has || err != nil {
		t.Errorf("%v, %v after it was put", has, err)
	}
	if data, err := os.ReadFile(filepath.Join(w.state, "blobs", sha)); string(data) != "hello" {
		t.Errorf("stored %q, %v", data, err)
	}
	other := strings.Repeat("0", 64)
	if err := put(other); err == nil || !strings.Contains(err.Error(), "its content has the hash "+sha) {
		t.Errorf("a blob under a false name: %v", err)
	}
	if has, _ := c.HasBlob(t.Context(), other); has {
		t.Error("it was stored all the same")
	}
	if err := put("../../x"); err == nil {
		t.Error("a path was taken for a hash")
	}
	if names, _ := filepath.Glob(filepath.Join(w.state, "blobs", ".new-*")); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestAnUnwritableStateDirectoryIsToldAndHarmsNoJob(t *testing.T) {
	w := newWorld(t)
	w.serve()
	c := w.client()
	ref := w.submit(c, job(idA, "digits", 1, one))
	w.awaitStarts(ref.Dir, 1)
	moved := filepath.Join(w.state, "moved")
	if err := os.Rename(filepath.Join(w.state, "jobs"), moved); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.state, "jobs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := c.Submit(t.Context(), backend.Submission{Plan: job(idB, "digits", 1, one)})
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeStorage || !strings.Contains(e.Text, idB+": cannot be written: not a directory") || e.Hint() == "" {
		t.Errorf("%v; want what cannot be written and why", err)
	}
	if err := errors.Join(os.Remove(filepath.Join(w.state, "jobs")), os.Rename(moved, filepath.Join(w.state, "jobs"))); err != nil {
		t.Fatal(err)
	}
	if got := len(starts(ref.Dir)); got != 1 {
		t.Errorf("%d coordinators, want the first one alone", got)
	}
	w.submit(c, job(idB, "digits", 1, one))
}

func TestASweptSocketComesBack(t *testing.T) {
	w := newWorld(t)
	w.serve(func(c *server.Config) { c.Idle = time.Second })
	c := w.client()
	if err := os.Remove(api.Socket(w.state)); err != nil {
		t.Fatal(err)
	}
	c.Close() // its open connection would go on
	eventually(t, "the server answers again", func() bool {
		_, err := os.Lstat(api.Socket(w.state))
		if err != nil {
			return false
		}
		_, err = c.Hello(t.Context())
		return err == nil
	})
}

func TestAServerOfAnotherVersion(t *testing.T) {
	for name, busy := range map[string]bool{"is replaced when it has nothing to do": false, "goes on while it has jobs": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			old := w.spawn("0s", false)
			if busy {
				w.awaitStarts(w.submit(w.client(), job(idA, "digits", 1, one)).Dir, 1)
			}
			done := make(chan struct{})
			go func() { old.Wait(); close(done) }()
			starter := &api.Starter{Socket: api.Socket(w.state), State: w.state, Argv: self("as-server", w.state, w.claims, "0s", "false")}
			c, h, err := api.Connect(t.Context(), starter, "newer")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if replaced := h.PID != old.Process.Pid; replaced == busy {
				t.Errorf("server %d answers, the old one was %d", h.PID, old.Process.Pid)
			}
			syscall.Kill(h.PID, syscall.SIGKILL)
			<-done
			if !busy {
				syscall.Wait4(h.PID, nil, 0, nil)
			}
		})
	}
}
