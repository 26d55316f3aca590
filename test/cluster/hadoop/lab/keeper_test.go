package lab

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestDaemonsAreStartedStoppedAndKilled(t *testing.T) {
	c := stage(t, 0)
	ctx := t.Context()
	c.started(t, "rm")
	first := c.pid(t, "rm")
	if err := c.Start(ctx, "rm"); err == nil {
		t.Error("a daemon that runs was started again")
	}
	if err := c.Stop(ctx, "rm"); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(c.path("logs", "rm.log")); !strings.Contains(string(data), "in order") {
		t.Errorf("stop: the daemon had no chance to end in order: %q", data)
	}
	if c.pid(t, "rm") != 0 || !killed(first) {
		t.Errorf("stop: pid %d still runs", first)
	}
	if err := c.Stop(ctx, "rm"); err != nil {
		t.Errorf("stopping what has ended: %v", err)
	}
	c.started(t, "rm")
	second := c.pid(t, "rm")
	if err := c.Kill(ctx, "rm"); err != nil {
		t.Fatal(err)
	}
	if c.pid(t, "rm") != 0 || !killed(second) {
		t.Errorf("kill: pid %d still runs", second)
	}
	if err := c.alive(ctx); err != nil {
		t.Errorf("a daemon that was killed on demand counts as one that failed: %v", err)
	}
	for _, name := range []string{"nm5", "zk", "../rm"} {
		if err := c.Start(ctx, name); err == nil {
			t.Errorf("%s was started", name)
		}
	}
}

func TestADaemonThatEndsByItselfIsTold(t *testing.T) {
	c := stage(t, 0)
	c.started(t, "nn")
	if err := syscall.Kill(c.pid(t, "nn"), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nn ends", func() bool { return c.pid(t, "nn") == 0 })
	err := c.alive(t.Context())
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "in order") {
		t.Errorf("alive: %v; want the status and the last lines of the log", err)
	}
}

func TestPauseHoldsADaemon(t *testing.T) {
	c := stage(t, 0)
	c.started(t, "dn")
	pid := c.pid(t, "dn")
	state := func() byte { _, s, _ := parentOf(pid); return s }
	if err := c.Pause(t.Context(), "dn"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "dn is stopped", func() bool { return state() == 'T' })
	if err := c.Resume(t.Context(), "dn"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "dn goes on", func() bool { return state() != 'T' })
}

func TestContainersOutliveANodeManagerThatIsKilledButNotOneThatIsLost(t *testing.T) {
	c := stage(t, 0)
	ctx := t.Context()
	c.started(t, "nm1", "nm2")
	if err := c.Kill(ctx, "nm1"); err != nil {
		t.Fatal(err)
	}
	// It may not have become what it is to be when its NodeManager died.
	eventually(t, "the container goes on", func() bool { return c.containers("nm1") == 1 })
	if err := c.Lose(ctx, "nm2"); err != nil {
		t.Fatal(err)
	}
	if n := c.containers("nm2"); n != 0 {
		t.Errorf("%d containers of the lost node, want none", n)
	}
	// Also what an earlier NodeManager of that node had left.
	if err := c.Lose(ctx, "nm1"); err != nil {
		t.Fatal(err)
	}
	if n := c.containers("nm1"); n != 0 {
		t.Errorf("%d containers of the other lost node, want none", n)
	}
	if err := c.Lose(ctx, "rm"); err == nil {
		t.Error("lose took what is no node")
	}
}

func TestNothingIsLeftWhenTheClusterIsTakenDown(t *testing.T) {
	c := stage(t, 0)
	c.started(t, "rm", "nm1", "nm2")
	if err := c.Kill(t.Context(), "nm1"); err != nil {
		t.Fatal(err)
	}
	if err := c.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if pids := c.marked(""); len(pids) > 0 {
		t.Errorf("still there: %v", pids)
	}
	if err := c.Down(t.Context()); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if err := c.Start(t.Context(), "rm"); !errors.Is(err, errNoKeeper) {
		t.Errorf("start: %v, want %v", err, errNoKeeper)
	}
}

func TestNothingIsLeftWhenTheOwnerDies(t *testing.T) {
	owner := exec.Command("sleep", "600")
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	c := stage(t, owner.Process.Pid)
	c.started(t, "rm", "nm1")
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // it was killed
	eventually(t, "all are gone", func() bool { return len(c.marked("")) == 0 })
}

func TestAnOwnerCanHandOver(t *testing.T) {
	owner := exec.Command("sleep", "600")
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	c := stage(t, owner.Process.Pid)
	c.started(t, "rm")
	if err := c.ask(t.Context(), request{Op: opOwn, PID: os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // it was killed
	if c.pid(t, "rm") == 0 {
		t.Error("rm ended with the first owner")
	}
	if err := c.ask(t.Context(), request{Op: opOwn, PID: owner.Process.Pid}); err == nil {
		t.Error("a process that has ended became the owner")
	}
}

func TestNothingIsLeftWhenTheKeeperIsKilled(t *testing.T) {
	c := stage(t, 0)
	c.started(t, "rm", "nm1")
	rm := c.pid(t, "rm")
	keeper, _, _ := parentOf(rm)
	if err := syscall.Kill(keeper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the kernel kills the daemons", func() bool { return killed(rm) })
	if err := c.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if pids := c.marked(""); len(pids) > 0 {
		t.Errorf("still there: %v", pids)
	}
}
