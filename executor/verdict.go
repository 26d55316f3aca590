package executor

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/process"
)

// blamed is the process whose end stands for its task: the first that failed,
// else the first whose status is not 0, else the first.
func blamed(r process.Result) int {
	if r.First >= 0 {
		return r.First
	}
	for i, p := range r.Procs {
		if p.Status != 0 {
			return i
		}
	}
	return 0
}

// verdict puts the end of a tree into the words of an exit. limit is the task's
// memory limit.
func verdict(r process.Result, stderr []string, limit int64) event.Exit {
	x := event.Exit{Stderr: stderr, At: time.Now()}
	if len(r.Procs) > 0 {
		x.Proc = blamed(r)
		p := r.Procs[x.Proc]
		x.Status, x.Stopped, x.Text = p.Status, p.Stopped, p.Error
		if !p.At.IsZero() {
			x.At = p.At
		}
		if p.Signal != 0 {
			x.Signal = unix.SignalName(p.Signal)
		}
		switch {
		case p.Error != "":
			x.Class = event.ClassStart
		case p.Signal != 0:
			x.Class = event.ClassSignal
		case p.Status != 0:
			x.Class = event.ClassExit
		}
	}
	switch {
	case r.Lost != "":
		x.Class, x.Text = event.ClassLost, r.Lost
	case r.Memory:
		// A task that is stopped because it used too much was not stopped by us.
		x.Class, x.Stopped = event.ClassMemory, false
		x.Text = fmt.Sprintf("used %s of %s", size(r.Peak), size(limit))
	case len(r.Left) > 0:
		x.Class, x.Stopped, x.Text = event.ClassLost, false, unkillable(r.Left)
	}
	x.Symptom = x.Class == event.ClassExit && echo(stderr)
	return x
}

func unkillable(pids []int) string {
	var names []string
	for _, pid := range pids {
		names = append(names, proc(pid))
	}
	return "cannot be killed: " + strings.Join(names, ", ")
}

// stateOf is the state letter of a line of /proc/PID/stat; the name before it
// may hold anything.
func stateOf(stat string) string {
	_, rest, _ := strings.Cut(stat[strings.LastIndexByte(stat, ')')+1:], " ")
	letter, _, _ := strings.Cut(rest, " ")
	return letter
}

// size writes a number of bytes for people: 4.1 GiB.
func size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, u := float64(n), 0
	for v >= 1024 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " " + units[u]
}
