// Package process runs a task's processes under a guardian: argument lists,
// environments and limits come in; pids, usage and exit statuses come out, and
// nothing of the tree is left behind.
//
//	executor ──pipes── guardian (own session, subreaper)
//	                      ├─ process 0 (own group) ─ its children …
//	                      └─ process 1 (own group) …
//
// The guardian is the parent of the user's processes and the reaper of their
// orphans; it captures their output. When the pipe to the executor closes it
// kills the whole tree, also what left the process group. When the guardian is
// killed, the executor (a subreaper too) inherits the tree and kills it.
package process

import (
	"syscall"
	"time"
)

// Spec is one task's processes.
type Spec struct {
	Guardian []string // command line of the guardian: this binary and its hidden verb
	Procs    []Proc
	MaxSize  int64 // rotate a log file at this size
	Keep     int   // rotated files kept beside the current one
	Umask    int
	Limits   Limits
}

// Proc is one process. Its output goes to the files Stdout and Stderr, each
// with an index of times beside it (".idx").
type Proc struct {
	Argv   []string
	Env    []string // complete: nothing is inherited
	Dir    string
	Stdout string
	Stderr string
}

// Limits of the whole tree; zero means none. What the kernel cannot enforce
// here is enforced by watching.
type Limits struct {
	CPUSet string
	Memory int64
	Cgroup string // parent cgroup, relative to each hierarchy
}

// Result is how a tree ended.
type Result struct {
	Procs []Exit
	// First is the index in Procs of the process that ended first and badly, or
	// -1. The others were then stopped on its behalf.
	First  int
	Peak   int64  // resident bytes
	Memory bool   // over its memory limit
	Lost   string // not empty: the guardian itself was lost, and how
	Left   []int  // pids that could not be killed
}

// Exit is the end of one process.
type Exit struct {
	PID     int
	Status  int            // as a shell gives it
	Signal  syscall.Signal // 0 if it exited
	Stopped bool           // it ended after Stop
	At      time.Time
	Error   string // not empty: it did not start
}

// Usage is what the tree uses now.
type Usage struct {
	CPU    time.Duration
	Memory int64
	Procs  int
}
