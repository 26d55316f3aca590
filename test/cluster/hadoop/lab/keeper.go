package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// keeper is the parent of a cluster's daemons.
type keeper struct {
	c   *Cluster
	log io.Writer

	spawn chan func() // run on the thread whose end would kill the daemons
	end   context.CancelFunc

	mu       sync.Mutex
	children map[string]*child
	pids     map[int]bool // everything that was started here and is not yet waited for
	disown   func()       // ends the watch of the present owner
}

type child struct {
	cmd   *exec.Cmd
	since time.Time
	ended chan struct{} // closed when the state is known
	state *os.ProcessState
	asked bool
}

// Keep is the main of a keeper, which has the claim of the ports as its file 3: it
// serves the cluster in dir until it is told to end, is signalled, or its owner
// ends.
func Keep(ctx context.Context, dir string, owner int, log io.Writer) error {
	c, err := Open(dir)
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("keeper: %w", err)
	}
	held, err := inherited()
	if err != nil {
		return err
	}
	defer held.Close()
	_ = os.Remove(c.socket()) // of a keeper that was killed; the ports tell that it has ended
	listener, err := net.Listen("unix", c.socket())
	if err != nil {
		return fmt.Errorf("keeper: %w", err)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	k := &keeper{c: c, log: log, spawn: make(chan func()), end: stop,
		children: map[string]*child{}, pids: map[int]bool{}, disown: func() {}}
	if err := k.own(owner); err != nil {
		return err
	}
	var group sync.WaitGroup
	group.Go(func() { k.spawner(ctx) })
	group.Go(func() { k.reaper(ctx) })
	group.Go(func() { k.serve(ctx, listener) })
	<-ctx.Done()
	listener.Close()
	group.Wait()
	return errors.Join(k.own(0), k.killAll())
}

// spawner starts processes on one thread that lives as long as the keeper: the
// kernel sends the death signal when the thread ends that has started a child.
func (k *keeper) spawner(ctx context.Context) {
	runtime.LockOSThread() // never unlocked, so the thread ends with this goroutine
	for {
		select {
		case f := <-k.spawn:
			f()
		case <-ctx.Done():
			return
		}
	}
}

// reaper takes away orphans that have ended.
func (k *keeper) reaper(ctx context.Context) {
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	defer signal.Stop(died)
	for {
		select {
		case <-died:
			reapOrphans(func(pid int) bool {
				k.mu.Lock()
				defer k.mu.Unlock()
				return k.pids[pid]
			})
		case <-ctx.Done():
			return
		}
	}
}

func (k *keeper) serve(ctx context.Context, listener net.Listener) {
	var group sync.WaitGroup
	defer group.Wait()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return // closed
		}
		group.Go(func() {
			defer conn.Close()
			var r request
			if json.NewDecoder(conn).Decode(&r) != nil {
				return
			}
			answer, err := k.do(ctx, r)
			if err != nil {
				answer.Error = err.Error()
			}
			if r.Op != opList { // asked all the time
				k.note(r.Op, r.Name, r.Args, r.PID, answer.Error)
			}
			_ = json.NewEncoder(conn).Encode(answer) // who asked may have gone
		})
	}
}

func (k *keeper) note(what ...any) {
	fmt.Fprintln(k.log, append([]any{time.Now().Format(time.StampMilli)}, what...)...)
}

func (k *keeper) do(ctx context.Context, r request) (reply, error) {
	switch r.Op {
	case opStart:
		return reply{}, k.start(ctx, r.Name, r.Args)
	case opStop:
		return reply{}, k.stop(ctx, r.Name, syscall.SIGTERM)
	case opKill:
		return reply{}, k.stop(ctx, r.Name, syscall.SIGKILL)
	case opLose:
		return reply{}, k.lose(ctx, r.Name)
	case opPause:
		return reply{}, k.signal(r.Name, syscall.SIGSTOP)
	case opResume:
		return reply{}, k.signal(r.Name, syscall.SIGCONT)
	case opList:
		return reply{Running: k.list()}, nil
	case opOwn:
		return reply{}, k.own(r.PID)
	case opEnd:
		err := k.killAll()
		k.end()
		return reply{}, err
	default:
		return reply{}, errors.New("no such request")
	}
}

// own watches the process that the cluster is for; 0 is nobody.
func (k *keeper) own(pid int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.disown()
	k.disown = func() {}
	if pid == 0 {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("owner %d: %w", pid, err)
	}
	gone, cancel, err := watch(fd)
	if err != nil {
		return fmt.Errorf("owner %d: %w", pid, err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		if gone() {
			k.note("owner", pid, "has ended")
			k.end()
		}
	})
	k.disown = func() { cancel(); group.Wait() }
	return nil
}

