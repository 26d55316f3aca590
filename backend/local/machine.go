package local

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is what there is to hand out.
type Machine struct {
	Node   string   // its name
	CPUs   []int    // numbers of the processors that may be used
	Shares float64  // how many processors may be promised in all
	Memory int64    // bytes that may be promised in all
	GPUs   []string // identifiers as CUDA_VISIBLE_DEVICES takes them
}

// Settings is what a site says of its machine; zero means: look. A number that
// is written is taken as it is, so that a test can declare what is not there.
type Settings struct {
	CPUs       int     // processors to promise in all
	Overcommit float64 // times the processors found; memory and GPUs are never overcommitted
	Memory     int64
	GPUs       *int // 0 hides them all
}

// Inventory looks at this machine. Its GPUs are not looked for: see FindGPUs.
func Inventory(s Settings) (Machine, error) {
	return inventory(os.DirFS("/"), s)
}

func inventory(root fs.FS, s Settings) (Machine, error) {
	m := Machine{CPUs: affinity()}
	m.Node, _ = os.Hostname()
	if m.Node == "" {
		m.Node = "localhost"
	}
	found := float64(len(m.CPUs))
	if quota := cpuQuota(root); quota > 0 {
		found = min(found, quota)
	}
	switch {
	case s.CPUs > 0:
		m.Shares = float64(s.CPUs) * max(1, s.Overcommit)
		m.CPUs = m.CPUs[:min(len(m.CPUs), s.CPUs)]
	case s.Overcommit > 0:
		m.Shares = found * s.Overcommit
	default:
		// A job of four tasks is to run on a laptop with two processors: it is
		// slower there, not impossible.
		m.Shares = max(4*found, 16)
	}
	m.Memory = s.Memory
	if m.Memory == 0 {
		total, err := memoryTotal(root)
		if err != nil {
			return Machine{}, err
		}
		m.Memory = total
		if limit := memoryLimit(root); limit > 0 {
			m.Memory = min(m.Memory, limit)
		}
	}
	return m, nil
}

// affinity is the processors that the kernel lets this process use.
func affinity() []int {
	var set unix.CPUSet
	var cpus []int
	if err := unix.SchedGetaffinity(0, &set); err == nil {
		for i := range len(set) * 64 {
			if set.IsSet(i) {
				cpus = append(cpus, i)
			}
		}
	}
	if len(cpus) == 0 { // more processors than the set has bits
		for i := range runtime.NumCPU() {
			cpus = append(cpus, i)
		}
	}
	return cpus
}

func memoryTotal(root fs.FS) (int64, error) {
	data, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("memory of this machine: cannot be read: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err == nil {
				return n << 10, nil
			}
		}
	}
	return 0, errors.New("memory of this machine: /proc/meminfo has no MemTotal")
}

// memoryLimit is the smallest limit of the control groups that this process is
// in, and of their parents; 0 if none has one.
func memoryLimit(root fs.FS) int64 {
	least := int64(0)
	take := func(file string) {
		if n, err := strconv.ParseInt(readWord(root, file), 10, 64); err == nil && n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	for _, dir := range cgroupDirs(root, "memory") {
		take(dir + "/memory.max")
		take(dir + "/memory.limit_in_bytes")
	}
	if least > 1<<60 { // how version 1 says "no limit"
		return 0
	}
	return least
}

// cpuQuota is the smallest number of processors that a control group allows.
func cpuQuota(root fs.FS) float64 {
	least := 0.0
	take := func(quota, period string) {
		q, err1 := strconv.ParseFloat(quota, 64)
		p, err2 := strconv.ParseFloat(period, 64)
		if err1 == nil && err2 == nil && q > 0 && p > 0 && (least == 0 || q/p < least) {
			least = q / p
		}
	}
	for _, dir := range cgroupDirs(root, "cpu") {
		quota, period, _ := strings.Cut(readWord(root, dir+"/cpu.max"), " ")
		take(quota, period)
		take(readWord(root, dir+"/cpu.cfs_quota_us"), readWord(root, dir+"/cpu.cfs_period_us"))
	}
	return least
}

func readWord(root fs.FS, file string) string {
	data, _ := fs.ReadFile(root, file)
	return strings.TrimSpace(string(data))
}

// cgroupDirs lists where the limits of this process for one controller may
// stand, from its own group up to the root, for both versions.
func cgroupDirs(root fs.FS, controller string) []string {
	data, _ := fs.ReadFile(root, "proc/self/cgroup")
	var dirs []string
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		base := "sys/fs/cgroup"
		switch {
		case parts[1] == "":
			if _, err := fs.Stat(root, base+"/unified"); err == nil {
				base += "/unified"
			}
		case slices.Contains(strings.Split(parts[1], ","), controller):
			base += "/" + controller
		default:
			continue
		}
		for path := filepath.Clean("/" + parts[2]); ; path = filepath.Dir(path) {
			dirs = append(dirs, strings.TrimSuffix(base+path, "/"))
			if path == "/" {
				break
			}
		}
	}
	return dirs
}

// probeTime bounds how long a sick driver may keep us.
const probeTime = 20 * time.Second

// FindGPUs asks the driver's own tool. A machine without it has none.
func FindGPUs(ctx context.Context, s Settings) ([]string, error) {
	if s.GPUs != nil {
		return numbered(*s.GPUs), nil
	}
	tool, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, "-L")
	cmd.WaitDelay = time.Second // a tool stuck in the driver is left behind
	out, err := cmd.Output()
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer within %v", probeTime)
		}
		return nil, fmt.Errorf("GPUs of this machine: nvidia-smi -L: %w", err)
	}
	return parseGPUs(out), nil
}

func numbered(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = strconv.Itoa(i)
	}
	return ids
}

var (
	gpuLine = regexp.MustCompile(`^GPU (\d+): .*\(UUID: ([^)]+)\)`)
	migLine = regexp.MustCompile(`^\s+MIG .*\(UUID: ([^)]+)\)`)
)

// parseGPUs reads "nvidia-smi -L". A whole GPU goes by its number, which every
// program understands; a part of one (MIG) has no number and goes by its UUID.
func parseGPUs(out []byte) []string {
	var ids []string
	number := "" // of the last whole GPU, until a part of it is seen
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		if m := gpuLine.FindStringSubmatch(lines.Text()); m != nil {
			number = m[1]
			ids = append(ids, number)
		} else if m := migLine.FindStringSubmatch(lines.Text()); m != nil {
			if n := len(ids); number != "" && n > 0 && ids[n-1] == number {
				ids = ids[:n-1]
			}
			number = ""
			ids = append(ids, m[1])
		}
	}
	return ids
}
