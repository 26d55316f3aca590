// Package frugal keeps a process small that waits nearly all its life: how many
// threads it needs at once comes in, the runtime's settings go out. It costs a
// little processor time while something happens.
package frugal

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// percent is how much garbage may lie beside what is in use. The runtime's own
// 100 means at least 4 MiB of heap, more than most of our processes ever use.
const percent = 25

// haste is how long a process is left alone: its start is when somebody waits for
// it, and many have ended by then without ever collecting garbage.
const haste = 250 * time.Millisecond

// rooms is how many have Room.
var rooms struct {
	sync.Mutex
	n int
}

// save ends the haste, but not while somebody has Room.
func save() {
	rooms.Lock()
	defer rooms.Unlock()
	if rooms.n == 0 {
		debug.SetGCPercent(percent)
	}
}

// Set makes this process frugal. Each of procs keeps memory of its own ready, so
// a machine with many cores would have a large process do little. What the
// environment says by GOGC and GOMAXPROCS stays.
func Set(procs int, environ []string) {
	says := func(name string) bool {
		return slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, name+"=") && v != name+"=" })
	}
	if ours.Store(!says("GOGC")); ours.Load() {
		time.AfterFunc(haste, save)
	}
	if !says("GOMAXPROCS") && runtime.GOMAXPROCS(0) > procs {
		runtime.GOMAXPROCS(procs)
	}
}