// watch returns a function that waits until the process behind fd has ended, and
// one that makes it return early, with false.
func watch(fd int) (gone func() bool, cancel func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		unix.Close(fd)
		return nil, nil, err
	}
	gone = func() bool {
		defer unix.Close(fd)
		defer r.Close()
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(r.Fd()), Events: unix.POLLIN}}
		for {
			if _, err := unix.Poll(fds, -1); !errors.Is(err, unix.EINTR) {
				return fds[0].Revents != 0
			}
		}
	}
	return gone, func() { w.Close() }, nil
}

func (k *keeper) start(ctx context.Context, name string, more []string) error {
	args, err := k.c.command(name, more)
	if err != nil {
		return err
	}
	if old := k.child(name); old != nil && old.running() {
		return errors.New("runs already")
	}
	out, err := os.OpenFile(filepath.Join(k.c.path("logs"), name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = k.c.path("tmp"), k.c.environ(name), out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	run := func() {
		k.mu.Lock() // until the pid is known, lest the reaper takes it for an orphan's
		defer k.mu.Unlock()
		begin := time.Now()
		err := cmd.Start()
		if err == nil {
			c := &child{cmd: cmd, since: begin, ended: make(chan struct{})}
			k.children[name], k.pids[cmd.Process.Pid] = c, true
			go k.wait(c)
		}
		started <- err
	}
	select {
	case k.spawn <- run:
		return <-started
	case <-ctx.Done():
		return errors.New("the cluster is being ended")
	}
}

// wait is owned by the child: killAll waits for ended.
func (k *keeper) wait(c *child) {
	_ = c.cmd.Wait() // the state tells
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.pids, c.cmd.Process.Pid)
	c.state = c.cmd.ProcessState
	close(c.ended)
}

func (k *keeper) child(name string) *child {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.children[name]
}

func (c *child) running() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

func (k *keeper) signal(name string, sig syscall.Signal) error {
	c := k.child(name)
	if c == nil || !c.running() {
		return errors.New("does not run")
	}
	return c.cmd.Process.Signal(sig)
}

// stop sends a signal and waits for the end; what does not end is killed, since
// the next start needs its ports and locks.
func (k *keeper) stop(ctx context.Context, name string, sig syscall.Signal) error {
	c := k.child(name)
	if c == nil || !c.running() {
		return nil
	}
	k.mu.Lock()
	c.asked = true
	k.mu.Unlock()
	_ = c.cmd.Process.Signal(sig) // it may have ended meanwhile
	_ = c.cmd.Process.Signal(syscall.SIGCONT)
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	select {
	case <-c.ended:
		return nil
	case <-late.C:
	case <-ctx.Done():
	}
	_ = c.cmd.Process.Kill()
	<-c.ended
	return nil
}

// lose kills a NodeManager together with its containers, which are found by
// their parents and, those of an earlier NodeManager, by their environment.
func (k *keeper) lose(ctx context.Context, name string) error {
	find := func() []int { return k.c.marked(name) }
	if c := k.child(name); c != nil && c.running() {
		k.mu.Lock()
		c.asked = true
		k.mu.Unlock()
		pid := c.cmd.Process.Pid
		_ = c.cmd.Process.Signal(syscall.SIGSTOP) // or it would start others
		for _, p := range below(pid) {
			_ = syscall.Kill(p, syscall.SIGKILL)
		}
		if err := k.stop(ctx, name, syscall.SIGKILL); err != nil {
			return err
		}
	}
	return sweep(ctx, find)
}

func (k *keeper) list() []Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []Status
	for _, name := range k.c.Names() {
		s := Status{Name: name}
		if c := k.children[name]; c != nil {
			s.Asked, s.Since = c.asked, c.since
			if c.running() {
				s.PID = c.cmd.Process.Pid
			} else {
				s.Ended = c.state.String()
			}
		}
		all = append(all, s)
	}
	return all
}

// killAll ends everything: nothing of a cluster is worth an orderly end.
func (k *keeper) killAll() error {
	k.mu.Lock()
	all := maps.Clone(k.children)
	for _, c := range all {
		c.asked = true
		if c.running() {
			_ = c.cmd.Process.Kill()
		}
	}
	k.mu.Unlock()
	for _, c := range all {
		<-c.ended
	}
	return sweep(context.Background(), func() []int { return append(below(os.Getpid()), k.c.marked("")...) })
}
