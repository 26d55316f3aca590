package process

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// rounds bounds how often one sweep looks for what was forked meanwhile. A sweep
// is repeated until nothing is left, so it need not be high.
const rounds = 32

// sweep kills once all that find finds. Everything is first stopped, until a
// look finds nothing new: a process that was stopped can neither fork nor act on
// the death of its children, so the tree holds still while it is killed.
//
// Signals go to whole groups as well as to each process, since the kernel sends
// to a group in one step that no fork can slip through.
func sweep(find func() []entry, kill func(int, syscall.Signal) error) {
	send := func(pid int, sig syscall.Signal) {
		_ = kill(pid, sig) // what has gone meanwhile needs none
	}
	own := unix.Getpgrp()
	pids, groups := map[int]bool{}, map[int]bool{}
	for range rounds {
		fresh := false
		for _, e := range find() {
			if e.zombie || pids[e.pid] {
				continue
			}
			fresh = true
			pids[e.pid] = true
			if e.group != own && e.group > 1 && !groups[e.group] {
				groups[e.group] = true
				send(-e.group, syscall.SIGSTOP)
			}
			send(e.pid, syscall.SIGSTOP)
		}
		if !fresh {
			break
		}
	}
	for group := range groups {
		send(-group, syscall.SIGKILL)
	}
	for pid := range pids {
		send(pid, syscall.SIGKILL)
	}
}
