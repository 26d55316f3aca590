package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// What a process forks first is below its limits, and its guardian is not.
func TestProcessesAreBornInTheirCgroups(t *testing.T) {
	s := task(t, "(cat /proc/self/cgroup) >born", "(cat /proc/self/cgroup) >born1")
	s.Limits = Limits{Memory: 200 << 20, CPUSet: "0", Cgroup: testCgroup()}
	tree := begin(t, s)
	if len(tree.cgroups) == 0 {
		t.Log("no cgroup can be made here: only that none is claimed is seen")
	}
	guard := strconv.Itoa(tree.cmd.Process.Pid)
	if got := result(t, tree); got.First != -1 {
		t.Fatalf("%+v", got)
	}
	leaf := "/tree-" + guard
	for _, name := range []string{"born", "born1"} {
		text, err := os.ReadFile(filepath.Join(s.Procs[0].Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), leaf+"\n"); n != len(tree.cgroups) {
			t.Errorf("%s: in %d of %d cgroups:\n%s", name, n, len(tree.cgroups), text)
		}
	}
	nothingOf(t, tree.cgroups)
}

func TestTheGuardianStaysWhereItWas(t *testing.T) {
	s := task(t, "sleep 1000")
	s.Limits = Limits{Memory: 200 << 20, CPUSet: "0", Cgroup: testCgroup()}
	tree := begin(t, s)
	threads, err := filepath.Glob("/proc/" + strconv.Itoa(tree.cmd.Process.Pid) + "/task/*/cgroup")
	if err != nil || len(threads) == 0 {
		t.Fatal(threads, err)
	}
	for _, file := range threads {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "/tree-") { // a thread may end
			t.Errorf("%s:\n%s", file, text)
		}
	}
	tree.Stop(0, 0, true)
	result(t, tree)
	nothingOf(t, tree.cgroups)
}
