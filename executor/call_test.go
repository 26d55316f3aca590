package executor

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/wire"
)

// pair is two tasks of a job, each with an executor of its own; the first may
// reach both, the second the first.
type pair struct {
	t       *testing.T
	job     *job
	desks   [2]*desk
	lives   [2]*life
	context [2]Context
}

var tasks = [2]plan.TaskID{{Role: "worker", Index: 0}, {Role: "worker", Index: 1}}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{t: t, job: newJob(t)}
	for i, task := range tasks {
		p.desks[i] = p.job.coordinator(1, false)
		p.context[i] = p.job.context(p.desks[i], task)
		p.context[i].Root = filepath.Join(p.job.dir, "tasks", task.Dir())
	}
	p.lives[0] = live(t, p.context[0])
	return p
}

// peers is whom both may reach.
func (p *pair) peers() map[string]plan.Peer {
	p.t.Helper()
	found := map[string]plan.Peer{}
	for i, task := range tasks {
		found[task.Dir()] = plan.Peer{Task: task, Incarnation: 1, Control: p.desks[i].hello(0).Control}
	}
	return found
}

// play runs a script in the first task while the second one waits as told.
func (p *pair) play(script, waits string) {
	p.t.Helper()
	p.desks[1].play(1, p.launch(waits))
	p.desks[0].play(1, p.launch(script))
}

// launch is one of a script that finds the agent in $agent.
func (p *pair) launch(script string) plan.Launch {
	l := shell("agent() { ${muster.agent} \"$@\"; }\n" + script)
	l.Env = map[string]string{"CUDA_VISIBLE_DEVICES": "overruled", "GREETING": "good day"}
	l.Peers = p.peers()
	return l
}

func (p *pair) file(i int, name string) string { return filepath.Join(p.context[i].Root, "1", name) }

const forEver = "exec sleep 1000"

func TestACommandRunsInTheOtherTask(t *testing.T) {
	p := newPair(t)
	p.context[1].Devices, p.context[1].Resources.GPUs = []string{"7"}, 1
	p.lives[1] = live(t, p.context[1])
	p.play(`echo in | agent -x -o Some=thing root@worker-1 'read x; echo "$x $MUSTER_DIR $CUDA_VISIBLE_DEVICES $GREETING"; pwd;' 'echo "$0" err >&2; exit 5'; echo status $?`, forEver)
	if x := wait(p.desks[0], exitOf(1)).Exit; x.Status != 0 {
		t.Errorf("exit %+v", x)
	}
	dir := filepath.Join(p.context[1].Root, "1")
	want := fmt.Sprintf("in %s 7 good day\n%s\nstatus 5\n", dir, filepath.Join(dir, "work"))
	if diff := cmp.Diff(want, read(t, p.file(0, "logs/0.out"))); diff != "" {
		t.Error(diff)
	}
	if got := read(t, p.file(0, "logs/0.err")); got != "/bin/sh err\n" {
		t.Errorf("standard error: %q", got)
	}
}

func TestMuchGoesThroughACommandInTheOtherTask(t *testing.T) {
	p := newPair(t)
	p.lives[1] = live(t, p.context[1])
	p.play(`head -c 20000000 /dev/zero | agent worker-1 cat | wc -c`, forEver)
	wait(p.desks[0], exitOf(1))
	if got := strings.TrimSpace(read(t, p.file(0, "logs/0.out"))); got != "20000000" {
		t.Errorf("%s bytes came back; %s", got, read(t, p.file(0, "logs/0.err")))
	}
}

func TestACommandThatCannotRunIsTold(t *testing.T) {
	p := newPair(t)
	p.lives[1] = live(t, p.context[1])
	p.play(`agent worker-1 no-such-program; echo $?; agent worker-7 true; echo $?; agent worker-1; echo $?; unset MUSTER_DIR; agent worker-1 true; echo $?`, forEver)
	wait(p.desks[0], exitOf(1))
	if got := read(t, p.file(0, "logs/0.out")); got != "127\n255\n64\n255\n" {
		t.Errorf("statuses %q", got)
	}
	told := read(t, p.file(0, "logs/0.err"))
	for _, want := range []string{
		"no-such-program: not found", "worker-7: call refused: worker-7: no such task; this one reaches worker-0, worker-1",
		"agent: write the name of a task and a command", "worker-1: MUSTER_DIR: not set: other tasks are reached from inside a task only",
	} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is missing in:\n%s", want, told)
		}
	}
}

