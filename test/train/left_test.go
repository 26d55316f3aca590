//go:build frameworks

package train

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// nothingLeft looks for what a job must not leave behind: processes, with them
// their ports, claims, mounts and cgroups. The last processes may need a
// moment after the job's end was told.
func (w *world) nothingLeft() {
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		left := slices.Concat(w.processes(), w.heldClaims(), w.mounts(), w.cgroups())
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

// processes finds every process that was told of this world or works in it.
func (w *world) processes() []string {
	var out []string
	pids, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range pids {
		if filepath.Base(dir) == strconv.Itoa(os.Getpid()) {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		place, _ := os.Readlink(filepath.Join(dir, "cwd"))
		if strings.Contains(string(command)+string(environ)+place, w.home) {
			out = append(out, filepath.Base(dir)+": "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return out
}

// heldClaims finds claims that somebody still locks.
func (w *world) heldClaims() []string {
	var out []string
	entries, _ := os.ReadDir(w.claims())
	for _, e := range entries {
		path := filepath.Join(w.claims(), e.Name())
		f, err := os.Open(path)
		if err != nil {
			continue // given back since it was listed
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			out = append(out, "claim "+path)
		}
		f.Close()
	}
	return out
}

func (w *world) mounts() []string {
	var out []string
	table, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(table)) {
		if strings.Contains(line, w.home) {
			out = append(out, "mount "+line)
		}
	}
	return out
}

// cgroups finds cgroups that carry the name of one of this world's jobs.
func (w *world) cgroups() []string {
	jobs, _ := os.ReadDir(filepath.Join(w.home, "jobs"))
	var out []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		for _, job := range jobs {
			if err == nil && d.IsDir() && strings.Contains(d.Name(), job.Name()) {
				out = append(out, "cgroup "+path)
			}
		}
		return nil // what cannot be read belongs to somebody else
	})
	return out
}
