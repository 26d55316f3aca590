//go:build chaos

package yarn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/test/chaos/record"
)

// journey is one job that goes through its moments under fire.
type journey struct {
	*world
	t     *testing.T
	r     *rand.Rand
	res   *results
	stage string // the directory by which the training is held and judged
	id    string
	app   string

	follower *follower
	filler   string // the job that holds what this one needs, until it is to go on
	frozen   atomic.Int64
	owned    sync.WaitGroup
	life     context.Context // of all that is started here
	end      context.CancelFunc
	touched  bool      // a fault has ended a task by now
	begun    time.Time // the training

	// Of the fault that happens at present.
	moment  string
	victim  plan.TaskID
	hit     bool   // tasks ended that stood on what was lost
	struck  func() // the blow has fallen; what follows is waited for
	release func() // the moment need not be held any longer
}

// The side task shows that there is a gang to gather, since another job has its
// node, and takes its time at the end.
const file = `name: chaos
framework: pytorch
queue: ml
workdir: %s
stop_grace: 4m
env: {CHAOS_DIR: %q, OMP_NUM_THREADS: "1"}
native: {yarn: {%[3]sam: {node_label: %[4]q}, roles: {worker: {node_label: %[5]q}, tensorboard: {node_label: gpu}}}}
roles:
  worker:
    instances: 2
    memory: 768MiB
    command: [%[6]q, train.py]
    on_failure: restart
    restarts: 20
    restart_scope: role
  tensorboard:
    memory: 256MiB
    restarts: 20
    command: |
      trap 'while [ -e %[2]s/hold-end ]; do sleep 0.1; done; exit 0' TERM
      while true; do sleep 0.1; done
`

const filling = `name: filler
queue: ml
workdir: none
native: {yarn: {%sam: {node_label: batch}, node_label: gpu}}
roles: {hold: {memory: 4096MiB, command: "exec sleep 600"}}
`

// layouts are where coordinator and workers stand. The nodes without a label are
// two: what stands there has somewhere to go when one is lost.
var layouts = [][2]string{{"", "batch"}, {"batch", ""}}

// begin submits a job that is to suffer these faults.
func (w *world) begin(t *testing.T, faults []fault, r *rand.Rand, res *results) *journey {
	t.Helper()
	j := &journey{world: w, t: t, r: r, res: res, stage: t.TempDir()}
	j.life, j.end = context.WithCancel(t.Context())
	train, err := filepath.Abs(filepath.Join("..", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	at := layouts[r.IntN(2)]
	if j.has(faults, func(k kind) bool { return k.term }) {
		at = layouts[0]
	} else if j.has(faults, func(k kind) bool { return k.ends }) {
		at = layouts[1]
	}
	write(t, filepath.Join(j.stage, "job.yaml"), fmt.Sprintf(file, train, j.stage, w.keys(), at[0], at[1], *torch))
	write(t, filepath.Join(j.stage, "filler.yaml"), fmt.Sprintf(filling, w.keys()))
	if j.has(faults, func(kind) bool { return true }, gathering, rollCall) {
		j.filler, _ = w.submit(t, filepath.Join(j.stage, "filler.yaml"))
		until(t, "the filler runs", look, func() bool { v, ok := w.view(j.filler); return ok && v.State == "running" })
	}
	j.id, j.app = w.submit(t, filepath.Join(j.stage, "job.yaml"))
	t.Logf("%s %s in %s", j.id, j.app, j.stage)
	j.follower = j.follow()
	return j
}

func (w *world) travel(t *testing.T, faults []fault, r *rand.Rand, res *results) {
	j := w.begin(t, faults, r, res)
	defer j.close()
	for _, moment := range moments {
		mine := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return f.moment != moment })
		j.pass(moment, mine)
	}
	j.finish(faults)
}

// close ends what the journey has started here.
func (j *journey) close() {
	j.end()
	j.thaw()
	j.owned.Wait()
}

