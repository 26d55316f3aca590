package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

type settings struct {
	executors int
	framework string
	profile   string
	muster    string
}

// figures of one job. The clock of a roll call runs from the first connection to
// the last start received; certificates exist by then.
type figures struct {
	executors int
	call      time.Duration
	cpu       time.Duration // of the coordinator during the roll call
	before    time.Duration // CPU of the coordinator before it: plan, slots, certificates
	played    time.Duration // CPU of the executors' process during the roll call
	peak      int64         // of the coordinator, until all had started
	settled   int64         // resident some beats later
	beat      time.Duration
	beats     int
	window    time.Duration
	beatCPU   time.Duration // of the coordinator within the window
	end       time.Duration // from the first exit to the sealed journal
	endCPU    time.Duration
	journal   int64
	again     int64 // connections that had to be tried again
	status    *look
}

func (f figures) String() string {
	return fmt.Sprintf("%d executors: roll call %.2f s, coordinator %.2f CPU s (and %.2f before), executors %.2f CPU s, peak %s, then %s; "+
		"%d beats every %s: %.1f %% of a core, %.0f µs each; end %.2f s, %.2f CPU s; journal %s; %d connections tried again; status: %v",
		f.executors, f.call.Seconds(), f.cpu.Seconds(), f.before.Seconds(), f.played.Seconds(), mib(f.peak), mib(f.settled),
		f.beats, f.beat, f.share(), f.each(), f.end.Seconds(), f.endCPU.Seconds(), mib(f.journal), f.again, f.status)
}

// share is what beats take of one core, in percent.
func (f figures) share() float64 { return 100 * f.beatCPU.Seconds() / f.window.Seconds() }

// each is what a beat costs, in microseconds.
func (f figures) each() float64 {
	return float64(f.beatCPU.Microseconds()) / float64(max(1, f.beats))
}

// once runs one job from its submission to its end.
func once(ctx context.Context, s settings) (figures, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	home, err := os.MkdirTemp("", "rollcall")
	if err != nil {
		return figures{}, err
	}
	defer os.RemoveAll(home)
	job, err := submit(home, s)
	if err != nil {
		return figures{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return figures{}, err
	}
	cmd := exec.CommandContext(ctx, self, "coordinate", job, s.profile)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return figures{}, err
	}
	if err := cmd.Start(); err != nil {
		return figures{}, err
	}
	f, err := measure(ctx, s, process(cmd.Process.Pid), out, func() error { return cmd.Wait() })
	if err != nil {
		cancel()
		return f, errors.Join(err, cmd.Wait())
	}
	f.journal = size(filepath.Join(job, "journal"))
	if s.muster != "" {
		f.status, err = status(ctx, s.muster, home, filepath.Base(job))
	}
	return f, err
}

func measure(ctx context.Context, s settings, p process, out io.Reader, wait func() error) (figures, error) {
	f := figures{executors: s.executors}
	contexts, err := born(out, s.executors)
	if err != nil {
		return f, err
	}
	c, err := newCrowd(contexts)
	if err != nil {
		return f, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer c.wg.Wait()
	defer cancel()

	s.part(p)
	f.before = p.cpu()
	own, begin := self().cpu(), time.Now()
	if err := c.call(ctx); err != nil {
		return f, err
	}
	f.call, f.cpu, f.played, f.peak = time.Since(begin), p.cpu()-f.before, self().cpu()-own, p.peak()
	f.again = c.again.Load()

	f.beat = c.beat
	c.beats(ctx, 3*time.Second) // what the roll call left to do is done meanwhile
	s.part(p)
	cpu, begin := p.cpu(), time.Now()
	f.beats = c.beats(ctx, max(10*time.Second, 2*c.beat))
	f.window, f.beatCPU, f.settled = time.Since(begin), p.cpu()-cpu, p.resident()

	s.part(p)
	cpu, begin = p.cpu(), time.Now()
	c.end()
	last := make(chan time.Duration, 1)
	done := make(chan error, 1)
	go func() {
		// The processor time of a process that was waited for is gone.
		seen, _ := io.Copy(io.Discard, out)
		_ = seen
		last <- p.cpu()
		done <- wait()
	}()
	f.endCPU = <-last - cpu
	err = <-done
	f.end = time.Since(begin)
	return f, err
}

// part begins the next part of the coordinator's profile, if there is one.
func (s settings) part(p process) {
	if s.profile != "" {
		_ = syscall.Kill(int(p), syscall.SIGUSR1) // one that is gone is seen elsewhere
	}
}

// born reads what the executors are born with.
func born(out io.Reader, n int) ([]executor.Context, error) {
	in := json.NewDecoder(bufio.NewReader(out))
	list := make([]executor.Context, n)
	for i := range list {
		if err := in.Decode(&list[i]); err != nil {
			return nil, fmt.Errorf("executor %d of %d: %w", i, n, err)
		}
	}
	return list, nil
}

// submit makes the directory of a job as "muster submit" leaves it.
func submit(home string, s settings) (string, error) {
	fw, err := known(s.framework)
	if err != nil {
		return "", err
	}
	p := &plan.Plan{Version: plan.PlanVersion, ID: plan.NewID([plan.IDBytes]byte{1, byte(s.executors), byte(s.executors >> 8)}),
		Name: "rollcall", User: "bench", Framework: fw.Name(), Backend: "local", Timing: plan.DefaultTiming()}
	p.Timing.Lease, p.Timing.LinkLoss = spec.Duration(time.Minute), spec.Duration(time.Minute) // the machine may be busy
	p.Roles = []plan.Role{{Name: "worker", Instances: spec.Count{Min: s.executors, Max: s.executors}, Procs: 1, Wait: true, Counted: true,
		Command: spec.Command{Argv: []string{"python", "train.py"}}, Resources: plan.Resources{CPUs: 1, Memory: 1 << 30},
		OnFailure: spec.FailureStop, RestartScope: spec.ScopeJob, StopGrace: spec.Duration(5 * time.Second)}}
	fw.Prepare(&plan.Draft{Plan: p})
	data, err := json.Marshal(backend.Submission{Plan: p, Environ: os.Environ()})
	dir := filepath.Join(home, "jobs", p.ID)
	return dir, errors.Join(err, os.MkdirAll(filepath.Join(dir, "mailbox"), 0o700),
		os.WriteFile(filepath.Join(dir, "submission.json"), data, 0o600))
}
