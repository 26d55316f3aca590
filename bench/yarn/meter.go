package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-project/muster/test/cluster/hadoop/lab"
)

// meter watches the processes of one run and remembers how much memory each had
// at most. Shells do not count: every system starts its containers by some, and
// the task is one.
type meter struct {
	root   int          // this process; the command is below it
	mark   string       // what the environment of the cluster's containers has
	before map[int]bool // what ran already
	procs  map[int]*proc
}

type proc struct {
	place string // the container, or client; empty as long as it is unknown
	peak  int64  // bytes
	looks int    // how often it was nobody's
}

// strange is how often a process may be nobody's before it is not looked at any
// more: one that was just forked becomes a container's with its next program.
const strange = 20

const client = "client"

func newMeter(mark string) *meter {
	m := &meter{root: os.Getpid(), mark: mark, before: map[int]bool{}, procs: map[int]*proc{}}
	for _, pid := range pids() {
		m.before[pid] = true
	}
	return m
}

// watch looks again and again until the context ends.
func (m *meter) watch(ctx context.Context) {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		m.look()
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

func (m *meter) look() {
	for _, pid := range pids() { // parents before their children, as long as pids grow
		if m.before[pid] {
			continue
		}
		p := m.procs[pid]
		if p == nil {
			p = &proc{}
			m.procs[pid] = p
		}
		if p.place == "" {
			p.place = m.placeOf(pid)
		}
		if p.place == "" {
			if p.looks++; p.looks == strange {
				m.before[pid] = true
			}
			continue
		}
		switch exe, err := os.Readlink(procFile(pid, "exe")); filepath.Base(exe) {
		case "bash", "dash", "sh", "sleep", "setsid", "nice":
			continue
		default:
			if err == nil {
				p.peak = max(p.peak, peakOf(pid))
			}
		}
	}
}

// placeOf finds the container of a process by its environment, and what belongs
// to the command by its parent.
func (m *meter) placeOf(pid int) string {
	if parent := statOf(pid).parent; parent == m.root || m.procs[parent] != nil && m.procs[parent].place == client {
		return client
	}
	data, err := os.ReadFile(procFile(pid, "environ"))
	if err != nil {
		return ""
	}
	container, ours := "", false
	for v := range bytes.SplitSeq(data, []byte{0}) {
		if id, ok := bytes.CutPrefix(v, []byte("CONTAINER_ID=")); ok {
			container = string(id)
		}
		ours = ours || bytes.HasPrefix(v, []byte(m.mark)) // another cluster may run here
	}
	if !ours {
		return ""
	}
	return container
}

// memory returns the peak of the largest process of the client, of the master,
// whose container is an application's first, and of the other containers. Sums
// would count twice what two processes of one program share.
func (m *meter) memory() (ofClient, ofMaster, ofExecutor int64) {
	for _, p := range m.procs {
		switch {
		case p.place == "":
		case p.place == client:
			ofClient = max(ofClient, p.peak)
		case strings.HasSuffix(p.place, "_000001"):
			ofMaster = max(ofMaster, p.peak)
		default:
			ofExecutor = max(ofExecutor, p.peak)
		}
	}
	return ofClient, ofMaster, ofExecutor
}

// containers is the processor time of all containers that have ended: their
// processes are waited for by the NodeManagers, or, when those have gone, by the
// keeper of the cluster.
type containers struct{ pids []int }

func containersOf(ctx context.Context, c *lab.Cluster) (containers, error) {
	all, err := c.Daemons(ctx)
	if err != nil {
		return containers{}, err
	}
	var found containers
	for _, d := range all {
		if _, err := c.Node(d.Name); err != nil || d.PID == 0 {
			continue
		}
		found.pids = append(found.pids, d.PID)
		if keeper := statOf(d.PID).parent; !slices.Contains(found.pids, keeper) {
			found.pids = append(found.pids, keeper)
		}
	}
	return found, nil
}

func (c containers) used() time.Duration {
	var sum time.Duration
	for _, pid := range c.pids {
		sum += statOf(pid).waited
	}
	return sum
}

// stat is what /proc/PID/stat tells of a process.
type stat struct {
	parent int
	waited time.Duration // processor time of its children that have ended, and of theirs
}

// tick is the unit of processor times in /proc, the same on every Linux.
const tick = 10 * time.Millisecond

func statOf(pid int) stat {
	data, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return stat{}
	}
	// The second field is a name, in parentheses, that may hold anything.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	number := func(n int) int { // by the numbers of proc(5)
		value, _ := strconv.Atoi(fields[n-3])
		return value
	}
	return stat{parent: number(4), waited: time.Duration(number(16)+number(17)) * tick}
}

// peakOf is the largest resident memory of a process so far.
func peakOf(pid int) int64 {
	data, _ := os.ReadFile(procFile(pid, "status"))
	_, rest, ok := strings.Cut(string(data), "VmHWM:")
	if !ok {
		return 0
	}
	kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kib * 1024
}

func pids() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, pid)
		}
	}
	slices.Sort(out)
	return out
}

func procFile(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}
