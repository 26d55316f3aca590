package local

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func files(pairs ...string) fstest.MapFS {
	fs := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fs[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fs
}

const meminfo = "MemTotal:       16777216 kB\nMemFree:  1 kB\n"

func TestMemoryIsTheSmallestLimit(t *testing.T) {
	tests := map[string]struct {
		fs   fstest.MapFS
		want int64
	}{
		"no control group": {files("proc/meminfo", meminfo), 16 * gib},
		"version 2, limit of the parent": {files("proc/meminfo", meminfo, "proc/self/cgroup", "0::/job/step\n",
			"sys/fs/cgroup/job/memory.max", "2147483648\n", "sys/fs/cgroup/job/step/memory.max", "max\n"), 2 * gib},
		"version 1": {files("proc/meminfo", meminfo, "proc/self/cgroup", "4:memory:/a\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1073741824\n"), gib},
		"version 1 without a limit": {files("proc/meminfo", meminfo, "proc/self/cgroup", "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"), 16 * gib},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := inventory(tc.fs, Settings{})
			if err != nil || m.Memory != tc.want {
				t.Errorf("memory %d, %v; want %d", m.Memory, err, tc.want)
			}
		})
	}
}

func TestProcessorsMayBePromisedMoreThanOnce(t *testing.T) {
	half := files("proc/meminfo", meminfo, "proc/self/cgroup", "0::/\n", "sys/fs/cgroup/cpu.max", "50000 100000\n")
	tests := map[string]struct {
		s    Settings
		fs   fstest.MapFS
		want float64
	}{
		"a small machine still runs a job of some tasks": {Settings{}, half, 16},
		"a number is taken as it is":                     {Settings{CPUs: 8}, half, 8},
		"a number with a factor":                         {Settings{CPUs: 8, Overcommit: 2}, half, 16},
		"a factor applies to the quota":                  {Settings{Overcommit: 3}, half, 1.5},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := inventory(tc.fs, tc.s)
			if err != nil || m.Shares != tc.want {
				t.Errorf("shares %v, %v; want %v", m.Shares, err, tc.want)
			}
		})
	}
}

func TestNoMemoryInfoIsAnError(t *testing.T) {
	if _, err := inventory(files("proc/meminfo", "nothing"), Settings{}); err == nil {
		t.Error("a machine without memory was accepted")
	}
}

func TestParseGPUs(t *testing.T) {
	tests := map[string]struct {
		out  string
		want []string
	}{
		"none": {"No devices found.\n", nil},
		"two":  {"GPU 0: NVIDIA H200 (UUID: GPU-aaaa)\nGPU 1: NVIDIA H200 (UUID: GPU-bbbb)\n", []string{"0", "1"}},
		"parts stand for the whole": {"GPU 0: NVIDIA A100 (UUID: GPU-aaaa)\n" +
			"  MIG 3g.20gb     Device  0: (UUID: MIG-1)\n  MIG 3g.20gb     Device  1: (UUID: MIG-2)\n" +
			"GPU 1: NVIDIA A100 (UUID: GPU-bbbb)\n", []string{"MIG-1", "MIG-2", "1"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, parseGPUs([]byte(tc.out))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
