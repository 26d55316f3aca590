package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// look is what it costs to be shown a job.
type look struct {
	Seconds float64
	CPU     float64
	Peak    int64 // bytes
}

func (l *look) String() string {
	if l == nil {
		return "not asked for"
	}
	return fmt.Sprintf("%.2f s, %.2f CPU s, %s", l.Seconds, l.CPU, mib(l.Peak))
}

// status measures how a client shows a job, from its journal alone. The command
// is started by a small process: to a new program the kernel counts the memory of
// the one that started it.
func status(ctx context.Context, muster, home, job string) (*look, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "look", muster, "status", job)
	cmd.Env = append(os.Environ(), "MUSTER_HOME="+home)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s status: %w", muster, err)
	}
	l := new(look)
	return l, json.Unmarshal(out, l)
}

// lookAt is the small process: it runs a command and prints what that took.
func lookAt(ctx context.Context, argv []string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return err
	}
	l := look{Seconds: time.Since(begin).Seconds(), CPU: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		l.Peak = u.Maxrss << 10
	}
	return json.NewEncoder(os.Stdout).Encode(l)
}
