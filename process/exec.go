package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// Exec is one more process in a running tree, with the tree's limits. The tree
// does not wait for it: when the processes of the specification have ended, it
// is killed like everything else that is left.
//
// It leads a session of its own, as one that sshd starts does, so that Kill
// finds what it has started. What makes yet another session is ended with the
// tree only.
type Exec struct {
	tree    *Tree
	id      int
	pid     int
	started chan struct{} // closed when pid is known, or exit
	done    chan struct{} // closed when exit is final
	exit    Exit
}

// Exec starts one more process. Its standard files are given to it and not
// captured; they must be pipes, and stay the caller's to close. Once Exec has
// returned the process has them. A program that does not start is no error here
// but an Exit with Error.
func (t *Tree) Exec(p Proc, files [3]*os.File) (*Exec, error) {
	x := &Exec{tree: t, started: make(chan struct{}), done: make(chan struct{})}
	t.mu.Lock()
	t.next++
	x.id = t.next
	t.execs[x.id] = x
	t.mu.Unlock()
	o := execOrder{ID: x.id, Proc: p}
	for i, f := range files {
		// The guardian is our child and has our user: it may open what we have open.
		o.Files[i] = "/proc/" + strconv.Itoa(os.Getpid()) + "/fd/" + strconv.Itoa(int(f.Fd()))
	}
	err := t.order(order{Exec: &o})
	if err == nil {
		select {
		case <-x.started:
		case <-t.done:
		}
	}
	runtime.KeepAlive(files)
	select {
	case <-x.started:
		return x, nil
	default:
	}
	t.mu.Lock()
	delete(t.execs, x.id)
	t.mu.Unlock()
	return nil, fmt.Errorf("%s: not started: the task has ended", name(p))
}

// PID is 0 for a process that did not start.
func (x *Exec) PID() int { return x.pid }

// Done is closed when the process has ended.
func (x *Exec) Done() <-chan struct{} { return x.done }

// Exit is how the process ended. It waits for Done.
func (x *Exec) Exit() Exit {
	<-x.done
	return x.exit
}

// Signal sends sig to the group that the process leads. One that has ended gets
// none.
func (x *Exec) Signal(sig syscall.Signal) error {
	return x.tree.order(order{Hit: &hitOrder{ID: x.id, Signal: sig}})
}

// Kill sends sig to all that the process has started and that is still in its
// session, also when the process itself has ended.
func (x *Exec) Kill(sig syscall.Signal) error {
	return x.tree.order(order{Hit: &hitOrder{ID: x.id, Signal: sig, All: true}})
}

// execed takes what the guardian says of a further process.
func (t *Tree) execed(r execed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.execs[r.ID]
	if x == nil {
		return
	}
	select {
	case <-x.started:
	default:
		x.pid = r.PID
		if r.Exit != nil {
			x.exit = *r.Exit
		}
		close(x.started)
	}
	if r.Exit != nil {
		x.exit = *r.Exit
		delete(t.execs, r.ID)
		close(x.done)
	}
}

// endExecs ends what the guardian has no more word of: the tree is gone.
func (t *Tree) endExecs() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, x := range t.execs {
		delete(t.execs, id)
		select {
		case <-x.started:
			x.exit = Exit{PID: x.pid, Status: 128 + int(syscall.SIGKILL), Signal: syscall.SIGKILL, Stopped: true, At: time.Now()}
			close(x.done)
		default: // Exec says so
		}
	}
}

// session is a further process and what it has started. It is remembered as
// long as anything of it lives, for Kill.
type session struct {
	pid   int
	ended bool // the process that leads it
}

// forget drops the sessions of which nothing lives: their pids may be used again.
func (g *guardian) forget() {
	lives := map[int]bool{}
	for _, e := range g.descendants() {
		lives[e.session] = true
	}
	for id, s := range g.execs {
		if s.ended && !lives[s.pid] {
			delete(g.execs, id)
		}
	}
}

// exec starts one more process.
func (g *guardian) exec(o execOrder) {
	g.forget()
	pid, err := g.further(o)
	if err != nil {
		e := refusal{status: cannotRun}
		errors.As(err, &e)
		g.reports <- report{Exec: &execed{ID: o.ID, Exit: &Exit{Status: e.status, Error: err.Error(), At: time.Now()}}}
		return
	}
	g.execs[o.ID] = &session{pid: pid}
	g.reports <- report{Exec: &execed{ID: o.ID, PID: pid}}
}

func (g *guardian) further(o execOrder) (int, error) {
	if g.state != running {
		return 0, refusal{text: name(o.Proc) + ": not started: the task is ending", status: cannotRun}
	}
	path, err := find(o.Proc)
	if err != nil {
		return 0, err
	}
	var fds [3]uintptr
	for i, way := range []int{os.O_RDONLY, os.O_WRONLY, os.O_WRONLY} {
		f, err := os.OpenFile(o.Files[i], way|syscall.O_CLOEXEC, 0)
		if err != nil {
			return 0, fmt.Errorf("%s: not started: its files cannot be opened: %w", name(o.Proc), err)
		}
		defer f.Close()
		fds[i] = f.Fd()
	}
	return g.limit.fork(path, o.Proc, syscall.ProcAttr{
		Dir: o.Proc.Dir, Env: o.Proc.Env, Files: fds[:],
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
}

// execEnded tells of the end of a further process.
func (g *guardian) execEnded(pid int, status syscall.WaitStatus) {
	for id, s := range g.execs {
		if s.pid == pid && !s.ended {
			s.ended = true
			exit := exitOf(pid, status)
			g.reports <- report{Exec: &execed{ID: id, Exit: &exit}}
		}
	}
}

// hit signals a further process's group, or all groups of its session.
func (g *guardian) hit(o hitOrder) {
	s := g.execs[o.ID]
	if s == nil {
		return
	}
	sent := map[int]bool{}
	for _, e := range g.descendants() {
		if e.session == s.pid && (o.All || e.group == s.pid) && !sent[e.group] {
			sent[e.group] = true
			_ = g.kill(-e.group, o.Signal)
		}
	}
}
