package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// limit enforces the limits of a tree: CPUs by affinity, which always works, and
// by cgroup where one can be made; memory by cgroup, else by watching.
type limit struct {
	spec     Limits
	cgroup   *cgroup // nil where none could be made
	watch    bool    // memory must be watched
	timer    *time.Timer
	peak     int64
	exceeded bool // the kernel has killed for memory; known after close
}

const (
	usageEvery = time.Second
	watchEvery = 200 * time.Millisecond
	// share bounds what looking may cost: a look is followed by a pause that is
	// this many times as long.
	share = 50
)

func newLimit(l Limits) *limit {
	m := &limit{spec: l, timer: time.NewTimer(watchEvery)}
	if !l.Watch {
		m.cgroup = makeCgroup(l)
	}
	m.watch = l.Memory > 0 && (m.cgroup == nil || !m.cgroup.memory)
	return m
}

func (l *limit) due() <-chan time.Time { return l.timer.C }

func (l *limit) dirs() []string {
	if l.cgroup == nil {
		return nil
	}
	return l.cgroup.dirs
}

// pin binds this thread, and so what it forks, to the CPU set. It returns how to
// undo that.
func (l *limit) pin() (func(), error) {
	if l.spec.CPUSet == "" {
		return func() {}, nil
	}
	set, err := parseCPUSet(l.spec.CPUSet)
	if err != nil {
		return nil, err
	}
	var old unix.CPUSet
	if err := unix.SchedGetaffinity(0, &old); err != nil {
		return nil, fmt.Errorf("cpu set: cannot read the present one: %w", err)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("cpu set %s: cannot be used on this machine: %w", l.spec.CPUSet, err)
	}
	return func() {
		_ = unix.SchedSetaffinity(0, &old) // it was allowed before
	}, nil
}

// parseCPUSet reads "0-3,8".
func parseCPUSet(text string) (unix.CPUSet, error) {
	var set unix.CPUSet
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		a, err := strconv.Atoi(from)
		b := a
		if err == nil && isRange {
			b, err = strconv.Atoi(to)
		}
		if err != nil || a < 0 || b < a || b >= len(set)*strconv.IntSize {
			return set, fmt.Errorf("cpu set %q: %q is neither a CPU's number nor a range", text, part)
		}
		for i := a; i <= b; i++ {
			set.Set(i)
		}
	}
	return set, nil
}

// attach puts a new process, and what it may have forked already, under the
// limits. Where a cgroup does not take it, memory is watched.
func (l *limit) attach(pid int) {
	if l.cgroup == nil {
		return
	}
	// Version 1 has no way to be born in a cgroup, so children may have slipped
	// out before their parent was moved; those of a moved parent cannot.
	moved := map[int]bool{}
	for fresh := []int{pid}; len(fresh) > 0; {
		for _, p := range fresh {
			moved[p] = true
			if err := l.cgroup.attach(p); err != nil && p == pid {
				l.watch = l.spec.Memory > 0
				return
			}
		}
		fresh = nil
		for _, e := range snapshot().below(pid) {
			if !moved[e.pid] {
				fresh = append(fresh, e.pid)
			}
		}
	}
}

// kill kills in one step what is in the cgroup, where the kernel can.
func (l *limit) kill() {
	if l.cgroup != nil {
		l.cgroup.kill()
	}
}

func (l *limit) close() {
	l.timer.Stop()
	if l.cgroup == nil {
		return
	}
	if l.cgroup.killed() {
		l.exceeded = true
		l.peak = max(l.peak, l.cgroup.peak())
	}
	l.cgroup.remove()
}

// watch looks at what the tree uses and ends it where it is over its limit.
func (g *guardian) watch() {
	began := time.Now()
	all := snapshot()
	tree := all.below(os.Getpid())
	u := Usage{CPU: g.used.cpu, Procs: len(tree)}
	for _, e := range tree {
		u.CPU += e.cpu
		u.Memory += e.memory
	}
	if l := g.limit; l.watch && u.Memory > l.spec.Memory {
		// Pages that forked workers share are counted once each: look closer.
		u.Memory = proportional(tree)
	}
	g.limit.peak = max(g.limit.peak, u.Memory)
	if g.limit.watch && u.Memory > g.limit.spec.Memory && g.state != killing {
		g.memory = true
		if g.first < 0 && g.state == running {
			g.first = g.largest(all)
		}
		g.begin(killing, g.spec.Second)
	}
	select {
	case g.reports <- report{Usage: &u}:
	default: // the executor is not reading; it will get a newer one
	}
	every := usageEvery
	if g.limit.watch {
		every = watchEvery
	}
	g.limit.timer.Reset(max(every, share*time.Since(began)))
}

// largest is the running process of the specification whose subtree holds most.
func (g *guardian) largest(all table) int {
	index, most := -1, int64(-1)
	for i, m := range g.mains {
		if !m.live {
			continue
		}
		var sum int64
		for _, e := range all.children(os.Getpid()) {
			if e.pid == m.PID {
				sum += e.memory
			}
		}
		for _, e := range all.below(m.PID) {
			sum += e.memory
		}
		if sum > most {
			index, most = i, sum
		}
	}
	return index
}

// proportional is the memory of processes with shared pages divided among those
// that share them; where the kernel does not tell, the resident size.
func proportional(tree []entry) int64 {
	var sum int64
	for _, e := range tree {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(e.pid) + "/smaps_rollup")
		if n, ok := kilobytes(text, "Pss:"); err == nil && ok {
			sum += n
			continue
		}
		sum += e.memory
	}
	return sum
}

func kilobytes(text []byte, key string) (int64, bool) {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(key)); ok {
			f := bytes.Fields(rest)
			if len(f) == 0 {
				return 0, false
			}
			n, err := strconv.ParseInt(string(f[0]), 10, 64)
			return n * 1024, err == nil
		}
	}
	return 0, false
}