func (j *journey) has(faults []fault, like func(kind) bool, at ...string) bool {
	return slices.ContainsFunc(faults, func(f fault) bool {
		return like(f.kind) && (len(at) == 0 || slices.Contains(at, f.moment))
	})
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// hold makes the training stop when it comes to a moment; let lets it go on.
func (j *journey) hold(moment string) { write(j.t, filepath.Join(j.stage, "hold-"+moment), "") }

func (j *journey) let(moment string) {
	for _, what := range []string{"hold-", "at-"} {
		_ = os.Remove(filepath.Join(j.stage, what+moment)) // the mark may never have been made
	}
}

func (j *journey) at(moment string) bool {
	_, err := os.Stat(filepath.Join(j.stage, "at-"+moment))
	return err == nil
}

// pass goes through one moment, which is held open while its faults happen.
func (j *journey) pass(moment string, faults []fault) {
	t := j.t
	for _, f := range faults {
		if f.kind.ready != nil && moment != training {
			f.kind.ready(j)
		}
	}
	switch moment {
	case gathering:
		if j.filler == "" {
			return
		}
		until(t, "the gang waits", look, func() bool { v, ok := j.view(j.id); return ok && v.Term > 0 && len(v.Waiting) > 0 })
		for _, f := range faults {
			j.suffer(f, func() {})
		}
	case rollCall:
		if j.filler == "" {
			return
		}
		if len(faults) > 0 {
			j.freeze()
		}
		if _, said, err := j.muster("stop", "--now", j.filler); err != nil {
			t.Fatalf("stop: %v: %s", err, said)
		}
		for _, f := range faults {
			until(t, "an executor is frozen", 20*time.Millisecond, func() bool { return j.frozen.Load() != 0 })
			until(t, "every task has an executor", look, func() bool { return j.executors() == 3 })
			rest(t.Context(), 500*time.Millisecond) // the others answer
			for _, task := range j.now().Tasks {
				if task.State == "running" || task.State == "ready" {
					t.Errorf("the roll call was over before it could be held open: %s runs", task.Task)
				}
			}
			j.suffer(f, j.thaw)
		}
	case training:
		j.trains(3)
		j.begun = time.Now()
		if v := j.now(); !j.touched && (v.Epoch != 1 || slices.ContainsFunc(v.Tasks, func(t session.TaskView) bool { return t.Incarnation != 1 })) {
			t.Errorf("nothing has touched a task, and it is in epoch %d: %+v", v.Epoch, v.Tasks)
		}
		for _, f := range faults {
			j.suffer(f, func() {})
		}
	case saving:
		for _, f := range faults {
			j.hold("checkpoint")
			until(t, "a checkpoint is half written", 20*time.Millisecond, func() bool { return j.at("checkpoint") })
			j.suffer(f, func() { j.let("checkpoint") })
		}
	case ending:
		if len(faults) > 0 {
			j.hold("end")
			write(t, filepath.Join(j.stage, "end"), "")
			until(t, "only the side task is left", 100*time.Millisecond, func() bool { return j.task(side).State == "stopping" })
			j.suffer(faults[0], func() { j.let("end") })
		}
	case stopping:
		if len(faults) > 0 {
			j.hold("stop")
			if _, said, err := j.muster("stop", j.id); err != nil {
				t.Fatalf("stop: %v: %s", err, said)
			}
			until(t, "a worker saves", 50*time.Millisecond, func() bool { return j.at("stop") })
			j.suffer(faults[0], func() { j.let("stop") })
		}
	}
}

// suffer lets one fault happen and checks what follows. let ends what holds the
// moment open: at once after the blow, or once all is well again.
func (j *journey) suffer(f fault, let func()) {
	t := j.t
	begin := time.Now()
	before := j.now()
	made := len(j.steps())
	// An executor that is frozen for long counts as lost.
	late := j.r.IntN(2) == 0 && !f.kind.ends && f.moment != rollCall
	released := false
	j.release = func() {
		if !released {
			released = true
			let()
		}
	}
	j.struck = func() {
		if !late {
			j.release()
		}
	}
	j.moment, j.victim = f.moment, worker(j.r.IntN(2))
	if f.moment == ending {
		j.victim = side
	}
	f.kind.strike(j, f.moment)
	if f.kind.term {
		until(t, "another coordinator follows", look, func() bool { v, ok := j.view(j.id); return ok && (v.Term > before.Term || v.Outcome != nil) })
	}
	j.release()
	outcome := "untouched"
	switch f.moment {
	case gathering, rollCall:
		if j.touched = j.touched || (f.kind.ends || j.hit) && f.moment == rollCall; j.touched {
			outcome = "restarted"
		}
	case training, saving:
		least := before.Epoch
		if f.kind.ends || j.hit {
			j.touched, outcome, least = true, "restarted", before.Epoch+1
		}
		until(t, "it trains on", 50*time.Millisecond, func() bool {
			s := j.steps()
			return len(s) >= made+3 && s[len(s)-1].Epoch >= least
		})
	case stopping:
		outcome = "stopped"
	}
	took := time.Since(begin)
	if outcome == "untouched" && f.moment != gathering && f.moment != rollCall {
		j.same(before)
	}
	j.hit = false
	j.res.faults++
	j.res.matrix.Count(f.kind.name, f.moment, outcome)
	j.res.slowest[f.kind.name] = max(j.res.slowest[f.kind.name], took)
	if f.moment == training {
		j.res.pause[f.kind.name] = max(j.res.pause[f.kind.name], record.Pause(j.steps(), begin))
	}
	t.Logf("%-28s %-20s %s after %.1f s", f.kind.name, f.moment, outcome, took.Seconds())
}

// same checks that no task was started again.
func (j *journey) same(before session.View) {
	j.t.Helper()
	after := j.now()
	if after.Epoch != before.Epoch {
		j.t.Errorf("it is in epoch %d, and was in %d: no task was to be touched", after.Epoch, before.Epoch)
	}
	for i, task := range after.Tasks {
		if task.Incarnation != before.Tasks[i].Incarnation {
			j.t.Errorf("%s is in incarnation %d, and was in %d: no task was to be touched", task.Task, task.Incarnation, before.Tasks[i].Incarnation)
		}
	}
}

var side = plan.TaskID{Role: "tensorboard"}

func worker(n int) plan.TaskID { return plan.TaskID{Role: "worker", Index: n} }

// now is the job as it is once somebody can be asked.
func (j *journey) now() (v session.View) {
	j.t.Helper()
	until(j.t, "status answers", look, func() (ok bool) { v, ok = j.view(j.id); return ok })
	return v
}

func (j *journey) task(id plan.TaskID) session.TaskView {
	v, _ := j.view(j.id)
	for _, t := range v.Tasks {
		if t.Task == id {
			return t
		}
	}
	return session.TaskView{}
}

func (j *journey) steps() []record.Step { return record.ReadSteps(filepath.Join(j.stage, "steps")) }

// trains waits for some more steps.
func (j *journey) trains(more int) {
	j.t.Helper()
	want := len(j.steps()) + more
	until(j.t, "it trains", 50*time.Millisecond, func() bool { return len(j.steps()) >= want })
}

// freeze stops the first executor that is started, before it can answer a roll
// call, which waits for it then.
func (j *journey) freeze() {
	known := map[int]bool{}
	for _, p := range j.processes(j.app) {
		known[p.pid] = true
	}
	j.owned.Go(func() {
		tick := time.NewTicker(3 * time.Millisecond)
		defer tick.Stop()
		for {
			for _, p := range j.processes(j.app) {
				if p.executor() && !known[p.pid] && syscall.Kill(p.pid, syscall.SIGSTOP) == nil {
					j.frozen.Store(int64(p.pid))
					return
				}
			}
			select {
			case <-tick.C:
			case <-j.life.Done():
				return
			}
		}
	})
}

// executors is in how many containers one runs.
func (j *journey) executors() int {
	all := map[string]bool{}
	for _, p := range j.processes(j.app) {
		if p.executor() {
			all[p.container] = true
		}
	}
	return len(all)
}

func (j *journey) thaw() {
	if pid := int(j.frozen.Load()); pid != 0 {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may be what was killed
	}
}

// finish waits for the job's end and holds it against what is to become of it.
func (j *journey) finish(faults []fault) {
	t := j.t
	if !j.has(faults, func(kind) bool { return true }, ending, stopping) {
		write(t, filepath.Join(j.stage, "end"), "")
	}
	o := j.follower.outcome(j)
	want, status := event.Succeeded, 0
	if j.has(faults, func(kind) bool { return true }, stopping) {
		want, status = event.Stopped, 130
	}
	if o.State != want || o.Status != status {
		t.Errorf("outcome %+v, want %s with %d", o, want, status)
	}
	lost, err := record.Consecutive(j.steps())
	if err != nil {
		t.Errorf("%d steps lost: %v", lost, err)
	}
	j.res.lost += lost
	left := j.left()
	for _, l := range left {
		t.Errorf("left behind: %s", l)
	}
	j.res.left = append(j.res.left, left...)
}