// The first task runs before the second does: its call waits for it.
func TestACallWaitsUntilTheOtherTaskRuns(t *testing.T) {
	p := newPair(t)
	p.lives[1] = live(t, p.context[1])
	p.desks[1].send(wire.Directive{Prepare: &wire.Prepare{Incarnation: 1, Epoch: 1}})
	wait(p.desks[1], registered(1))
	p.desks[0].play(1, p.launch(`agent worker-1 'echo $MUSTER_DIR' & wait %1`))
	eventually(t, "the call", func() bool { return strings.Contains(p.lives[1].log.String(), "call waits") })
	p.desks[1].send(wire.Directive{Start: &wire.Start{Incarnation: 1, Epoch: 1, Launch: p.launch(forEver)}})
	wait(p.desks[0], exitOf(1))
	if got := read(t, p.file(0, "logs/0.out")); got != filepath.Join(p.context[1].Root, "1")+"\n" {
		t.Errorf("the command printed %q", got)
	}
}

func TestATaskThatAwaitsAnotherEndsAsItDid(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		status int
		told   string
	}{
		"well":  {"exit 0", 0, ""},
		"badly": {"exit 3", 3, "worker-0: ended with status 3: this task ends with it\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.lives[1] = live(t, p.context[1])
			p.play("read line <$MUSTER_DIR/go; "+tc.script, `echo up >$MUSTER_READY_FILE; exec ${muster.agent} --await worker-0`)
			wait(p.desks[1], ready(1))
			if err := syscall.Mkfifo(p.file(0, "go"), 0o600); err != nil {
				t.Fatal(err)
			}
			// The first one could not open it and has ended; or it will be told now.
			f, err := os.OpenFile(p.file(0, "go"), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			fmt.Fprintln(f, "go")
			x := wait(p.desks[1], exitOf(1)).Exit
			if x.Status != tc.status || x.Symptom != (tc.status != 0) {
				t.Errorf("exit %+v", x)
			}
			if got := read(t, p.file(1, "logs/0.err")); got != tc.told {
				t.Errorf("told %q", got)
			}
		})
	}
}

