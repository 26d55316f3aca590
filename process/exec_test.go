package process

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// attached is a further process with our ends of its pipes.
type attached struct {
	*Exec
	in       *os.File
	out, err *os.File
}

func attach(t *testing.T, tree *Tree, p Proc) attached {
	t.Helper()
	var a attached
	var theirs [3]*os.File
	for i, ours := range []**os.File{&a.in, &a.out, &a.err} {
		var fds [2]int
		if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		mine, other := fds[0], fds[1]
		if i == 0 {
			mine, other = other, mine
		}
		if err := unix.SetNonblock(mine, true); err != nil {
			t.Fatal(err)
		}
		*ours, theirs[i] = os.NewFile(uintptr(mine), "ours"), os.NewFile(uintptr(other), "theirs")
		t.Cleanup(func() { (*ours).Close() })
	}
	x, err := tree.Exec(p, theirs)
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	a.Exec = x
	return a
}

func read(t *testing.T, f *os.File) string {
	t.Helper()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// further is a shell command in the place of a tree's first process.
func further(s Spec, script string) Proc {
	return Proc{Argv: []string{"bash", "-c", script}, Env: s.Procs[0].Env, Dir: s.Procs[0].Dir}
}

func TestAFurtherProcessHasItsOwnFilesAndStatus(t *testing.T) {
	s := task(t, "sleep 1000")
	tree := begin(t, s)
	a := attach(t, tree, further(s, "read x; echo out $x; echo err >&2; exit 7"))
	if _, err := a.in.WriteString("in\n"); err != nil {
		t.Fatal(err)
	}
	if out, errs := read(t, a.out), read(t, a.err); out != "out in\n" || errs != "err\n" {
		t.Errorf("out %q, err %q", out, errs)
	}
	if x := a.Exit(); x.Status != 7 || x.PID != a.PID() {
		t.Errorf("exit %+v of process %d, want status 7", x, a.PID())
	}
	if !lives(tree.PIDs()[0]) {
		t.Error("the tree ended with its further process")
	}
}

func TestAFurtherProcessThatCannotStartSaysWhy(t *testing.T) {
	s := task(t, "sleep 1000")
	p := further(s, "")
	p.Argv = []string{"no-such-program"}
	a := attach(t, begin(t, s), p)
	if x := a.Exit(); x.Status != 127 || !strings.Contains(x.Error, "no-such-program: no such program in PATH") {
		t.Errorf("exit %+v", x)
	}
}

// What a further process has started may be in groups of its own, as the ranks
// below a daemon of MPI are; all of them are in its session.
func TestKillFindsWhatAFurtherProcessStarted(t *testing.T) {
	s := task(t, "sleep 1000")
	tree := begin(t, s)
	dir := s.Procs[0].Dir
	a := attach(t, tree, further(s, "set -m; sleep 1001 & echo $! >child; wait"))
	child := pidIn(t, filepath.Join(dir, "child"))
	if err := a.Kill(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if x := a.Exit(); x.Signal != syscall.SIGKILL {
		t.Errorf("exit %+v", x)
	}
	eventually(t, "the end of the child", func() bool { return !lives(child) })
	if !lives(tree.PIDs()[0]) {
		t.Error("the tree was killed with its further process")
	}
}

func TestASignalGoesToTheGroupOfAFurtherProcess(t *testing.T) {
	s := task(t, "sleep 1000")
	a := attach(t, begin(t, s), further(s, "trap 'echo caught; exit 3' USR1; echo up; sleep 1000 & wait"))
	up := make([]byte, 3)
	if _, err := io.ReadFull(a.out, up); err != nil {
		t.Fatal(err)
	}
	if err := a.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if x := a.Exit(); x.Status != 3 {
		t.Errorf("exit %+v", x)
	}
}

// A stop gives further processes the same grace as the tree's own.
func TestAStopReachesFurtherProcesses(t *testing.T) {
	s := task(t, "sleep 1000")
	tree := begin(t, s)
	a := attach(t, tree, further(s, "exec $BINARY saver 300ms"))
	up := make([]byte, 3)
	if _, err := io.ReadFull(a.out, up); err != nil {
		t.Fatal(err)
	}
	tree.Stop(syscall.SIGTERM, 20*time.Second, false)
	result(t, tree)
	if x := a.Exit(); x.Status != 0 || !saved(s) {
		t.Errorf("exit %+v, saved %t: it was not given the grace", x, saved(s))
	}
}

func TestNothingIsLeftOfFurtherProcessesWhenTheTreeEnds(t *testing.T) {
	s := task(t, "read line <fifo")
	dir := s.Procs[0].Dir
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := begin(t, s)
	a := attach(t, tree, further(s, "setsid sleep 1002 & echo $! >child; exec sleep 1003"))
	child := pidIn(t, filepath.Join(dir, "child"))
	if err := os.WriteFile(filepath.Join(dir, "fifo"), []byte("end\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := result(t, tree); r.Procs[0].Status != 0 || r.First != -1 {
		t.Errorf("the tree ended with %+v", r)
	}
	if lives(child) || lives(a.PID()) {
		t.Error("something of the further process lives")
	}
	if x := a.Exit(); x.Signal != syscall.SIGKILL {
		t.Errorf("exit %+v", x)
	}
	if _, err := tree.Exec(further(s, "true"), [3]*os.File{a.in, a.out, a.err}); err == nil || !strings.Contains(err.Error(), "bash: not started: the task has ended") {
		t.Errorf("a process after the end: %v", err)
	}
}

// A guardian that is killed leaves its further processes to the executor.
func TestNothingIsLeftOfFurtherProcessesWhenTheGuardianIsKilled(t *testing.T) {
	s := task(t, "sleep 1000")
	tree := begin(t, s)
	dir := s.Procs[0].Dir
	a := attach(t, tree, further(s, "setsid sleep 1004 & echo $! >child; exec sleep 1005"))
	child := pidIn(t, filepath.Join(dir, "child"))
	tree.killGuardian()
	result(t, tree)
	<-a.Done()
	if lives(child) || lives(a.PID()) {
		t.Error("something of the further process lives")
	}
}
