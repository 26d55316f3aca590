package executor

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// listening says whether anything listens on a port of this network namespace.
// It looks at the kernel's table instead of connecting, which a program might
// take for a peer.
func listening(port int) bool {
	_, ok := find(port)
	return ok
}

// listener describes the process that listens on a port.
func listener(port int) (string, bool) {
	s, ok := find(port)
	if !ok {
		return "", false
	}
	if pid := owner(s.inode); pid > 0 {
		return "it is held by " + describe(pid), true
	}
	return "it is held by a process of user " + s.uid, true
}

// socket is what a line of /proc/net/tcp says of a listener.
type socket struct{ uid, inode string }

// find looks for a listener. The kernel lists listeners before connections, so
// the first line of another kind ends a table that may have many thousands.
func find(port int) (socket, bool) {
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue
		}
		s, ok := scan(f, port)
		_ = f.Close()
		if ok {
			return s, true
		}
	}
	return socket{}, false
}

func scan(f *os.File, port int) (socket, bool) {
	const listen = "0A"
	suffix := fmt.Sprintf(":%04X", port)
	lines := bufio.NewScanner(f)
	lines.Scan() // head
	for lines.Scan() {
		// sl local remote state queues timer retransmits uid timeout inode …
		w := strings.Fields(lines.Text())
		if len(w) < 10 || w[3] != listen {
			break
		}
		if strings.HasSuffix(w[1], suffix) {
			return socket{uid: w[7], inode: w[9]}, true
		}
	}
	return socket{}, false
}

// owner is a process that has the socket open, if we may see it.
func owner(inode string) int {
	link := "socket:[" + inode + "]"
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range procs {
		fds, _ := os.ReadDir(filepath.Join(dir, "fd"))
		for _, fd := range fds {
			if to, err := os.Readlink(filepath.Join(dir, "fd", fd.Name())); err == nil && to == link {
				pid, _ := strconv.Atoi(filepath.Base(dir))
				return pid
			}
		}
	}
	return 0
}

// describe names a process for people.
func describe(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	text := strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
	if err != nil || text == "" {
		return fmt.Sprintf("process %d", pid)
	}
	const most = 80
	if len(text) > most {
		text = text[:most] + "…"
	}
	return fmt.Sprintf("process %d (%s)", pid, text)
}
