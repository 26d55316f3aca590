package process

import (
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// living are the guardians of this process that have not been waited for, so
// that their trees are not taken for an inheritance.
var living = guardians{pids: map[int]bool{}}

type guardians struct {
	mu   sync.Mutex
	pids map[int]bool
	heir bool // this process is a subreaper
}

// Subreaper makes this process inherit the tree of a guardian that was killed.
// An executor calls it once, before its first Start. Its own helper processes
// must stay in its session: what is below it in another session is taken for an
// inheritance once a guardian is lost.
func Subreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("executor: cannot become subreaper: %w", err)
	}
	living.mu.Lock()
	defer living.mu.Unlock()
	living.heir = true
	return nil
}

// start starts a guardian under the lock, since one that is born but not noted
// would look like an orphan.
func (g *guardians) start(cmd *exec.Cmd) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	g.pids[cmd.Process.Pid] = true
	return nil
}

func (g *guardians) wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.pids, cmd.Process.Pid)
	return err
}

// orphans are what came to this process from dead guardians: all below its
// children that are in another session than its own and are no guardian.
func (g *guardians) orphans() []entry {
	if !g.heir {
		return nil
	}
	own, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	all := snapshot()
	var found []entry
	for _, e := range all.children(unix.Getpid()) {
		if e.session != own && !g.pids[e.pid] {
			found = append(append(found, e), all.below(e.pid)...)
		}
	}
	return found
}

// lost is the result of a tree whose guardian has gone without giving one.
func (t *Tree) lost(cause error) Result {
	r := Result{First: -1, Lost: "guardian ended without a word"}
	if cause != nil {
		r.Lost = "guardian ended: " + cause.Error()
	}
	ends, left := t.inherit()
	r.Left = left
	t.mu.Lock()
	stopped := t.stopped
	t.mu.Unlock()
	for _, pid := range t.pids {
		e, known := ends[pid]
		if !known {
			// Its end was seen by the guardian, which could not tell any more.
			e = Exit{PID: pid, Status: 128 + int(syscall.SIGKILL), Signal: syscall.SIGKILL, At: time.Now()}
		}
		e.Stopped = stopped
		r.Procs = append(r.Procs, e)
	}
	for _, dir := range t.cgroups {
		removeCgroup(dir)
	}
	return r
}

// inherit kills and reaps what a dead guardian left to this process. It waits
// by pid only: other children of the executor have other waiters.
func (t *Tree) inherit() (ends map[int]Exit, left []int) {
	ends = map[int]Exit{}
	limit := time.NewTimer(t.spec.Second)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		rest := living.sweep(ends)
		if len(rest) == 0 {
			return ends, nil
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return ends, rest
		}
	}
}

// sweep kills all orphans once and reaps those that have ended. It returns the
// pids that are still there.
func (g *guardians) sweep(ends map[int]Exit) []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	sweep(g.orphans, syscall.Kill)
	var rest []int
	for _, e := range g.orphans() {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(e.pid, &status, syscall.WNOHANG|unix.WALL, nil)
		if err == nil && pid == e.pid {
			ends[pid] = exitOf(pid, status)
			continue
		}
		rest = append(rest, e.pid)
	}
	return rest
}
