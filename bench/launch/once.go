package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// bench is all runs of one call.
type bench struct {
	options
	dir  string
	mark string // the trivial process

	daemons []*daemon // that run
}

// seen is all that runs below this process, without the servers of other systems
// and what they start by themselves.
func (b *bench) seen(s *system) []proc {
	all := below()
	for _, d := range b.daemons {
		if d != s.daemon {
			foreign := under(d.cmd.Process.Pid)
			all = slices.DeleteFunc(all, func(p proc) bool { return slices.Contains(foreign, p.pid) })
		}
	}
	return all
}

// figures of one run.
type figures struct {
	running time.Duration // from the command to the last process's first look at the clock
	ended   time.Duration // from the command to its return
	cpu     time.Duration // of all that the run made work
}

// memory of one run whose processes wait, without theirs.
type memory struct {
	largest int64            // peak of resident memory of the largest process
	sum     int64            // of all, with shared pages divided among those that share them
	server  int64            // the same of what ran before
	ours    map[string]int64 // the peaks of the largest, by program and verb
}

// row is one line of the table.
type row struct {
	system system
	count  int
	runs   []figures
	memory memory
	errs   []error
}

// all measures every system that is there at each number of processes.
func (b *bench) all(ctx context.Context, systems []system) ([]*row, error) {
	for i := range systems {
		s := &systems[i]
		if d := s.daemon; d != nil && d.cmd == nil && s.absent == "" {
			fmt.Fprintf(os.Stderr, "launch: starting the server of %s\n", s.name)
			err := d.start(ctx)
			if d.cmd.Process != nil {
				b.daemons = append(b.daemons, d)
				defer d.end()
			}
			if err != nil { // the others can be measured all the same
				s.absent = err.Error()
			}
		}
	}
	var rows []*row
	for _, n := range b.counts {
		for _, s := range systems {
			rows = append(rows, &row{system: s, count: n})
		}
	}
	failing := map[string]int{}
	for round := range b.rounds + 1 { // in the first, files come into the page cache, and memory is looked at
		for _, r := range rows {
			if r.system.absent != "" || failing[r.system.name] >= hopeless {
				continue
			}
			times := b.times
			if r.system.slow || round == 0 {
				times = 1
			}
			for range times {
				ok := b.add(ctx, r, round == 0)
				if ctx.Err() != nil {
					return rows, ctx.Err()
				}
				failing[r.system.name]++
				if ok {
					failing[r.system.name] = 0
				}
			}
		}
		fmt.Fprintf(os.Stderr, "launch: round %d of %d\n", round, b.rounds)
	}
	var errs []error
	for _, r := range rows {
		errs = append(errs, r.errs...)
	}
	return rows, errors.Join(errs...)
}

// hopeless is how often in a row a system may fail before it is left alone.
const hopeless = 3

// add measures one run and says whether it succeeded.
func (b *bench) add(ctx context.Context, r *row, held bool) bool {
	f, m, err := b.once(ctx, &r.system, r.count, held)
	switch {
	case err != nil:
		err = fmt.Errorf("%s, %d processes: %w", r.system.name, r.count, err)
		fmt.Fprintln(os.Stderr, err)
		r.errs = append(r.errs, err)
	case held:
		r.memory = m
	default:
		r.runs = append(r.runs, f)
	}
	return err == nil
}

// limit bounds one run, settleTime what it leaves behind.
const (
	limit      = 45 * time.Second
	settleTime = 3 * time.Second
)

// once runs n processes and measures them. With held they wait until their memory
// was looked at.
func (b *bench) once(ctx context.Context, s *system, n int, held bool) (figures, memory, error) {
	var f figures
	var m memory
	marks, err := os.MkdirTemp(b.dir, "m")
	if err != nil {
		return f, m, err
	}
	argv := []string{b.mark, marks}
	release := filepath.Join(b.dir, filepath.Base(marks)+".go")
	if held {
		argv = append(argv, release)
	}
	args, env := s.command(n, argv)
	before := b.seen(s)
	used := spent(before)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = b.dir, append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	said, err := os.CreateTemp(b.dir, "out") // a pipe would be waited for beyond the command's end
	if err != nil {
		return f, m, err
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return f, m, err
	}
	if held {
		m = b.hold(ctx, s, marks, n, pids(before))
		if err := os.WriteFile(release, nil, 0o600); err != nil {
			return f, m, err
		}
	}
	err = cmd.Wait()
	f.ended = time.Since(begin)
	err = errors.Join(err, b.settle(s, pids(before)))
	f.cpu = spent(b.seen(s)) - used
	if err != nil {
		text, _ := os.ReadFile(said.Name())
		return f, m, fmt.Errorf("%w after %.1f s: %s", err, f.ended.Seconds(), text[max(0, len(text)-1000):])
	}
	last, count, err := latest(marks)
	if err == nil && count != n {
		err = fmt.Errorf("%d processes have run", count)
	}
	f.running = last.Sub(begin)
	return f, m, err
}

// hold waits until all processes run and looks at the memory of all others.
func (b *bench) hold(ctx context.Context, s *system, marks string, n int, before []int) memory {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if found, err := os.ReadDir(marks); err == nil && len(found) >= n {
			break
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return memory{}
		}
	}
	m := memory{ours: map[string]int64{}}
	var server []int
	if s.daemon != nil {
		server = under(s.daemon.cmd.Process.Pid)
	}
	for _, pid := range pids(b.seen(s)) {
		path := program(pid)
		pss := kibibytes(pid, "smaps_rollup", "Pss:")
		if path == b.mark || filepath.Base(path) == "sleep" {
			continue
		}
		if slices.Contains(before, pid) {
			if slices.Contains(server, pid) {
				m.server += pss
			}
			continue
		}
		peak := kibibytes(pid, "status", "VmHWM:")
		m.sum += pss
		m.largest = max(m.largest, peak)
		kind := filepath.Base(path) + " " + verb(pid)
		if strings.HasPrefix(kind, "executor-") {
			kind = "executor " + verb(pid)
		}
		m.ours[kind] = max(m.ours[kind], peak)
	}
	return m
}

// settle waits until nothing of a run is left, so that its processor time is
// known and the next run has the machine for itself.
func (b *bench) settle(s *system, before []int) error {
	late := time.NewTimer(settleTime)
	defer late.Stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		reap(before)
		now := pids(b.seen(s))
		now = slices.DeleteFunc(now, func(pid int) bool { return slices.Contains(before, pid) })
		if len(now) == 0 {
			return nil
		}
		select {
		case <-again.C:
		case <-late.C:
			if s.keeps {
				return nil
			}
			for _, pid := range now {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have gone
			}
			reap(before)
			return fmt.Errorf("%d processes were left", len(now))
		}
	}
}

// latest reads what the processes have noted.
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
		nanos, err := strconv.ParseInt(string(data), 10, 64)
		if err != nil {
			return last, 0, fmt.Errorf("%s: %w", e.Name(), err)
		}
		if at := time.Unix(0, nanos); at.After(last) {
			last = at
		}
	}
	return last, len(entries), nil
}
