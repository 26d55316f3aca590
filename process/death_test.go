package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// family is a task whose processes are hard to find: a child in the group, one
// in a session of its own, and that one's child in yet another. Each leaves its
// pid in a file.
const family = `
sleep 300 & echo $! > child
setsid bash -c 'echo $$ > left; setsid bash -c "echo \$\$ > daemon; exec sleep 300" & wait' &
while [ ! -s daemon ]; do sleep 0.05; done
echo $$ > main
wait`

var members = []string{"child", "left", "daemon", "main"}

func familyPIDs(t *testing.T, dir string) []int {
	t.Helper()
	var pids []int
	for _, name := range members {
		pids = append(pids, pidIn(t, filepath.Join(dir, name)))
	}
	return pids
}

// locked is a file with a lock, as an executor's claim is.
func locked(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "claim"))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	return f
}

// free says whether nobody holds the lock any more.
func free(t *testing.T, path string) bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

func TestTheGuardianIsKilled(t *testing.T) {
	lock := locked(t)
	s := task(t, family)
	s.Hold = []*os.File{lock}
	s.Limits.Watch, s.Limits.Cgroup = false, testCgroup()
	tree := begin(t, s)
	lock.Close()
	pids := familyPIDs(t, s.Procs[0].Dir)
	if free(t, lock.Name()) {
		t.Error("the claim was let go while the task ran")
	}
	if err := syscall.Kill(tree.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	got := result(t, tree)
	if want := "guardian ended: signal: killed"; got.Lost != want {
		t.Errorf("Lost = %q, want %q", got.Lost, want)
	}
	if got.Procs[0].PID != tree.PIDs()[0] || got.Procs[0].Signal != syscall.SIGKILL || len(got.Left) > 0 {
		t.Errorf("got %+v", got)
	}
	for i, pid := range pids {
		if lives(pid) {
			t.Errorf("%s (%d) still lives", members[i], pid)
		}
	}
	for _, dir := range tree.cgroups {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is left", dir)
		}
	}
	if !free(t, lock.Name()) {
		t.Error("the claim is still held")
	}
}

func TestAnotherTreeIsNoInheritance(t *testing.T) {
	s := task(t, family)
	other := begin(t, s)
	pids := familyPIDs(t, s.Procs[0].Dir)
	helper := exec.Command("sleep", "300") // of the executor, in its session
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	tree := begin(t, task(t, "sleep 300"))
	syscall.Kill(tree.cmd.Process.Pid, syscall.SIGKILL)
	if got := result(t, tree); got.Lost == "" {
		t.Errorf("got %+v", got)
	}
	for _, pid := range append(pids, helper.Process.Pid) {
		if !lives(pid) {
			t.Errorf("%d was taken along", pid)
		}
	}
	other.Stop(0, time.Second, false)
	result(t, other)
	helper.Process.Kill()
	if err := helper.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("the helper's end was stolen: %v", err)
	}
}

