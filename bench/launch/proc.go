package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reapHere makes this process the parent of what its commands leave behind.
func reapHere() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// proc is a process as /proc shows it.
type proc struct {
	pid, parent int
	zombie      bool
	cpu         time.Duration // its own, and that of the children it has waited for
}

// tick is the unit of processor times in /proc, the same on every Linux.
const tick = 10 * time.Millisecond

func look(pid int) (proc, bool) {
	data, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return proc{}, false
	}
	// The second field is a name, in parentheses, that may hold anything.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	number := func(n int) int { // by the numbers of proc(5)
		value, _ := strconv.Atoi(fields[n-3])
		return value
	}
	return proc{pid: pid, parent: number(4), zombie: fields[0] == "Z",
		cpu: time.Duration(number(14)+number(15)+number(16)+number(17)) * tick}, true
}

// below is everything that descends from this process.
func below() []proc { return from(os.Getpid()) }

// under is a process and all that descends from it.
func under(pid int) []int { return append(pids(from(pid)), pid) }

func from(root int) []proc {
	entries, _ := os.ReadDir("/proc") // always readable on Linux
	children := map[int][]proc{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := look(pid); ok {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	var found []proc
	for todo := []int{root}; len(todo) > 0; todo = todo[1:] {
		for _, p := range children[todo[0]] {
			found = append(found, p)
			todo = append(todo, p.pid)
		}
	}
	return found
}

func pids(all []proc) []int {
	var out []int
	for _, p := range all {
		if !p.zombie {
			out = append(out, p.pid)
		}
	}
	slices.Sort(out)
	return out
}

// spent is the processor time of all children of this process that it has waited
// for, and of these that run.
func spent(running []proc) time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &r) // cannot fail with these arguments
	sum := time.Duration(r.Utime.Nano() + r.Stime.Nano())
	for _, p := range running {
		sum += p.cpu
	}
	return sum
}

// reap takes the statuses of orphans that have ended. It must not be called while
// a command of ours runs, but for those in known.
func reap(known []int) {
	for _, p := range below() {
		if p.zombie && p.parent == os.Getpid() && !slices.Contains(known, p.pid) {
			var status syscall.WaitStatus
			for {
				if _, err := syscall.Wait4(p.pid, &status, syscall.WNOHANG, nil); !errors.Is(err, syscall.EINTR) {
					break
				}
			}
		}
	}
}

// kibibytes is one line of a file of /proc, in bytes.
func kibibytes(pid int, file, key string) int64 {
	data, _ := os.ReadFile(procFile(pid, file)) // nothing where it has ended
	_, rest, ok := strings.Cut(string(data), "\n"+key)
	if !ok {
		return 0
	}
	kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kib << 10
}

func program(pid int) string {
	path, _ := os.Readlink(procFile(pid, "exe"))
	return path
}

// verb is a process's first argument.
func verb(pid int) string {
	data, _ := os.ReadFile(procFile(pid, "cmdline"))
	words := strings.Split(string(data), "\x00")
	if len(words) < 2 {
		return ""
	}
	return words[1]
}

func procFile(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}
