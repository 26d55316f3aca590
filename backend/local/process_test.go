package local

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

func TestTheEndOfAProcessIsSeen(t *testing.T) {
	cmd := sleeper(t)
	p, err := Watch(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ended := make(chan error, 1)
	go func() { ended <- p.Wait(t.Context()) }()
	if err := p.Kill(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("wait: %v", err)
	}
	cmd.Wait()
	if err := p.Kill(unix.SIGKILL); err != nil {
		t.Errorf("to kill what has ended: %v", err)
	}
}

func TestWaitingForAProcessCanBeGivenUp(t *testing.T) {
	p, err := Watch(sleeper(t).Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Wait(ctx) }()
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("wait: %v, want %v", err, why)
	}
}

// Only guardians are killed for holding a claim: the server and the coordinator
// have it open, too.
func TestHoldersAreGuardians(t *testing.T) {
	claim, err := os.Create(filepath.Join(t.TempDir(), "m-a.1-task-0.claim"))
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Close()
	with := func(name string, files ...*os.File) int {
		cmd := exec.Command("sh", "-c", "read word", name)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.ExtraFiles = files
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close(); cmd.Wait() })
		return cmd.Process.Pid
	}
	guardian := with("guardian", claim)
	with("coordinator", claim)
	with("guardian")
	if diff := cmp.Diff([]int{guardian}, holders(claim)); diff != "" {
		t.Error(diff)
	}
}

func TestANumberAloneIsNotAProcess(t *testing.T) {
	n, err := native(sleeper(t).Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	p, err := n.find()
	if err != nil {
		t.Fatalf("the very process: %v", err)
	}
	p.Close()
	for what, other := range map[string]Native{
		"started at another time":         {PID: n.PID, Start: n.Start + 1, Boot: n.Boot},
		"before the machine's last start": {PID: n.PID, Start: n.Start, Boot: "another"},
		"nothing":                         {},
	} {
		if p, err := other.find(); err == nil {
			p.Close()
			t.Errorf("%s: was found", what)
		}
	}
}
