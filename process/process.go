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
//
// Shell commands: `bash -c` replaces itself by a single simple command, so that
// signals reach the program itself. With more than one command the shell stays
// and gets the signal along with its children, since they are one process
// group. A shell without a trap then dies at once; what is left of its group
// has the grace to end all the same, so a checkpoint that is being written is
// completed. `exec` before the last command avoids the question.
package process

import (
	"os"
	"syscall"
	"time"
)

// Spec is one task's processes. All paths in it are absolute.
type Spec struct {
	// Guardian is the command line of the guardian: this binary and its hidden verb.
	Guardian []string `json:"-"`
	Procs    []Proc
	MaxSize  int64 // rotate a log file at this size; 0: never
	Keep     int   // rotated files kept beside the current one
	Umask    int
	Limits   Limits

	// Signal and Grace are for stops that nobody ordered: of the others when one of
	// several processes has failed, and of what a shell leaves that died of a
	// signal sent to it. Defaults: SIGTERM, 10 s.
	Signal syscall.Signal
	Grace  time.Duration
	// Second is how long killed processes may take to go before they are
	// reported in Result.Left. Default 10 s.
	Second time.Duration

	// Hold are files that the guardian keeps open as long as anything of the tree
	// lives, such as a lock, and that no process of the tree inherits.
	Hold []*os.File `json:"-"` // inherited, not sent
}

// Proc is one process. Its output goes to the files Stdout and Stderr, each
// with an index of times beside it (".idx"); both may be the same file. Package
// capture reads them.
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
	// Cgroup is the parent cgroup, relative to each hierarchy. Empty: "muster",
	// where this process is in the root of the hierarchy. A cgroup that a resource
	// manager made for us is neither left nor divided unless it is named here.
	Cgroup string
	Watch  bool // make no cgroup
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
	// CPU is what the tree used from start to end.
	CPU time.Duration
}

// Exit is the end of one process.
type Exit struct {
	PID     int
	Status  int            // as a shell gives it
	Signal  syscall.Signal // 0 if it exited
	Stopped bool           // it ended after Stop, or was stopped for another's failure
	At      time.Time
	Error   string // not empty: it did not start
}

// Usage is what the tree uses now.
type Usage struct {
	CPU    time.Duration
	Memory int64
	Procs  int
}