// executor runs the family in the directory of its first argument until it is
// killed.
func executor() int {
	dir := os.Args[2]
	path, err := os.Executable()
	if err != nil {
		return 1
	}
	if err := Subreaper(); err != nil {
		return 1
	}
	tree, err := Start(context.Background(), Spec{
		Guardian: []string{path, "guardian"},
		Limits:   Limits{Cgroup: os.Args[3]},
		Procs: []Proc{{
			Argv: []string{"bash", "-c", family}, Env: []string{"PATH=" + standardPath, "MUSTER_DIR=" + dir + "/tasks/worker-1/1"},
			Dir: dir, Stdout: filepath.Join(dir, "out"), Stderr: filepath.Join(dir, "out"),
		}},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stdout, tree.cmd.Process.Pid, strings.Join(tree.cgroups, " "))
	<-tree.Done()
	return 0
}

// anExecutor starts one with a family, and gives the pids of the family and of
// its guardian, and the cgroups.
func anExecutor(t *testing.T, dir, cgroup string) (cmd *exec.Cmd, pids []int, guard int, cgroups []string) {
	t.Helper()
	cmd = exec.Command(self(t), "executor", dir, cgroup)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids = familyPIDs(t, dir)
	buf := make([]byte, 4096)
	n, err := out.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Sscan(string(buf[:n]), &guard)
	return cmd, pids, guard, strings.Fields(string(buf[:n]))[1:]
}

// Executor and guardian survive each other, but not a kill of both at once. What
// the slot is known by finds the daemon that nobody ended.
func TestBothWhoCouldEndItAreKilled(t *testing.T) {
	for name, left := range map[string]func(dir, cgroup string) Left{
		"found by its cgroup":      func(_, cgroup string) Left { return Left{Cgroup: cgroup} },
		"found by its environment": func(dir, _ string) Left { return Left{Environ: "MUSTER_DIR=" + dir + "/tasks/worker-1/"} },
	} {
		t.Run(name, func(t *testing.T) {
			dir, cgroup := t.TempDir(), testCgroup()+"/both"
			l := left(dir, cgroup)
			cmd, pids, guard, cgroups := anExecutor(t, dir, cgroup)
			if l.Cgroup != "" && len(cgroups) == 0 {
				l.Environ = "MUSTER_DIR=" + dir + "/tasks/worker-1/" // no cgroups can be made here
			}
			stranger := exec.Command("sleep", "300")
			stranger.Env = []string{"MUSTER_DIR=" + dir + "/tasks/worker-11/1"}
			if err := stranger.Start(); err != nil {
				t.Fatal(err)
			}
			defer stranger.Wait()
			defer stranger.Process.Kill()
			// Stopped first, or the one that lives a moment longer would act.
			for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
				for _, pid := range []int{guard, cmd.Process.Pid} {
					if err := syscall.Kill(pid, sig); err != nil {
						t.Fatal(err)
					}
				}
			}
			cmd.Wait()
			if daemon := pidIn(t, filepath.Join(dir, "daemon")); !lives(daemon) {
				t.Fatal("the daemon is dead already: the test shows nothing")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if rest := l.End(ctx); rest != nil {
				t.Errorf("%v are left", rest)
			}
			if slices.ContainsFunc(pids, lives) {
				t.Error("one of the family lives")
			}
			if !lives(stranger.Process.Pid) {
				t.Error("another slot's process was killed")
			}
			for _, dir := range cgroups {
				if _, err := os.Stat(dir); err == nil && l.Cgroup != "" {
					t.Errorf("%s is left", dir)
				}
			}
			Left{Cgroup: cgroup}.End(ctx)
			for _, pid := range append(pids, guard) {
				syscall.Wait4(pid, nil, 0, nil) // they came to this process, a subreaper
			}
		})
	}
}

func TestTheExecutorIsKilled(t *testing.T) {
	for name, group := range map[string]bool{"alone": false, "with its group, as resource managers do": true} {
		t.Run(name, func(t *testing.T) {
			cmd, pids, guard, cgroups := anExecutor(t, t.TempDir(), testCgroup())
			victim := cmd.Process.Pid
			if group {
				victim = -victim
			}
			if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			eventually(t, "the end of all", func() bool {
				return !slices.ContainsFunc(append(pids, guard), lives)
			})
			for _, dir := range cgroups {
				if _, err := os.Stat(dir); err == nil {
					t.Errorf("%s is left", dir)
				}
			}
			syscall.Wait4(guard, nil, 0, nil) // it came to this process, a subreaper
		})
	}
}

func TestAForkBombIsEnded(t *testing.T) {
	// Each member starts two more, one of them in a session of its own, and
	// replaces those that end. It is bounded, for the sake of the machine.
	const bomb = `
[ $(wc -l < pids) -gt 250 ] && exec sleep 300
echo $$ >> pids
while :; do setsid dash -c "$BOMB" & dash -c "$BOMB" & wait; done`
	s := task(t, `: > pids; dash -c "$BOMB"`)
	s.Procs[0].Env = append(s.Procs[0].Env, "BOMB="+bomb)
	tree := begin(t, s)
	eventually(t, "a hundred processes", func() bool {
		text, _ := os.ReadFile(filepath.Join(s.Procs[0].Dir, "pids"))
		return strings.Count(string(text), "\n") > 100
	})
	tree.Stop(0, 0, true)
	got := result(t, tree)
	if len(got.Left) > 0 {
		t.Errorf("left: %v", got.Left)
	}
	for _, field := range strings.Fields(content(t, filepath.Join(s.Procs[0].Dir, "pids"))) {
		var pid int
		fmt.Sscan(field, &pid)
		if lives(pid) {
			t.Errorf("%d still lives", pid)
		}
	}
}

func TestF098ChildrenNobodyReaps(t *testing.T) {
	s := task(t, "for i in $(seq 2000); do (true &); done; echo done; while [ ! -e go ]; do sleep 0.05; done; exit 9", "exit 0")
	tree := begin(t, s)
	printed(t, s.Procs[0].Stdout, "done")
	eventually(t, "no zombie", func() bool {
		for _, e := range snapshot().below(tree.cmd.Process.Pid) {
			if e.zombie {
				return false
			}
		}
		return true
	})
	if err := os.WriteFile(filepath.Join(s.Procs[0].Dir, "go"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := result(t, tree); got.Procs[0].Status != 9 || got.Procs[1].Status != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestAStartThatIsGivenUpLeavesNothing(t *testing.T) {
	s := task(t, "true")
	s.Guardian = []string{"sleep", "300"} // it never answers
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := Start(ctx, s)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	for _, e := range living.orphans() {
		t.Errorf("%d is left", e.pid)
	}
}

func TestAGuardianThatIsNoneIsNamed(t *testing.T) {
	s := task(t, "true")
	s.Guardian = []string{"true"}
	_, err := Start(t.Context(), s)
	if want := "guardian: did not start the processes: true ended without a word"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestAHungGuardianDoesNotHangItsExecutor(t *testing.T) {
	s := task(t, "sleep 300")
	s.Second = 100 * time.Millisecond
	tree := begin(t, s)
	tree.patient = 200 * time.Millisecond
	syscall.Kill(tree.cmd.Process.Pid, syscall.SIGSTOP)
	tree.Stop(0, 0, true)
	if got := result(t, tree); got.Lost == "" || lives(tree.PIDs()[0]) {
		t.Errorf("got %+v", got)
	}
}
