package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// own measures muster's own processes against their budgets: an executor from
// its start to its main, and what executor, guardian and coordinator hold while
// eight tasks run.
func own(ctx context.Context, b *bench, rows []*row) (string, error) {
	found, err := filepath.Glob(filepath.Join(b.dir, "h", "bin", "executor-*"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%s: carries no executor of its own: measure what make build has made", b.muster)
	}
	var starts []time.Duration
	for range 31 {
		begin := time.Now()
		if out, err := exec.CommandContext(ctx, found[0], "version").CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s version: %w: %s", found[0], err, out)
		}
		starts = append(starts, time.Since(begin))
	}
	slices.Sort(starts)
	info, err := os.Stat(found[0])
	if err != nil {
		return "", err
	}
	out := []string{
		"| | measured | budget |\n|---|---:|---:|",
		fmt.Sprintf("| executor, from fork over main to its end | %.1f ms | 12 ms to main |", float64(starts[len(starts)/2].Microseconds())/1000),
		fmt.Sprintf("| executor on disk | %.1f MiB | 12 MiB |", float64(info.Size())/(1<<20)),
	}
	for _, r := range rows {
		if r.count == 8 && r.system.name == tasksName {
			for _, k := range []struct{ name, program, budget string }{
				{"executor", "executor run", "16 MiB"}, {"guardian", "executor guardian", "16 MiB"},
				{"coordinator", filepath.Base(b.muster) + " coordinator", "24 MiB"},
			} {
				out = append(out, fmt.Sprintf("| %s, peak of resident memory with 8 tasks | %.1f MiB | %s |",
					k.name, float64(r.memory.ours[k.program])/(1<<20), k.budget))
			}
		}
	}
	return strings.Join(out, "\n"), nil
}
