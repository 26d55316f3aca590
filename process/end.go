package process

import (
	"os"
	"syscall"
	"time"
)

// descendants is the tree as it is now, without the guardian.
func (g *guardian) descendants() []entry { return snapshot().below(os.Getpid()) }

// sweep kills everything once. The loop repeats it until no child is left; most
// tasks leave none, which the kernel says without a look at all processes.
func (g *guardian) sweep() {
	if childless() {
		return
	}
	g.limit.kill()
	sweep(g.descendants, g.kill)
}

// left is what still lives of the tree.
func (g *guardian) left() []int {
	var pids []int
	for _, e := range g.descendants() {
		if !e.zombie {
			pids = append(pids, e.pid)
		}
	}
	return pids
}

// finish ends a tree of which nothing is left.
func (g *guardian) finish() {
	g.pump.drain()
	g.limit.close()
	if !g.reported {
		g.report(nil)
	}
}

// report sends the result, once.
func (g *guardian) report(left []int) {
	g.reported = true
	g.again.Reset(time.Second) // there is no hurry any more
	r := Result{First: g.first, Left: left, CPU: g.used.cpu}
	r.Memory = g.memory || g.limit.exceeded
	r.Peak = max(g.used.memory, g.limit.peak)
	for _, m := range g.mains {
		if m.live {
			m.Status, m.Signal, m.Stopped = 128+int(syscall.SIGKILL), syscall.SIGKILL, g.state != running
			m.At = time.Now()
		}
		r.Procs = append(r.Procs, m.Exit)
	}
	g.reports <- report{Result: &r}
}
