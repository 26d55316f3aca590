package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/gang"
)

func TestEveryEndHasItsClassAndNumbers(t *testing.T) {
	const memory = "[2026-11-30 20:00:00.000]Container [pid=1,containerID=container_1] is running 12345B beyond the 'PHYSICAL' memory limit. " +
		"Current usage: 600.1 MB of 512 MB physical memory used; 1.2 GB of 1.0 GB virtual memory used. Killing container.\nDump of the process-tree for container_1 :\n\t|- PID"
	for name, tc := range map[string]struct {
		exit   int
		text   string
		class  event.Class
		status int
		says   string
	}{
		"memory":            {exitPhysical, memory, event.ClassMemory, 137, "600.1 MB of 512 MB of memory"},
		"memory, no words":  {exitPhysical, "", event.ClassMemory, 137, "its limit of 1 MiB"},
		"virtual memory":    {exitVirtual, memory, event.ClassMemory, 137, "1.2 GB of 1.0 GB of virtual memory"},
		"preempted":         {exitPreempted, "Container preempted by scheduler", event.ClassPreempted, 143, "preempted"},
		"disks":             {exitDisks, "", event.ClassLost, 137, "disks of n0"},
		"node lost":         {exitAborted, "Container released on a *lost* node", event.ClassLost, 137, "node n0 was lost"},
		"by the manager":    {exitByManager, "Container Killed by ResourceManager", event.ClassLost, 137, "the resource manager ended it on n0"},
		"after application": {exitAfterApp, "", event.ClassCancelled, 143, "application had ended"},
		"by its node":       {exitByNode, "", event.ClassPreempted, 143, "n0"},
		// Recorded on Hadoop 3.5.0, of executors that ended when they were asked to.
		"memory, ended when asked": {75, "[2026-12-01 05:52:50.900]Container [pid=13258,containerID=container_1796102810517_0007_01_000004] is running 147357696B beyond the 'PHYSICAL' memory limit. " +
			"Current usage: 396.5 MB of 256 MB physical memory used; 3.1 GB of 537.6 MB virtual memory used. Killing container.", event.ClassMemory, 137, "396.5 MB of 256 MB of memory"},
		"signal of an administrator": {137, "[2026-12-01 05:52:46.100]Sent signal FORCEFUL_SHUTDOWN (SIGKILL) to pid 12881 as user alice for container container_1796102810517_0007_01_000005, result=success\n" +
			"[2026-12-01 05:52:46.900]Container killed on request. Exit code is 137", event.ClassLost, 137, "an administrator, had YARN send SIGKILL to its container on n0 (FORCEFUL_SHUTDOWN)"},
		"polite signal of an administrator": {75, "Sent signal GRACEFUL_SHUTDOWN (SIGTERM) to pid 12881 as user alice for container container_1796102810517_0007_01_000005, result=success", event.ClassLost, 137, "SIGTERM to its container on n0"},
		"logs":                              {exitLogs, "", event.ClassExit, 137, "logs"},
		"SIGKILL":                           {137, "Killed by external signal", event.ClassLost, 137, "SIGKILL"},
		"another signal":                    {128 + 7, "", event.ClassLost, 135, "SIGBUS"},
		"by itself":                         {0, "", event.ClassLost, 0, "ended by itself"},
		"with a status":                     {70, "", event.ClassLost, 70, "ended with 70"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, roleOf("worker", 1, 1, 0))
			id := w.running(t)
			w.book.boxes[id].size = gang.Size{"memory-mb": 1}
			w.end(w.there[id], tc.exit, tc.text)
			w.beat()
			g := w.gone[id]
			if g.Class != tc.class || g.Status != tc.status || !strings.Contains(g.Reason, tc.says) {
				t.Errorf("%+v, want %s, %d, %q", g, tc.class, tc.status, tc.says)
			}
		})
	}
}

func TestPreemptionIsToldOnce(t *testing.T) {
	w := newWorld(1, roleOf("worker", 1, 1, 0))
	id := w.running(t)
	for range 2 {
		w.book.Answer(Beat{}, Answer{Preempt: []string{id, "container_999"}}, w.now)
	}
	w.conclude()
	if len(w.others) != 1 || w.others[0].Preempting == nil || !w.others[0].Preempting.Deadline.Equal(w.now.Add(15*time.Second)) {
		t.Errorf("%+v, want one warning with its deadline", w.others)
	}
}
