package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cgroup is a tree's own cgroup: one directory in each hierarchy that serves a
// purpose. A dozen files are written here and read, in both versions; the
// opencontainers library does that and much more that we do not want (devices,
// an eBPF assembler, systemd and D-Bus), and it refuses what we do on hybrid
// machines: kill by version 2, limit memory by version 1.
type cgroup struct {
	dirs    []string
	unified string // the one of version 2; empty: none
	rooms   []room // those of version 1
	memory  bool   // the memory limit is the kernel's
	events  string // the file that counts kills for memory
	most    string // the file with the peak
	killer  string // the file that kills all; empty before Linux 5.14 and without version 2
}

// ours is the name of a level of cgroups that belongs to muster: it and what is
// below it is removed when it is empty.
const ours = "muster"

// makeCgroup makes what can be made, or returns nil.
func makeCgroup(l Limits) *cgroup {
	c := &cgroup{}
	hs := mounted()
	// Version 2 first: where it has a controller version 1 cannot.
	slices.SortStableFunc(hs, func(a, b hierarchy) int { return len(a.controllers) - len(b.controllers) })
	cpus := l.CPUSet != ""
	for _, h := range hs {
		switch {
		case h.controllers == nil:
			if dir := h.make(l.Cgroup); dir != "" {
				c.dirs, c.unified = append(c.dirs, dir), dir
				c.second(dir, l)
				cpus = cpus && put(dir, "cpuset.cpus", l.CPUSet) != nil
			}
		case h.has("memory") && l.Memory > 0 && !c.memory:
			if dir := h.make(l.Cgroup); dir != "" {
				c.old(h, dir)
				c.first(dir, l)
			}
		case h.has("cpuset") && cpus:
			if dir := h.make(l.Cgroup); dir != "" {
				c.old(h, dir)
				_ = put(dir, "cpuset.cpus", l.CPUSet) // the affinity holds anyway
			}
		}
	}
	if len(c.dirs) == 0 {
		return nil
	}
	return c
}

// old notes a directory of version 1.
func (c *cgroup) old(h hierarchy, dir string) {
	c.dirs = append(c.dirs, dir)
	c.rooms = append(c.rooms, room{filepath.Join(dir, "tasks"), filepath.Join(h.here(), "tasks")})
}

// second sets limits in version 2.
func (c *cgroup) second(dir string, l Limits) {
	if exists(dir, "cgroup.kill") {
		c.killer = filepath.Join(dir, "cgroup.kill")
	}
	if l.Memory > 0 && put(dir, "memory.max", strconv.FormatInt(l.Memory, 10)) == nil {
		_ = put(dir, "memory.swap.max", "0") // absent without swap accounting
		c.memory = true
		c.events, c.most = filepath.Join(dir, "memory.events"), filepath.Join(dir, "memory.peak")
	}
}

// first sets limits in version 1.
func (c *cgroup) first(dir string, l Limits) {
	bytes := strconv.FormatInt(l.Memory, 10)
	if put(dir, "memory.limit_in_bytes", bytes) != nil {
		return
	}
	_ = put(dir, "memory.memsw.limit_in_bytes", bytes) // absent without swap accounting
	c.memory = true
	c.events, c.most = filepath.Join(dir, "memory.oom_control"), filepath.Join(dir, "memory.max_usage_in_bytes")
}

// make makes the directory of a new tree, or returns "" where it cannot be.
func (h hierarchy) make(named string) string {
	parent := h.parent(named)
	if parent == "" {
		return ""
	}
	leaf := "tree-" + strconv.Itoa(os.Getpid())
	// An ending neighbour may remove a level between our steps.
	for range 8 {
		if h.levels(parent) != nil {
			return ""
		}
		dir := filepath.Join(parent, leaf)
		err := os.Mkdir(dir, 0o755)
		if errors.Is(err, fs.ErrExist) {
			// Left by a guardian of this pid that died along with its executor.
			if syscall.Rmdir(dir) != nil {
				return ""
			}
			continue
		}
		if err == nil {
			h.ready(dir)
			return dir
		}
	}
	return ""
}

// levels makes the levels down to dir and lets each hand its controllers on.
func (h hierarchy) levels(dir string) error {
	rel, err := filepath.Rel(h.mount, dir)
	if err != nil || strings.HasPrefix(rel, "..") {
		return fmt.Errorf("cgroup %s: is not below %s", dir, h.mount)
	}
	at := h.mount
	h.hand(at)
	for name := range strings.SplitSeq(rel, "/") {
		at = filepath.Join(at, name)
		err := os.Mkdir(at, 0o755)
		switch {
		case err == nil:
			h.ready(at)
		case !errors.Is(err, fs.ErrExist):
			return err
		}
		h.hand(at)
	}
	return nil
}

// hand lets the children of a version 2 cgroup have the controllers that we use.
// The kernel refuses where processes are in it.
func (h hierarchy) hand(dir string) {
	if h.controllers != nil {
		return
	}
	for _, c := range []string{"memory", "cpuset"} {
		_ = put(dir, "cgroup.subtree_control", "+"+c)
	}
}

// ready fills what version 1's cpuset wants before it takes a process.
func (h hierarchy) ready(dir string) {
	if !h.has("cpuset") {
		return
	}
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		if text, err := os.ReadFile(filepath.Join(filepath.Dir(dir), name)); err == nil {
			_ = put(dir, name, strings.TrimSpace(string(text))) // attach fails then
		}
	}
}

func (c *cgroup) attach(pid int) error {
	for _, dir := range c.dirs {
		if err := put(dir, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return err
		}
	}
	return nil
}

func (c *cgroup) kill() {
	if c.killer != "" {
		_ = put(filepath.Dir(c.killer), filepath.Base(c.killer), "1") // the sweep follows
	}
}

// killed says whether the kernel has killed something for memory.
func (c *cgroup) killed() bool {
	if c.events == "" {
		return false
	}
	text, _ := os.ReadFile(c.events)
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok {
			return n != "0"
		}
	}
	return false
}

func (c *cgroup) peak() int64 {
	text, _ := os.ReadFile(c.most)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

func (c *cgroup) remove() {
	for _, dir := range c.dirs {
		removeCgroup(dir)
	}
}

// removeTime is how long an emptied cgroup may stay busy: the kernel lets go of
// its last process a moment after that was waited for.
const removeTime = 2 * time.Second

// removeCgroup removes a tree's cgroup and those of our levels above that are
// empty then.
func removeCgroup(dir string) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(removeTime)
	defer limit.Stop()
	for syscall.Rmdir(dir) == syscall.EBUSY {
		select {
		case <-tick.C:
		case <-limit.C:
			return
		}
	}
	for up := filepath.Dir(dir); slices.Contains(strings.Split(up, "/"), ours); up = filepath.Dir(up) {
		if syscall.Rmdir(up) != nil {
			return
		}
	}
}

func put(dir, name, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}
