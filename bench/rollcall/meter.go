package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// process is one whose use is read from /proc.
type process int

func self() process { return process(os.Getpid()) }

// tick is the kernel's unit of the times in /proc/PID/stat, the same everywhere.
const tick = time.Second / 100

func (p process) cpu() time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(data, []byte(") ")) // behind the name
	words := bytes.Fields(rest)
	if len(words) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(string(words[11]), 10, 64)
	system, _ := strconv.ParseInt(string(words[12]), 10, 64)
	return time.Duration(user+system) * tick
}

// peak is the most memory that was ever resident, in bytes.
func (p process) peak() int64 { return p.status("VmHWM:") }

func (p process) resident() int64 { return p.status("VmRSS:") }

func (p process) status(key string) int64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p))
	_, rest, _ := bytes.Cut(data, []byte(key))
	var kib int64
	_, _ = fmt.Sscan(string(rest[:min(len(rest), 40)]), &kib)
	return kib << 10
}

// size is that of all files of a directory.
func size(dir string) int64 {
	var sum int64
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

func mib(bytes int64) string { return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20)) }
