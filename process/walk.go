package process

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// entry is a process as /proc shows it.
type entry struct {
	pid, parent, group, session int
	zombie                      bool
	cpu                         time.Duration // its own and that of the children it has waited for
	memory                      int64         // resident bytes
}

// table is all processes by their parent. It is no instant's picture: what was
// forked while /proc was read may be missing, so who must see all looks again.
type table map[int][]entry

func snapshot() table {
	all := table{}
	dir, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	buf := make([]byte, 1024)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if e, ok := look(pid, buf); ok {
			all[e.parent] = append(all[e.parent], e)
		}
	}
	return all
}

func (t table) children(pid int) []entry { return t[pid] }

// below is everything that descends from pid, parents before children.
func (t table) below(pid int) []entry {
	var found []entry
	todo := []int{pid}
	seen := map[int]bool{pid: true} // a pid used twice while /proc was read could close a circle
	for len(todo) > 0 {
		next := t[todo[0]]
		todo = todo[1:]
		for _, e := range next {
			if !seen[e.pid] {
				seen[e.pid] = true
				found = append(found, e)
				todo = append(todo, e.pid)
			}
		}
	}
	return found
}

var page = int64(os.Getpagesize())

// tick is the unit of times in /proc: USER_HZ, 100 on all of Linux.
const tick = time.Second / 100

// look reads /proc/PID/stat into buf. See proc(5) for the fields, which are
// counted from the one after the command's closing parenthesis.
func look(pid int, buf []byte) (entry, bool) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return entry{}, false
	}
	defer f.Close()
	n, _ := f.Read(buf)
	line := buf[:n]
	i := bytes.LastIndexByte(line, ')')
	if i < 0 {
		return entry{}, false
	}
	field := bytes.Fields(line[i+1:])
	if len(field) < 22 {
		return entry{}, false
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(string(field[i]), 10, 64)
		return n
	}
	state := field[0][0]
	return entry{
		pid: pid, parent: int(number(1)), group: int(number(2)), session: int(number(3)),
		zombie: state == 'Z' || state == 'X',
		cpu:    time.Duration(number(11)+number(12)+number(13)+number(14)) * tick,
		memory: number(21) * page,
	}, true
}
