package executor

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/muster-project/muster/process"
)

// Intervals of looking at a running task's files and ports.
const (
	lookReady = 100 * time.Millisecond // while it may soon be ready
	lookLater = 500 * time.Millisecond
	lookLeast = 2 * time.Second // for a port: the kernel lists all of them
)

// pause is how long after its start a task's port is looked at again: most
// listen soon or never.
func pause(running time.Duration) time.Duration {
	return min(max(running/20, lookReady), lookLeast)
}

// attend is with a tree from its start to its end: it looks for readiness and
// reports, and when the tree has ended reads what its output says about why.
// All that touches files happens here, never in the loop.
func (e *executor) attend(ctx context.Context, dir string, tree *process.Tree, port int, publish map[string]string) {
	reports, watch := &reader{path: filepath.Join(dir, reportFile)}, newWatch(dir, e.Progress)
	ready, begin, next := false, time.Now(), time.Duration(0)
	tick := time.NewTicker(lookReady)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r := reports.read(false)
			if running := time.Since(begin); !ready && running >= next {
				ready = isReady(dir, port)
				r.ready = ready
				if ready {
					r.publish(publish)
				}
				next = running + pause(running)
				if ready || next-running > lookLater {
					tick.Reset(lookLater)
				}
			}
			watch.look(&r, time.Now(), false)
			if r.ready || r.progress != nil || r.published != nil {
				e.tell(ctx, r)
			}
		case <-tree.Done():
			result := tree.Result()
			d := ended{result: result, report: reports.read(true), at: time.Now()}
			d.report.ready = !ready && isReady(dir, 0)
			watch.look(&d.report, d.at, true)
			d.stderr = tail(logPath(dir, blamed(result), "err")) //nolint:contextcheck // the last words are read also when we are ending
			e.saver.flush(ctx, e)
			e.tell(ctx, d)
			return
		}
	}
}

// isReady says that the task listens on its first port, or said so itself.
func isReady(dir string, port int) bool {
	if port != 0 && listening(port) {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, readyFile))
	return err == nil
}

// proc names a process's state for people, as in "process 12 (state D)".
func proc(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "process " + strconv.Itoa(pid)
	}
	return "process " + strconv.Itoa(pid) + " (state " + stateOf(string(text)) + ")"
}
