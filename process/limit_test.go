package process

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testCgroup is a parent of this test run's own.
func testCgroup() string { return fmt.Sprintf("muster/test-%d", os.Getpid()) }

// hog takes memory, a mebibyte at a time, until it has what its first argument
// says, and keeps it.
func hog() int {
	var want int
	fmt.Sscan(os.Args[2], &want)
	var held [][]byte
	for range want {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = byte(i)
		}
		held = append(held, b)
	}
	fmt.Fprintln(os.Stdout, "full")
	<-time.After(time.Hour)
	runtime.KeepAlive(held)
	return 0
}

func TestF055KilledForMemory(t *testing.T) {
	const limit = 100 << 20
	for name, watch := range map[string]bool{"by cgroup, where one can be made": false, "by watching": true} {
		t.Run(name, func(t *testing.T) {
			s := task(t, "$BINARY hog 1000; exit $?", "sleep 300")
			s.Limits = Limits{Memory: limit, Watch: watch, Cgroup: testCgroup()}
			tree := begin(t, s)
			got := result(t, tree)
			if !got.Memory || got.First != 0 {
				t.Errorf("Memory = %t, First = %d", got.Memory, got.First)
			}
			if e := got.Procs[0]; e.Status != 137 || e.Stopped {
				t.Errorf("first: %+v", e)
			}
			if e := got.Procs[1]; !e.Stopped {
				t.Errorf("second: %+v", e)
			}
			if got.Peak < limit*9/10 {
				t.Errorf("Peak = %d MiB", got.Peak>>20)
			}
			nothingOf(t, tree.cgroups)
		})
	}
}

func nothingOf(t *testing.T, cgroups []string) {
	t.Helper()
	for _, dir := range cgroups {
		for ; strings.Contains(dir, "/"+ours+"/"); dir = filepath.Dir(dir) {
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("%s is left", dir)
			}
		}
	}
}

func TestMemoryUnderTheLimitIsNoMatter(t *testing.T) {
	s := task(t, "$BINARY hog 50 & while ! grep -q full logs/0.out; do sleep 0.05; done; exit 0")
	s.Limits = Limits{Memory: 200 << 20, Watch: true}
	got := run(t, s)
	if got.Memory || got.Procs[0].Status != 0 {
		t.Errorf("got %+v", got)
	}
	if got.Peak < 50<<20 || got.Peak > 200<<20 {
		t.Errorf("Peak = %d MiB", got.Peak>>20)
	}
}

func TestUsage(t *testing.T) {
	s := task(t, "$BINARY hog 50 & while :; do :; done")
	tree := begin(t, s)
	eventually(t, "usage", func() bool {
		u := tree.Usage()
		return u.Procs >= 2 && u.Memory > 50<<20 && u.CPU > 200*time.Millisecond
	})
	tree.Stop(0, 0, true)
	if got := result(t, tree); got.CPU < 200*time.Millisecond {
		t.Errorf("CPU = %v", got.CPU)
	}
}

func TestCPUSet(t *testing.T) {
	s := task(t, `grep Cpus_allowed_list /proc/self/status | cut -f2
n=0; while ! grep -q tree- /proc/self/cgroup && [ $((n++)) -lt 50 ]; do sleep 0.05; done; cat /proc/self/cgroup > cgroup`)
	s.Limits = Limits{CPUSet: "1", Cgroup: testCgroup()}
	tree := begin(t, s)
	if got := result(t, tree); got.Procs[0].Error != "" {
		t.Fatal(got.Procs[0].Error)
	}
	if got := content(t, s.Procs[0].Stdout); got != "1\n" {
		t.Errorf("got %q", got)
	}
	nothingOf(t, tree.cgroups)
	for _, dir := range tree.cgroups {
		if !strings.Contains(content(t, filepath.Join(s.Procs[0].Dir, "cgroup")), filepath.Base(dir)) {
			t.Errorf("the process was not in %s", dir)
		}
	}
}

