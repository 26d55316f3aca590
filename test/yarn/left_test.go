//go:build hadoop

package yarn

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// nothingLeft looks for what a job must not leave behind on the nodes, which are
// this machine: processes that belong to one of this world's jobs. The last ones
// may need a moment after the job's end was told.
func (w *world) nothingLeft() {
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		left := w.processes()
		if len(left) == 0 {
			return
		}
		select {
		case <-deadline.C:
			w.t.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
			return
		case <-again.C:
		}
	}
}

// processes finds every process that was told of this world or of its jobs, or
// lives in a container of one of their applications.
func (w *world) processes() []string {
	marks := []string{w.home}
	notes, _ := filepath.Glob(filepath.Join(w.home, "remote", "*"))
	for _, n := range notes {
		marks = append(marks, filepath.Base(n))
	}
	var out []string
	pids, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range pids {
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		place, _ := os.Readlink(filepath.Join(dir, "cwd"))
		text := string(command) + string(environ) + place
		if slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(text, m) }) && !strings.Contains(string(command), "yarn.test") {
			out = append(out, filepath.Base(dir)+": "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return out
}
