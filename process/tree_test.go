package process

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var ignoreRun = cmpopts.IgnoreFields(Exit{}, "PID", "At")

func TestStatusAndSignalAreUnchanged(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		want   Exit
	}{
		"success":      {"exit 0", Exit{}},
		"failure":      {"exit 7", Exit{Status: 7}},
		"like signal":  {"exit 143", Exit{Status: 143}},
		"highest":      {"exit 255", Exit{Status: 255}},
		"terminated":   {"kill -TERM $$", Exit{Status: 143, Signal: syscall.SIGTERM}},
		"killed":       {"kill -KILL $$", Exit{Status: 137, Signal: syscall.SIGKILL}},
		"hung up":      {"kill -HUP $$", Exit{Status: 129, Signal: syscall.SIGHUP}},
		"broken pipe":  {"kill -PIPE $$", Exit{Status: 141, Signal: syscall.SIGPIPE}},
		"real-time":    {"kill -40 $$", Exit{Status: 168, Signal: syscall.Signal(40)}},
		"segmentation": {"ulimit -c 0; kill -SEGV $$", Exit{Status: 139, Signal: syscall.SIGSEGV}},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, task(t, tc.script))
			if diff := cmp.Diff([]Exit{tc.want}, got.Procs, ignoreRun); diff != "" {
				t.Error(diff)
			}
			if bad := tc.want.Status != 0; bad != (got.First == 0) {
				t.Errorf("First = %d with status %d", got.First, tc.want.Status)
			}
		})
	}
}

func TestAllEndWellIsSuccess(t *testing.T) {
	got := run(t, task(t, "echo a", "echo b >&2", "true"))
	if diff := cmp.Diff(Result{First: -1, Procs: make([]Exit, 3)}, got, ignoreRun, cmpopts.IgnoreFields(Result{}, "Peak", "CPU")); diff != "" {
		t.Error(diff)
	}
}

func TestOneFailureStopsTheOthers(t *testing.T) {
	s := task(t, "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done", "while ! grep -q up logs/0.out; do sleep 0.05; done; exit 5", "sleep 300")
	s.Procs[1].Dir = filepath.Dir(filepath.Dir(s.Procs[0].Stdout))
	got := run(t, s)
	want := Result{First: 1, Procs: []Exit{{Status: 3, Stopped: true}, {Status: 5}, {Status: 143, Signal: syscall.SIGTERM, Stopped: true}}}
	if diff := cmp.Diff(want, got, ignoreRun, cmpopts.IgnoreFields(Result{}, "Peak", "CPU")); diff != "" {
		t.Error(diff)
	}
	if got := content(t, s.Procs[0].Stdout); got != "up\nbye\n" {
		t.Errorf("stdout = %q", got)
	}
}

func TestF049AGrandchildHoldsTheOutputPipe(t *testing.T) {
	s := task(t, "echo line; sleep 300 & echo $! > pid; exit 4")
	began := time.Now()
	got := run(t, s)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
	if diff := cmp.Diff([]Exit{{Status: 4}}, got.Procs, ignoreRun); diff != "" {
		t.Error(diff)
	}
	if got := content(t, s.Procs[0].Stdout); got != "line\n" {
		t.Errorf("stdout = %q", got)
	}
	if pid := pidIn(t, filepath.Join(s.Procs[0].Dir, "pid")); lives(pid) {
		t.Errorf("%d still lives", pid)
	}
}

func TestADaemonThatLeftGroupAndSessionIsKilled(t *testing.T) {
	s := task(t, `setsid bash -c 'setsid sleep 300 & echo $! > pid; exec sleep 300' & while [ ! -s pid ]; do sleep 0.05; done; exit 0`)
	run(t, s)
	if pid := pidIn(t, filepath.Join(s.Procs[0].Dir, "pid")); lives(pid) {
		t.Errorf("%d still lives", pid)
	}
}

func TestStopEscalates(t *testing.T) {
	s := task(t, "trap '' TERM; echo up; while :; do sleep 0.05; done")
	tree := begin(t, s)
	printed(t, s.Procs[0].Stdout, "up")
	began := time.Now()
	tree.Stop(syscall.SIGTERM, 500*time.Millisecond, false)
	tree.Stop(syscall.SIGTERM, time.Hour, false) // a repeated stop prolongs nothing
	got := result(t, tree)
	if took := time.Since(began); took < 500*time.Millisecond || took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	if diff := cmp.Diff([]Exit{{Status: 137, Signal: syscall.SIGKILL, Stopped: true}}, got.Procs, ignoreRun); diff != "" {
		t.Error(diff)
	}
	tree.Stop(syscall.SIGTERM, 0, true) // after the end it is nothing
}

func TestStopNowHastens(t *testing.T) {
	s := task(t, "trap '' TERM; echo up; while :; do sleep 0.05; done")
	tree := begin(t, s)
	printed(t, s.Procs[0].Stdout, "up")
	tree.Stop(syscall.SIGTERM, time.Hour, false)
	tree.Stop(syscall.SIGTERM, time.Hour, true)
	if got := result(t, tree); got.Procs[0].Signal != syscall.SIGKILL || got.First != -1 {
		t.Errorf("got %+v", got)
	}
}

func TestTheProcessesGetNothingBesideTheirThreeFiles(t *testing.T) {
	lock, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	// ls itself opens the directory as 3.
	s := task(t, "ls /proc/self/fd | tr '\\n' ' '; readlink /proc/self/fd/0; env | sort | cut -d= -f1 | tr '\\n' ' '")
	s.Hold = []*os.File{lock}
	run(t, s)
	want := "0 1 2 3 /dev/null\nBINARY PATH PWD SHLVL _ "
	if got := content(t, s.Procs[0].Stdout); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestManyStartsAndStops(t *testing.T) {
	for i := range 10 {
		tree := begin(t, task(t, "sleep 300", "sleep 300"))
		tree.Stop(syscall.SIGTERM, 10*time.Second, i%2 == 0)
		got := result(t, tree)
		for _, pid := range tree.PIDs() {
			if pid == 0 || lives(pid) {
				t.Errorf("round %d: pid %d: %+v", i, pid, got)
			}
		}
	}
}

func TestSignalAfterTheEndIsRefused(t *testing.T) {
	tree := begin(t, task(t, "true"))
	result(t, tree)
	want := fmt.Sprintf("%v: not sent: the task has ended", syscall.SIGUSR1)
	if err := tree.Signal(syscall.SIGUSR1); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