func TestNothingIsLeftOfACommandWhoseCallerIsKilled(t *testing.T) {
	p := newPair(t)
	p.lives[1] = live(t, p.context[1])
	// The ranks below a daemon of MPI have groups of their own.
	p.play(`${muster.agent} worker-1 'set -m; trap "" TERM; sleep 1001 & echo $! >$MUSTER_DIR/pid; wait' & echo $! >$MUSTER_DIR/agent.pid; wait; exec sleep 1005`, forEver)
	pid := p.pid(p.file(1, "pid"))
	if err := syscall.Kill(p.pid(p.file(0, "agent.pid")), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the command", func() bool { return !alive(pid) })
	if len(all(p.desks[1], exitOf(1))) != 0 {
		t.Error("the other task ended with the command")
	}
}

func TestNothingIsLeftOfACommandWhenItsTaskIsStopped(t *testing.T) {
	p := newPair(t)
	p.lives[1] = live(t, p.context[1])
	p.play(`agent worker-1 'trap "echo saved; exit 0" TERM; setsid sleep 1002 & echo $! >$MUSTER_DIR/pid; echo $$ >$MUSTER_DIR/leader; while :; do sleep 0.01; done'; echo status $?`, forEver)
	pid, leader := p.pid(p.file(1, "pid")), p.pid(p.file(1, "leader"))
	p.desks[1].send(wire.Directive{Stop: &wire.Stop{Incarnation: 1, Reason: "test"}})
	if x := wait(p.desks[1], exitOf(1)).Exit; !x.Stopped {
		t.Errorf("exit %+v", x)
	}
	if alive(pid) || alive(leader) {
		t.Error("something of the command lives")
	}
	wait(p.desks[0], exitOf(1))
	if got := read(t, p.file(0, "logs/0.out")); got != "saved\nstatus 0\n" {
		t.Errorf("the caller saw %q", got)
	}
}

// The executor of the other task is killed outright: its guardian ends what ran
// there, and the caller learns that the command is gone.
func TestNothingIsLeftOfACommandWhenItsExecutorIsKilled(t *testing.T) {
	p := newPair(t)
	text, err := json.Marshal(p.context[1])
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(p.job.dir, "start.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	argv := self(t, "run", "--context", file)
	cmd := exec.Command(argv[0], argv[1:]...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.play(`agent worker-1 'setsid sleep 1003 & echo $! >$MUSTER_DIR/pid; exec sleep 1004'; echo status $?`, forEver)
	pid := p.pid(p.file(1, "pid"))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed: what else
	eventually(t, "the end of the command", func() bool { return !alive(pid) })
	wait(p.desks[0], exitOf(1))
	if got := read(t, p.file(0, "logs/0.out")); got != "status 255\n" {
		t.Errorf("the caller saw %q", got)
	}
	if got := read(t, p.file(0, "logs/0.err")); !strings.Contains(got, "worker-1: call is torn") {
		t.Errorf("the caller was told %q", got)
	}
}

func TestASignalToTheAgentReachesTheCommand(t *testing.T) {
	p := newPair(t)
	p.lives[1] = live(t, p.context[1])
	p.play(`${muster.agent} worker-1 'trap "echo caught; exit 9" USR1; echo >$MUSTER_DIR/up; while :; do sleep 0.01; done' & echo $! >$MUSTER_DIR/agent.pid; wait %1; echo status $?`, forEver)
	agent := p.pid(p.file(0, "agent.pid"))
	eventually(t, "the command", func() bool { _, err := os.Stat(p.file(1, "up")); return err == nil })
	if err := syscall.Kill(agent, syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	wait(p.desks[0], exitOf(1))
	if got := read(t, p.file(0, "logs/0.out")); got != "caught\nstatus 9\n" {
		t.Errorf("the caller saw %q", got)
	}
}

// A coordinator calls too, for people; without a number it means what runs.
func TestACoordinatorCallsWhatRuns(t *testing.T) {
	p := newPair(t)
	d := p.desks[0]
	conf, err := p.job.auth.Coordinator()
	if err != nil {
		t.Fatal(err)
	}
	call := func(c wire.Call) (event.Exit, string, error) {
		s, err := wire.DialCall(t.Context(), d.hello(0).Control, conf, c)
		if err != nil {
			t.Fatal(err)
		}
		var out buffer
		x, err := s.Attach(t.Context(), nil, &out, &out, nil)
		return x, out.String(), err
	}
	if _, _, err := call(wire.Call{Argv: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "worker/0: incarnation 0 is not here") {
		t.Errorf("nothing runs, and the call says %v", err)
	}
	d.play(1, shell(forEver))
	x, out, err := call(wire.Call{Argv: []string{"sh", "-c", "echo $EXTRA; kill -9 $$"}, Env: map[string]string{"EXTRA": "more"}})
	if err != nil || x.Signal != "SIGKILL" || x.Status != 137 || out != "more\n" {
		t.Errorf("%+v, %q, %v", x, out, err)
	}
	d.send(wire.Directive{Stop: &wire.Stop{Incarnation: 1}})
	wait(d, exitOf(1))
	if x, _, err := call(wire.Call{}); err != nil || !x.Stopped {
		t.Errorf("the wait for what has ended: %+v, %v", x, err)
	}
	if _, _, err := call(wire.Call{Argv: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "worker/0: incarnation 1 has ended") {
		t.Errorf("a command after the end: %v", err)
	}
	if _, _, err := call(wire.Call{Incarnation: 2}); err == nil || !strings.Contains(err.Error(), "incarnation 2 is not here") {
		t.Errorf("the wait for what never began: %v", err)
	}
}

// pid waits for one in a file.
func (p *pair) pid(file string) int {
	p.t.Helper()
	pid := 0
	eventually(p.t, "pid in "+file, func() bool {
		text := read(p.t, file)
		n, err := strconv.Atoi(strings.TrimSpace(text))
		pid = n
		return err == nil && strings.HasSuffix(text, "\n")
	})
	return pid
}

func TestTheNameIsFoundBehindOptionsOfSSH(t *testing.T) {
	for _, tc := range []struct {
		args, name, command string
	}{
		{"worker-1 orted -mca ess env", "worker-1", "orted -mca ess env"},
		{"-x worker-1 hydra_pmi_proxy --control-port a:1", "worker-1", "hydra_pmi_proxy --control-port a:1"},
		{"-q -o StrictHostKeyChecking=no -p 22 me@worker-1 -- ls -l", "worker-1", "ls -l"},
		{"-oBatchMode=yes -- worker-1 true", "worker-1", "true"},
		{"worker-1 -l you true", "worker-1", "true"},
		{"worker-1", "worker-1", ""},
		{"-l", "", ""},
	} {
		name, command := destination(strings.Fields(tc.args))
		if name != tc.name || strings.Join(command, " ") != tc.command {
			t.Errorf("%s: %q, %q", tc.args, name, command)
		}
	}
}
