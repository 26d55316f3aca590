package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// figures of one run.
type figures struct {
	running  time.Duration // from the command to the last task's start
	finished time.Duration // from the command to its end
	cpu      time.Duration // of the command, its children and all containers
	command  time.Duration // the part of cpu that was not in containers
	// Resident memory in bytes of the largest process; 0 where there is none.
	client, master, executor int64
}

func (f figures) String() string {
	return fmt.Sprintf("running %.2f s, finished %.2f s, %.2f CPU s (%.2f in the client), client %d, master %d, executor %d MiB",
		f.running.Seconds(), f.finished.Seconds(), f.cpu.Seconds(), f.command.Seconds(), f.client>>20, f.master>>20, f.executor>>20)
}

// task notes when it runs, in a file of the folder that it is given.
const task = `#!/bin/bash
echo "$EPOCHREALTIME" >"$1/$$"
sleep 3
`

// once runs one job and measures it.
func (b *bench) once(ctx context.Context, s system, n int) (figures, error) {
	script := filepath.Join(b.dir, "task.sh")
	if err := os.WriteFile(script, []byte(task), 0o755); err != nil {
		return figures{}, err
	}
	marks, err := os.MkdirTemp(b.dir, "marks-")
	if err != nil {
		return figures{}, err
	}
	boxes, err := containersOf(ctx, b.cluster)
	if err != nil {
		return figures{}, err
	}
	if err := b.settle(ctx, s); err != nil {
		return figures{}, err
	}
	containerTime, ownTime := boxes.used(), waitedFor()

	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := s.command(ctx, n, []string{"bash", script, marks})
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	m := newMeter(b.cluster.Mark())
	var group sync.WaitGroup
	watching, enough := context.WithCancel(ctx)
	defer enough()
	group.Go(func() { m.watch(watching) })
	begin := time.Now()
	err = cmd.Run()
	f := figures{finished: time.Since(begin)}
	enough()
	group.Wait()
	if err != nil {
		text := out.String()
		return figures{}, errors.Join(fmt.Errorf("%w: %s", err, text[max(0, len(text)-2000):]), b.settle(context.WithoutCancel(ctx), s))
	}
	if err := b.settle(ctx, s); err != nil {
		return figures{}, err
	}
	f.command = waitedFor() - ownTime
	f.cpu = f.command + boxes.used() - containerTime
	f.client, f.master, f.executor = m.memory()
	last, count, err := latest(marks)
	if err == nil && count != n {
		err = fmt.Errorf("%d tasks have run, %d were asked for", count, n)
	}
	f.running = last.Sub(begin)
	return f, err
}

// settle waits until nothing of a run is left, so that its processor time is
// known, and the next run has the machine for itself.
func (b *bench) settle(ctx context.Context, s system) error {
	if err := s.clean(ctx); err != nil {
		return fmt.Errorf("%s: cleaning up: %w", s.name(), err)
	}
	if err := b.cluster.KillApplications(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		left := orphans()
		boxes, err := b.cluster.Containers(ctx)
		if err != nil {
			return err
		}
		if !left && len(boxes) == 0 {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("processes of the run are left (in containers: %v): %w", boxes, ctx.Err())
		}
	}
}

// reapHere makes this process the parent of what its commands leave behind.
func reapHere() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// orphans takes the statuses of children that have ended, and says whether there
// are others. It must not be called while a command runs.
func orphans() bool {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR) || pid > 0:
		case err != nil: // ECHILD
			return false
		default:
			return true
		}
	}
}

// waitedFor is the processor time of all children that have ended, and of theirs.
func waitedFor() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &r) // cannot fail with these arguments
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// latest reads what the tasks have noted.
func latest(marks string) (last time.Time, count int, err error) {
	entries, err := os.ReadDir(marks)
	if err != nil {
		return last, 0, err
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(marks, e.Name()))
		if err != nil {
			return last, 0, err
		}
		// Some locales write the fraction after a comma.
		seconds, err := strconv.ParseFloat(strings.Replace(strings.TrimSpace(string(data)), ",", ".", 1), 64)
		if err != nil {
			return last, 0, fmt.Errorf("%s: %w", e.Name(), err)
		}
		if at := time.UnixMicro(int64(seconds * 1e6)); at.After(last) {
			last = at
		}
	}
	return last, len(entries), nil
}
