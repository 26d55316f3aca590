package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Starter starts a user's own server when none answers.
type Starter struct {
	Socket string
	State  string
	Argv   []string // command line of the server; empty: somebody else starts it
	Env    []string // nil: this process's own

	mu    sync.Mutex
	child int // a server that we started, until it is reaped
}

const (
	startWait = 15 * time.Second // for a server to answer
	lookEvery = 10 * time.Millisecond
)

// Ensure returns when a server answers. Of two clients that call it at the same
// moment one starts the server and the other finds it.
func (s *Starter) Ensure(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.Argv) == 0 { // not ours to start, and its state directory not ours to touch
		if s.answers(ctx) {
			return nil
		}
		return Errorf(CodeBusy, "%s: the machine's server does not answer", s.Socket).WithHint("its administrator starts it with: muster serve --shared")
	}
	if err := os.MkdirAll(s.State, 0o700); err != nil {
		return unwritable(s.State, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startWait, fmt.Errorf("%s: no server answers within %v", s.Socket, startWait))
	defer cancel()
	lock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	if s.answers(ctx) {
		return nil
	}
	s.reap()
	return s.start(ctx)
}

func unwritable(path string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return &Error{Code: CodeStorage, Text: fmt.Sprintf("%s: state directory cannot be written: %v", path, err),
		Tip: "set MUSTER_HOME to a directory that can"}
}

// lock keeps others from starting a server at the same time. Its holder may be
// such a one, so waiting for it is waiting for the server.
func (s *Starter) lock(ctx context.Context) (*os.File, error) {
	path := filepath.Join(s.State, "start.lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unwritable(path, err)
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if err != unix.EWOULDBLOCK && err != unix.EINTR {
			f.Close()
			return nil, fmt.Errorf("%s: cannot be locked: %w", path, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func (s *Starter) answers(ctx context.Context) bool {
	c := NewClient(s.Socket, nil)
	defer c.Close()
	_, err := c.Hello(ctx)
	return !Away(err)
}

// start starts a server in a session of its own, so that no terminal and no
// client takes it along, and waits until it answers.
func (s *Starter) start(ctx context.Context) error {
	path := filepath.Join(s.State, "serve.log")
	log, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return unwritable(path, err)
	}
	defer log.Close()
	begin, err := log.Seek(0, 2)
	if err != nil {
		return unwritable(path, err)
	}
	cmd := exec.Command(s.Argv[0], s.Argv[1:]...)
	cmd.Env, cmd.Dir = s.Env, "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("server: cannot be started: %w", err)
	}
	s.child = cmd.Process.Pid
	if err := cmd.Process.Release(); err != nil {
		return err
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if s.answers(ctx) {
			return nil
		}
		if s.reap() {
			return &Error{Code: CodeInternal, Text: "server: ended right after its start: " + lastLines(log, begin), Tip: "its log is " + path}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// reap collects a server that we started and that has ended.
func (s *Starter) reap() bool {
	if s.child == 0 {
		return false
	}
	var status unix.WaitStatus
	pid, err := unix.Wait4(s.child, &status, unix.WNOHANG, nil)
	if pid == s.child || errors.Is(err, unix.ECHILD) {
		s.child = 0
		return true
	}
	return false
}

// lastLines is what the server said of its end.
func lastLines(log *os.File, begin int64) string {
	data := make([]byte, 4096)
	n, _ := log.ReadAt(data, begin)
	text := strings.TrimSpace(string(data[:n]))
	if text == "" {
		return "it said nothing"
	}
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return text
}

// Connect makes a client of a user's own server, started if need be, and sees
// to it that both are of one mind: an older server of ours without jobs is
// replaced by this version's; one with jobs goes on if it speaks our protocol.
func Connect(ctx context.Context, s *Starter, version string) (*Client, Hello, error) {
	c := NewClient(s.Socket, s.Ensure)
	h, err := c.Hello(ctx)
	if err == nil && h.Version != version && !h.Shared && h.UID == os.Getuid() {
		h, err = replace(ctx, c, h)
	}
	if err == nil && h.API != Version {
		err = Errorf(CodeVersion, "%s: the server is muster %s and speaks version %d, this is %s and speaks %d", s.Socket, h.Version, h.API, version, Version).
			WithHint("muster serve --stop ends it without touching jobs; the next command starts the one that fits")
	}
	if err != nil {
		c.Close()
		return nil, h, err
	}
	return c, h, nil
}

// replace ends another version's server if it has no jobs, and starts ours.
func replace(ctx context.Context, c *Client, old Hello) (Hello, error) {
	err := c.Shutdown(ctx, true)
	var e *Error
	if errors.As(err, &e) && e.Code == CodeBusy {
		return old, nil
	}
	if err != nil && !Away(err) {
		return old, err
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		h, err := c.Hello(ctx)
		if err != nil || h.PID != old.PID {
			return h, err
		}
		select {
		case <-ctx.Done():
			return h, fmt.Errorf("%s: the old server (%s) does not end: %w", c.Socket, old.Version, ctx.Err())
		case <-tick.C:
		}
	}
}