func TestBadCPUSets(t *testing.T) {
	for text, want := range map[string]string{
		"x":     `cpu set "x": "x" is neither a CPU's number nor a range`,
		"0,3-1": `cpu set "0,3-1": "3-1" is neither a CPU's number nor a range`,
		"99999": `cpu set "99999": "99999" is neither a CPU's number nor a range`,
		"1000":  "cpu set 1000: cannot be used on this machine: invalid argument",
	} {
		t.Run(text, func(t *testing.T) {
			s := task(t, "true")
			s.Limits.CPUSet = text
			got := run(t, s)
			if got.Procs[0].Error != want || got.First != 0 {
				t.Errorf("got %+v, want %s", got, want)
			}
		})
	}
}

func TestWhereCgroupsAreMade(t *testing.T) {
	const (
		hybrid = "1 0 0:1 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n" +
			"2 1 0:2 / /sys/fs/cgroup/memory rw shared:1 - cgroup cgroup rw,memory\n" +
			"3 1 0:3 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
			"4 1 0:4 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n" +
			"5 1 0:5 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		container = "9 8 0:9 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
		unified   = "9 8 0:9 / /sys/fs/cg\\040roup rw - cgroup2 cgroup2 rw\n"
	)
	for name, tc := range map[string]struct {
		mounts, own, named string
		want               []string
	}{
		"hybrid, in the root": {hybrid, "9:memory:/\n8:cpu,cpuacct:/\n7:name=systemd:/\n0::/\n", "", []string{
			"/sys/fs/cgroup/memory/muster", "/sys/fs/cgroup/cpu,cpuacct/muster", "/sys/fs/cgroup/systemd/muster", "/sys/fs/cgroup/unified/muster"}},
		"hybrid, memory is a resource manager's": {hybrid, "9:memory:/yarn/c1\n0::/\n", "", []string{"", "/sys/fs/cgroup/unified/muster"}},
		"hybrid, named":                          {hybrid, "9:memory:/yarn/c1\n0::/\n", "yarn/c1", []string{"/sys/fs/cgroup/memory/yarn/c1", "/sys/fs/cgroup/unified/yarn/c1"}},
		"container":                              {container, "9:memory:/docker/ab\n", "", []string{"/sys/fs/cgroup/memory/muster"}},
		"session of a desktop":                   {unified, "0::/user.slice/session-1.scope\n", "", []string{""}},
		"unified":                                {unified, "0::/\n", "", []string{"/sys/fs/cg roup/muster"}},
		"nothing":                                {"", "", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, h := range hierarchies(tc.mounts, tc.own) {
				got = append(got, h.parent(tc.named))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLimitsAreWrittenInVersion2(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"memory.max": "max", "memory.swap.max": "max", "cgroup.kill": "", "memory.events": "low 0\noom 3\noom_kill 2\n", "memory.peak": "4096\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var c cgroup
	c.second(dir, Limits{Memory: 12345})
	if !c.memory || !c.killed() || c.peak() != 4096 {
		t.Errorf("got %+v", c)
	}
	c.kill()
	for name, want := range map[string]string{"memory.max": "12345", "memory.swap.max": "0ax", "cgroup.kill": "1"} {
		// A real one is replaced by a write; a file keeps what was longer.
		if got := content(t, filepath.Join(dir, name)); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

func TestUmask(t *testing.T) {
	s := task(t, "umask; echo > file")
	s.Umask = 0o027
	run(t, s)
	if got := content(t, s.Procs[0].Stdout); got != "0027\n" {
		t.Errorf("got %q", got)
	}
	info, err := os.Stat(filepath.Join(s.Procs[0].Dir, "file"))
	if err != nil || info.Mode() != 0o640 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
}

func TestResourceLimitsAreNotOurs(t *testing.T) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	s := task(t, "ulimit -Hn")
	run(t, s)
	if got, want := content(t, s.Procs[0].Stdout), fmt.Sprintln(l.Max); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
