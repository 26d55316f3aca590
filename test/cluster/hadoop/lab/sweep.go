package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// sweep kills what find finds until it finds nothing more. Everything is stopped
// first, so that nothing forks while it is looked at.
func sweep(ctx context.Context, find func() []int) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		pids := find()
		if len(pids) == 0 {
			return nil
		}
		for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
			for _, pid := range pids {
				_ = syscall.Kill(pid, sig) // it may have ended meanwhile
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("processes %v: still there after SIGKILL: %w", pids, ctx.Err())
		}
	}
}

// marked lists the processes of a cluster, or those of one of its daemons: those
// that have its mark in their environment, and those that run in the folders of a
// NodeManager. The shell that starts a container has no mark yet. This process is
// never one of them.
func (c *Cluster) marked(name string) []int {
	prefix := []byte(mark(c.Dir, name))
	folder := c.path("data", name) + "/"
	var pids []int
	for _, pid := range processes() {
		if pid == os.Getpid() {
			continue
		}
		data, _ := os.ReadFile(procFile(pid, "environ")) // it may have ended, or be somebody else's
		dir, _ := os.Readlink(procFile(pid, "cwd"))
		if strings.HasPrefix(dir, folder) || slices.ContainsFunc(bytes.Split(data, []byte{0}), func(v []byte) bool { return bytes.HasPrefix(v, prefix) }) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// below lists the descendants of a process that still run.
func below(root int) []int {
	children := map[int][]int{}
	for _, pid := range processes() {
		if parent, state, ok := parentOf(pid); ok && state != 'Z' {
			children[parent] = append(children[parent], pid)
		}
	}
	var found []int
	for next := []int{root}; len(next) > 0; {
		pid := next[0]
		next = append(next[1:], children[pid]...)
		found = append(found, children[pid]...)
	}
	return found
}

func processes() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

func procFile(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// parentOf reads a process's parent and its state from /proc. The name, which may
// hold anything, ends with the last parenthesis.
func parentOf(pid int) (parent int, state byte, ok bool) {
	data, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return 0, 0, false
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 2 {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	return parent, fields[0][0], err == nil
}

// reapOrphans takes the status of orphans that have ended. Those that the keeper
// started itself, own, are waited for elsewhere.
func reapOrphans(own func(pid int) bool) {
	for _, pid := range processes() {
		parent, state, ok := parentOf(pid)
		if !ok || parent != os.Getpid() || state != 'Z' || own(pid) {
			continue
		}
		for {
			_, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			if !errors.Is(err, syscall.EINTR) {
				break
			}
		}
	}
}
