package cli

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
)

// usage is what the processes of a task on this machine use.
type usage struct {
	CPU    time.Duration // since their start
	Memory int64         // resident bytes
	Procs  int
}

// proc is one process of /proc.
type proc struct {
	parent int
	cpu    time.Duration
	memory int64
}

// measure adds up the trees of a job's tasks. A task's processes are children
// of its guardian, and so are their orphans: everything below it counts.
func measure(tasks []session.TaskView) map[plan.TaskID]usage {
	all := map[int]proc{}
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if p, ok := readProc(pid); ok {
			all[pid] = p
			children[p.parent] = append(children[p.parent], pid)
		}
	}
	out := map[plan.TaskID]usage{}
	for _, t := range tasks {
		if !t.Ended.IsZero() {
			continue
		}
		var u usage
		todo := []int{}
		for _, pid := range t.PIDs {
			if p, ok := all[pid]; ok {
				todo = children[p.parent]
				break
			}
		}
		for seen := map[int]bool{}; len(todo) > 0; todo = todo[1:] {
			pid := todo[0]
			if seen[pid] {
				continue
			}
			seen[pid] = true
			u.CPU += all[pid].cpu
			u.Memory += all[pid].memory
			u.Procs++
			todo = append(todo, children[pid]...)
		}
		out[t.Task] = u
	}
	return out
}

// clockTick is the unit of times in /proc: USER_HZ, 100 on all of Linux.
const clockTick = time.Second / 100

// readProc reads the fields after the command's closing parenthesis; see proc(5).
func readProc(pid int) (proc, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	i := bytes.LastIndexByte(data, ')')
	if err != nil || i < 0 {
		return proc{}, false
	}
	field := bytes.Fields(data[i+1:])
	if len(field) < 22 {
		return proc{}, false
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(string(field[i]), 10, 64)
		return n
	}
	return proc{
		parent: int(number(1)),
		cpu:    time.Duration(number(11)+number(12)) * clockTick,
		memory: number(21) * int64(os.Getpagesize()),
	}, true
}
