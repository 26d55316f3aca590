package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Process is one process that is watched through a descriptor, child of ours
// or not. The descriptor never means another process, whatever happens to the
// number.
type Process struct {
	PID  int
	file *os.File
}

// Watch opens a process. It fails with unix.ESRCH if there is none.
func Watch(pid int) (*Process, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("process %d: cannot be watched: %w", pid, err)
	}
	return &Process{PID: pid, file: os.NewFile(uintptr(fd), "pidfd")}, nil
}

// Close lets go of the process. A Wait that still runs returns.
func (p *Process) Close() error { return p.file.Close() }

// Wait returns nil when the process has ended, or why it cannot wait.
func (p *Process) Wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = p.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	err = raw.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Kill sends a signal. A process that has ended is fine.
func (p *Process) Kill(sig unix.Signal) error {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), sig, nil, 0) })
	if errors.Is(sent, unix.ESRCH) {
		sent = nil
	}
	return errors.Join(err, sent)
}

// Native is what finds an executor again: a number alone may be another
// process's by now, also after the machine was started again.
type Native struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // ticks after the machine's start
	Boot  string `json:"boot"`
}

// native describes a living process.
func native(pid int) (Native, error) {
	start, state, err := startTime(pid)
	if err != nil {
		return Native{}, err
	}
	if state == 'Z' {
		return Native{}, fmt.Errorf("process %d: has ended", pid)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return Native{PID: pid, Start: start, Boot: strings.TrimSpace(string(boot))}, err
}

// find opens the process that n describes, and fails if it is gone.
func (n Native) find() (*Process, error) {
	p, err := Watch(n.PID)
	if err != nil {
		return nil, err
	}
	// Only now: the descriptor keeps the number from being taken by another.
	now, err := native(n.PID)
	if err == nil && now != n {
		err = fmt.Errorf("process %d: is another one by now", n.PID)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// holders are the guardians that have a file open: processes of this program,
// or of one like it, that are no server and no coordinator. Those have claims
// open too, to look at them or to hand them on.
func holders(claim *os.File) []int {
	info, err := claim.Stat()
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || !strings.HasSuffix(string(line), "\x00guardian\x00") {
			continue
		}
		if hasOpen(e.Name(), info) {
			found = append(found, pid)
		}
	}
	return found
}

func hasOpen(pid string, file os.FileInfo) bool {
	dir := filepath.Join("/proc", pid, "fd")
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false // another user's
	}
	return slices.ContainsFunc(fds, func(fd os.DirEntry) bool {
		at, err := os.Stat(filepath.Join(dir, fd.Name()))
		return err == nil && os.SameFile(at, file)
	})
}

// startTime reads field 22 of stat; the name before it may hold anything.
func startTime(pid int) (start uint64, state byte, err error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, err
	}
	_, rest, _ := cutLast(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return 0, 0, fmt.Errorf("process %d: its stat line is too short", pid)
	}
	start, err = strconv.ParseUint(fields[19], 10, 64)
	return start, fields[0][0], err
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
