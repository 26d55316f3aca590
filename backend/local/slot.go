package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/process"
)

// slot is one slot of a gang, from its grant to its end.
type slot struct {
	backend.Slot
	probe *os.File      // of the claim, to see whether it is free; holds nothing
	gone  chan struct{} // closed when nothing is left
	kill  chan struct{} // closed when there is no more patience

	mu       sync.Mutex
	held     *os.File // the claim, until an executor holds it
	proc     *Process
	child    *exec.Cmd // nil if another coordinator started it
	native   []byte
	released bool
	killed   bool
}

func newSlot(k backend.Slot, probe *os.File) *slot {
	return &slot{Slot: k, probe: probe, gone: make(chan struct{}), kill: make(chan struct{})}
}

// Names in a slot's directory.
const (
	startFile  = "start.json"
	nativeFile = "native.json"
	logFile    = "executor.log"
)

// claimFD is the descriptor under which an executor finds its claim: the first
// after the three standard ones.
const claimFD = 3

// launch starts the executor of a slot, or finds that it runs.
func (g *gang) launch(st backend.Start) ([]byte, error) {
	g.mu.Lock()
	s := g.slots[st.Slot.ID]
	g.mu.Unlock()
	if s == nil {
		return nil, fmt.Errorf("%s: is not a slot of this job any more", st.Slot.ID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.native != nil {
		return s.native, nil
	}
	if s.released || s.held == nil {
		return nil, fmt.Errorf("%s: was given back", s.ID)
	}
	dir := g.slotDir(s.ID)
	start := filepath.Join(dir, startFile)
	if err := replaceFile(start, st.Context); err != nil {
		return nil, fmt.Errorf("%s: start file cannot be written: %w", s.ID, err)
	}
	log, err := os.OpenFile(filepath.Join(dir, logFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: log cannot be written: %w", s.ID, err)
	}
	defer log.Close()
	argv := append(append([]string{}, g.Executor...), "run", "--context", start, "--hold", strconv.Itoa(claimFD))
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{s.held}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: executor cannot be started: %w", s.ID, err)
	}
	s.child = cmd
	if err := g.attach(s, cmd.Process.Pid); err != nil {
		return nil, err
	}
	return s.native, nil
}

// attach begins to watch the executor of a slot. The slot is locked.
func (g *gang) attach(s *slot, pid int) error {
	n, err := native(pid)
	if err == nil {
		s.proc, err = Watch(pid)
	}
	if err != nil {
		// It ended before we could look: it is reaped and reported like any other.
		g.Log.Debug("executor ended at once", "slot", s.ID, "error", err)
		n = Native{PID: pid}
	}
	if s.native, err = json.Marshal(n); err != nil {
		return err
	}
	// Only for a successor that finds the start in no journal.
	if err := replaceFile(filepath.Join(g.slotDir(s.ID), nativeFile), s.native); err != nil {
		g.Log.Warn("executor is not noted", "slot", s.ID, "error", err)
	}
	if s.held != nil {
		s.held.Close()
		s.held = nil
	}
	g.owned.Go(func() { g.watch(s, s.proc, s.child) })
	return nil
}

// watch waits for the end of an executor and then of its guardian, and says so.
func (g *gang) watch(s *slot, proc *Process, child *exec.Cmd) {
	if proc != nil {
		err := proc.Wait(g.life)
		if g.life.Err() != nil {
			return
		}
		if err != nil {
			g.Log.Warn("executor cannot be waited for", "slot", s.ID, "error", err)
		}
	}
	how, status := "vanished", 0 // not our child: nobody can tell its status
	if child != nil {
		child.Wait() // all that it can say is in the state
		how, status = ending(child.ProcessState)
	}
	g.awaitFree(s, how, status, child != nil && executor.Orderly(child.ProcessState.ExitCode()))
}

// endHolders kills what still holds the claim of a slot whose executor has ended.
func (g *gang) endHolders(s *slot) {
	for _, pid := range holders(s.probe) {
		g.Log.Warn("a guardian does not end and is killed", "slot", s.ID, "pid", pid)
		if p, err := Watch(pid); err == nil { // else it has gone by itself
			if err := errors.Join(p.Kill(unix.SIGKILL), p.Close()); err != nil {
				g.Log.Warn("guardian cannot be killed", "slot", s.ID, "error", err)
			}
		}
	}
}

// leftTime is how long what is left of a slot may take to go after its kill.
const leftTime = 10 * time.Second

// endLeft ends what nobody ended because executor and guardian were killed at
// the same moment.
func (g *gang) endLeft(s *slot) {
	var c executor.Context
	if err := readJSON(filepath.Join(g.slotDir(s.ID), startFile), &c); err != nil || c.Root == "" {
		return // nothing was ever started in it
	}
	ctx, cancel := context.WithTimeout(g.life, leftTime)
	defer cancel()
	if rest := (process.Left{Cgroup: c.Cgroup, Environ: "MUSTER_DIR=" + c.Root + "/"}).End(ctx); rest != nil {
		g.Log.Warn("processes are left that cannot be killed", "slot", s.ID, "pids", rest)
	}
}

// ending says how a process ended, and its status as a shell gives it.
func ending(p *os.ProcessState) (string, int) {
	if w, ok := p.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return "was killed by " + unix.SignalName(w.Signal()), 128 + int(w.Signal())
	}
	return fmt.Sprintf("ended with status %d", p.ExitCode()), p.ExitCode()
}

// freeTick is how often a claim is looked at once its executor has ended: its
// guardian needs moments to end what is left.
const freeTick = 10 * time.Millisecond

// holderTime is how long a guardian may hold a claim after the end of its
// executor. It kills at once and then waits for what cannot be killed; one that
// takes longer is stopped or stuck, and is killed like all else.
const holderTime = 30 * time.Second

// awaitFree waits until nothing of a slot is left and reports it. An executor that
// ended well has seen to the end of its tree; only after another end (both killed, at
// worst) a look at all processes of the machine is needed.
func (g *gang) awaitFree(s *slot, how string, status int, well bool) {
	tick := time.NewTicker(freeTick)
	defer tick.Stop()
	late := time.NewTimer(holderTime)
	defer late.Stop()
	for s.probe != nil {
		free, err := Free(s.probe)
		if err != nil {
			g.Log.Warn("claim cannot be looked at", "slot", s.ID, "error", err)
		}
		if free {
			break
		}
		select {
		case <-g.life.Done():
			return
		case <-late.C:
			g.endHolders(s)
		case <-tick.C:
		}
	}
	if !well {
		g.endLeft(s)
	}
	s.mu.Lock()
	released := s.released
	s.mu.Unlock()
	gone := backend.Gone{Slot: s.ID, Status: status}
	if !released {
		gone.Class, gone.Reason = event.ClassLost, "executor "+how
		// What an executor wrote last explains an end of its own, not a kill.
		if last := lastLine(filepath.Join(g.slotDir(s.ID), logFile)); last != "" && status > 0 && status < 128 {
			gone.Reason += ": " + last
		}
	}
	g.forget(s, gone)
}

// forget ends a slot of which nothing is left.
func (g *gang) forget(s *slot, gone backend.Gone) {
	g.mu.Lock()
	delete(g.slots, s.ID)
	g.mu.Unlock()
	s.mu.Lock()
	if s.probe != nil {
		os.Remove(s.probe.Name())
	}
	s.mu.Unlock()
	s.letGo()
	g.tell(backend.Event{Gone: &gone})
	close(s.gone)
}

// giveBack ends a slot that has no executor. It says whether it did.
func (s *slot) giveBack(g *gang) bool {
	s.mu.Lock()
	if s.native != nil || s.held == nil || s.released {
		s.mu.Unlock()
		return false
	}
	s.released = true
	s.mu.Unlock()
	g.forget(s, backend.Gone{Slot: s.ID})
	g.sayLaunched([]string{s.ID}) // the server holds the claim, too, until then
	return true
}

// stop ends a slot's executor.
func (s *slot) stop(g *gang, now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.released
	s.released = true
	if now && !s.killed {
		s.killed = true
		close(s.kill)
	}
	if first && s.proc != nil {
		g.owned.Go(func() { s.end(g, s.proc) })
	}
}

// end asks an executor to end, and kills it when the grace is over.
func (s *slot) end(g *gang, proc *Process) {
	grace := time.NewTimer(g.grace(s))
	defer grace.Stop()
	select {
	case <-s.kill:
	default:
		if err := proc.Kill(unix.SIGTERM); err != nil {
			g.Log.Warn("executor cannot be asked to end", "slot", s.ID, "error", err)
		}
		select {
		case <-s.gone:
			return
		case <-g.life.Done():
			return
		case <-s.kill:
		case <-grace.C:
		}
	}
	if err := proc.Kill(unix.SIGKILL); err != nil {
		g.Log.Warn("executor cannot be killed", "slot", s.ID, "error", err)
	}
}

// grace is what the tasks of a slot have to end, and a little more for their
// executor, which gives it to them.
func (g *gang) grace(s *slot) time.Duration {
	grace := 30 * time.Second
	if r := g.plan.Role(s.Task.Role); r != nil && r.StopGrace > 0 {
		grace = time.Duration(r.StopGrace)
	}
	return grace + 10*time.Second
}

// letGo closes what we have open of a slot.
func (s *slot) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range []*os.File{s.held, s.probe} {
		if f != nil {
			f.Close()
		}
	}
	s.held = nil
	if s.proc != nil {
		s.proc.Close()
	}
}

// lastLine is the last thing that an executor said.
func lastLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const enough = 512
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	data, err := io.ReadAll(io.NewSectionReader(f, max(0, end-enough), enough))
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	data = bytes.TrimSpace(data)
	return string(bytes.ToValidUTF8(data[bytes.LastIndexByte(data, '\n')+1:], nil))
}
