package process

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// saver is a program that saves when it is told to by SIGTERM or SIGUSR1, which
// takes it the time of its first argument; it then ends with 0.
func saver() int {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGUSR1)
	takes, err := time.ParseDuration(os.Args[2])
	if err != nil {
		return 2
	}
	fmt.Fprintln(os.Stdout, "up")
	<-told
	<-time.After(takes)
	if err := os.WriteFile("saved", []byte("all\n"), 0o666); err != nil {
		return 3
	}
	return 0
}

func saved(s Spec) bool {
	_, err := os.Stat(filepath.Join(s.Procs[0].Dir, "saved"))
	return err == nil
}

func TestF047ThirtySecondsAreNotEnoughToSave(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		grace  time.Duration
		want   Exit
		saved  bool
	}{
		"enough": {"exec $BINARY saver 1s", 20 * time.Second, Exit{Stopped: true}, true},
		// The shell dies at once; the grace is still the program's.
		"enough, below a shell": {"$BINARY saver 1s; exit", 20 * time.Second, Exit{Status: 143, Signal: syscall.SIGTERM, Stopped: true}, true},
		"not enough":            {"exec $BINARY saver 1h", time.Second, Exit{Status: 137, Signal: syscall.SIGKILL, Stopped: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := task(t, tc.script)
			tree := begin(t, s)
			printed(t, s.Procs[0].Stdout, "up")
			tree.Stop(syscall.SIGTERM, tc.grace, false)
			got := result(t, tree)
			if diff := cmp.Diff([]Exit{tc.want}, got.Procs, ignoreRun); diff != "" {
				t.Error(diff)
			}
			if saved(s) != tc.saved {
				t.Errorf("saved = %t, want %t", saved(s), tc.saved)
			}
			if got.First != -1 {
				t.Errorf("First = %d: a stop is nobody's failure", got.First)
			}
		})
	}
}

func TestF077TheWarningSignalReachesTheShellNotTheProgram(t *testing.T) {
	for name, tc := range map[string]struct {
		argv []string
		want Exit
	}{
		"bare program":           {nil, Exit{}},
		"a shell's only command": {[]string{"bash", "-c", "$BINARY saver 200ms"}, Exit{}},
		"shell with a trap":      {[]string{"bash", "-c", "trap : USR1; $BINARY saver 200ms; wait; exit 0"}, Exit{}},
		// As everywhere the shell dies of it, but its program may save all the same.
		"shell without a trap": {[]string{"bash", "-c", "$BINARY saver 200ms; exit 0"}, Exit{Status: 138, Signal: syscall.SIGUSR1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := task(t, "")
			s.Procs[0].Argv = tc.argv
			if tc.argv == nil {
				s.Procs[0].Argv = []string{self(t), "saver", "200ms"}
			}
			tree := begin(t, s)
			printed(t, s.Procs[0].Stdout, "up")
			if err := tree.Signal(syscall.SIGUSR1); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]Exit{tc.want}, result(t, tree).Procs, ignoreRun); diff != "" {
				t.Error(diff)
			}
			if !saved(s) {
				t.Error("the program could not save")
			}
		})
	}
}

func TestASignalGoesToTheGroupsAndNothingElse(t *testing.T) {
	s := task(t, `setsid bash -c 'trap "echo outside >> got" USR1; echo $$ > pid; while :; do sleep 0.05; done' &
trap "echo inside >> got" USR1
while [ ! -s pid ]; do sleep 0.05; done
echo up
while :; do sleep 0.05; done`)
	tree := begin(t, s)
	printed(t, s.Procs[0].Stdout, "up")
	if err := tree.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	printed(t, filepath.Join(s.Procs[0].Dir, "got"), "inside")
	// The other has had its chance once it answers a signal of our own.
	pid := pidIn(t, filepath.Join(s.Procs[0].Dir, "pid"))
	if err := syscall.Kill(pid, syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	printed(t, filepath.Join(s.Procs[0].Dir, "got"), "outside")
	if got, want := content(t, filepath.Join(s.Procs[0].Dir, "got")), "inside\noutside\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSignalsIgnoredByTheExecutorAreNotByTheProcesses(t *testing.T) {
	s := task(t, "sed -n 's/^SigIgn:[[:space:]]*//p' /proc/self/status")
	s.Guardian = []string{"/bin/bash", "-c", "trap '' HUP INT QUIT TERM PIPE USR1; exec $0 guardian", self(t)}
	run(t, s)
	got, err := strconv.ParseUint(strings.TrimSpace(content(t, s.Procs[0].Stdout)), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	// Signals 32 and 33 belong to the C library, which sets them as it needs
	// them; make starts everything with both ignored.
	if ignored := got &^ (1<<31 | 1<<32); ignored != 0 {
		t.Errorf("signals %b are ignored, want none", ignored)
	}
}

func TestWhatAFailedProcessLeavesIsStoppedWithTheOthers(t *testing.T) {
	deaf := filepath.Join(t.TempDir(), "deaf") // to the signal, which it must be before it comes
	s := task(t, "sleep 300 & while [ ! -e "+deaf+" ]; do sleep 0.02; done; exit 3", "trap '' TERM; : > "+deaf+"; while :; do sleep 0.05; done")
	s.Grace = 500 * time.Millisecond
	began := time.Now()
	if got := run(t, s); got.First != 0 || got.Procs[1].Signal != syscall.SIGKILL {
		t.Errorf("got %+v", got)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

// powerless is a guardian whose kills reach nobody, as if the processes hung in
// the kernel.
func powerless() int {
	g := guardian{kill: func(pid int, sig syscall.Signal) error {
		if sig == syscall.SIGKILL || sig == syscall.SIGSTOP {
			return nil
		}
		return syscall.Kill(pid, sig)
	}}
	if g.run(os.Stdin, os.Stdout) != nil {
		return 1
	}
	return 0
}

func TestF050AProcessThatCannotBeKilled(t *testing.T) {
	lock := locked(t)
	s := task(t, "trap '' TERM; echo up; while :; do sleep 0.05; done")
	s.Guardian[1] = "powerless"
	s.Second = 300 * time.Millisecond
	s.Hold = []*os.File{lock}
	tree := begin(t, s)
	lock.Close()
	printed(t, s.Procs[0].Stdout, "up")
	began := time.Now()
	tree.Stop(syscall.SIGTERM, 200*time.Millisecond, false)
	got := result(t, tree)
	if took := time.Since(began); took < 500*time.Millisecond {
		t.Errorf("given up after %v", took)
	}
	pid := tree.PIDs()[0]
	if len(got.Left) == 0 || got.Left[0] != pid {
		t.Errorf("Left = %v, want %d among them", got.Left, pid)
	}
	// What the task holds is held as long as it lives.
	if free(t, lock.Name()) {
		t.Error("the claim was let go")
	}
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the claim", func() bool { return free(t, lock.Name()) })
	eventually(t, "the end of the guardian", func() bool { return !lives(tree.cmd.Process.Pid) })
}
