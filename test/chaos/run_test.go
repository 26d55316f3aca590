//go:build chaos

package chaos

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/test/chaos/record"
)

// run does one fault to one job and says what became of the job.
func (g *ground) run(t *testing.T, f fault) string {
	j := g.submit(t, f)
	victim := plan.TaskID{Role: "worker", Index: f.rank}
	if f.moment == "while sealing" {
		victim = plan.TaskID{Role: "tensorboard"}
	}
	after := j.reach(f.moment, victim)
	j.strike(f.part, victim)
	after()
	out, err := g.muster("wait", j.id)
	t.Logf("wait: %v\n%s", err, out)
	result := j.judge(f, victim)
	j.until("nothing is left of the job", func() bool { return len(j.left()) == 0 })
	return result
}

// reach waits for a moment and holds it open; what it returns lets go.
func (j *job) reach(moment string, victim plan.TaskID) func() {
	j.t.Helper()
	free := func() {}
	j.until("the victim runs", func() bool { s := j.task(victim.String()).State; return s == "running" || s == "ready" })
	switch moment {
	case "before the roll call":
		j.until("a roll call is ahead", func() bool { return j.restarts("sidecar") == 3 })
	case "during it": // an executor that sleeps does not answer
		j.until("a roll call is ahead", func() bool { return j.restarts("sidecar") == 3 })
		x := j.executor(plan.TaskID{Role: "sidecar"})
		kill(j.t, x, syscall.SIGSTOP)
		free = func() { kill(j.t, x, syscall.SIGCONT) }
		j.until("the roll call is open", func() bool { return j.task("sidecar/0").State == "called" })
	case "in mid-training":
		j.until("training is under way", func() bool { return len(j.steps()) >= 10 })
	case "while stopping":
		j.until("training is under way", func() bool { return len(j.steps()) >= 5 })
		if out, err := j.muster("stop", j.id); err != nil {
			j.t.Fatalf("stop: %v: %s", err, out)
		}
		j.until("the victim is being stopped", func() bool { return j.task(victim.String()).State == "stopping" })
	case "while sealing":
		j.until("the verdict is out", func() bool { return j.task(victim.String()).State == "stopping" })
	}
	return free
}

// strike kills a part with SIGKILL.
func (j *job) strike(part string, victim plan.TaskID) {
	j.t.Helper()
	var pid int
	switch part {
	case "server":
		pid = j.server()
	case "coordinator":
		text, err := os.ReadFile(filepath.Join(j.dir, "coordinator.lock"))
		if err != nil {
			j.t.Fatal(err)
		}
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	case "executor":
		pid = j.executor(victim)
	case "guardian":
		pid = j.guardian(victim)
	case "task":
		pid = j.task(victim.String()).PIDs[0]
	}
	if pid <= 1 {
		j.t.Fatalf("%s: no process found", part)
	}
	kill(j.t, pid, syscall.SIGKILL)
}

// server finds the server of this ground.
func (j *job) server() int {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range paths {
		cmd, _ := os.ReadFile(p)
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "environ"))
		args := strings.Split(string(cmd), "\x00")
		if len(args) > 1 && args[1] == "serve" && strings.Contains(string(env), "MUSTER_HOME="+j.home+"\x00") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(p)))
			return pid
		}
	}
	return 0
}

func (j *job) executor(id plan.TaskID) int {
	slot := j.task(id.String()).Slot
	for _, e := range j.events() {
		if b, ok := e.Body.(*event.ExecutorStarted); ok && b.Slot == slot && b.Native != nil {
			var native struct{ PID int }
			if err := json.Unmarshal(b.Native, &native); err != nil {
				j.t.Fatal(err)
			}
			return native.PID
		}
	}
	return 0
}

// guardian is the parent of a task's processes.
func (j *job) guardian(id plan.TaskID) int {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(j.task(id.String()).PIDs[0]), "stat"))
	if err != nil {
		j.t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:]))
	pid, _ := strconv.Atoi(fields[1])
	return pid
}

// judge holds the end of a job against what its policy says.
func (j *job) judge(f fault, victim plan.TaskID) string {
	j.t.Helper()
	v := j.view()
	o := v.Outcome
	if o == nil {
		j.t.Fatalf("the job has no outcome: %+v", v)
	}
	ours := f.part == "server" || f.part == "coordinator"
	switch {
	case f.moment == "while stopping":
		if o.State != event.Stopped || o.Status != 130 {
			j.t.Errorf("%+v, want stopped with 130", o)
		}
		return "stopped"
	case ours || f.moment == "while sealing":
		j.succeeded(o, 1)
		if n := j.task("worker/0").Incarnation; n != 1 {
			j.t.Errorf("worker/0 is in incarnation %d: training was to go on untouched", n)
		}
		if f.part == "coordinator" && v.Term < 2 {
			j.t.Errorf("term %d, want a second coordinator", v.Term)
		}
		return "survived"
	case f.survives:
		j.succeeded(o, 2)
		return "restarted"
	}
	want := map[string]event.Class{"executor": event.ClassLost, "guardian": event.ClassLost, "task": event.ClassSignal}[f.part]
	if o.State != event.Failed || o.Task != victim || o.Class != want {
		j.t.Errorf("%+v, want %s of %s", o, want, victim)
	}
	if f.part != "task" && !strings.Contains(o.Text, f.part) {
		j.t.Errorf("verdict %q does not name the %s", o.Text, f.part)
	}
	return "named"
}

// succeeded checks that all steps were made, and consecutively.
func (j *job) succeeded(o *event.Outcome, epochs int) {
	j.t.Helper()
	if o.State != event.Succeeded {
		j.t.Fatalf("%+v, want success", o)
	}
	steps := j.steps()
	if _, err := record.Consecutive(steps); err != nil {
		j.t.Fatalf("%v: %v", err, steps)
	}
	seen := map[int]bool{}
	for _, s := range steps {
		seen[s.Epoch] = true
	}
	if len(steps) == 0 || steps[len(steps)-1].Number != 30 {
		j.t.Fatalf("training did not come to its end: %v", steps)
	}
	if epochs == 1 && len(seen) != 1 {
		j.t.Errorf("training was started again: epochs %v", seen)
	}
}
