package process

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Left is by what the processes of a slot are known when both that could end
// them, executor and guardian, were killed together: one of them alone is
// survived by the other. Either may be empty.
type Left struct {
	Cgroup  string // as in Limits: all that is in it or below
	Environ string // how an entry of their environment begins, as in "MUSTER_DIR=/a/b/"
}

// End kills what is left until there is nothing any more, and removes the
// cgroups. It returns the pids of what ctx's end has found still there.
func (l Left) End(ctx context.Context) []int {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		sweep(l.find, syscall.Kill)
		rest := l.find()
		if len(rest) == 0 {
			l.remove()
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			pids := make([]int, 0, len(rest))
			for _, e := range rest {
				pids = append(pids, e.pid)
			}
			return pids
		}
	}
}

// find is all of them that live.
func (l Left) find() []entry {
	pids := map[int]bool{}
	for _, dir := range l.cgroups() {
		text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")) // a level that has just gone holds nothing
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids[pid] = true
			}
		}
	}
	if l.Environ != "" {
		for _, children := range snapshot() {
			for _, e := range children {
				if !pids[e.pid] && l.marks(e.pid) {
					pids[e.pid] = true
				}
			}
		}
	}
	delete(pids, os.Getpid())
	var found []entry
	buf := make([]byte, 1024)
	for pid := range pids {
		if e, ok := look(pid, buf); ok && !e.zombie {
			found = append(found, e)
		}
	}
	return found
}

// marks says whether a process has the entry in its environment. What belongs to
// others cannot be read, and is none of ours.
func (l Left) marks(pid int) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && (bytes.HasPrefix(env, []byte(l.Environ)) || bytes.Contains(env, []byte("\x00"+l.Environ)))
}

// cgroups are the directories of the slot, parents first.
func (l Left) cgroups() []string {
	if l.Cgroup == "" {
		return nil
	}
	var dirs []string
	for _, h := range mounted() {
		_ = filepath.WalkDir(h.parent(l.Cgroup), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil // a level that has just gone is what is wanted
		})
	}
	return dirs
}

func (l Left) remove() {
	for _, dir := range slices.Backward(l.cgroups()) {
		removeCgroup(dir)
	}
}
