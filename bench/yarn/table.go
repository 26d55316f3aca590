package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// table writes the rows in Markdown, each compared with the first system's row of
// the same number of tasks.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString("| tasks | | all running | | finished | CPU seconds | | client | master | executor |\n" +
		"|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	var first figures
	for i, r := range rows {
		if len(r.runs) == 0 {
			fmt.Fprintf(&b, "| %d | %s | failed | | | | | | | |\n", r.tasks, r.system)
			if i == 0 || rows[i-1].tasks != r.tasks {
				first = figures{}
			}
			continue
		}
		f := median(r.runs)
		if i == 0 || rows[i-1].tasks != r.tasks {
			first = f
		}
		fmt.Fprintf(&b, "| %d | %s | %.1f s | %s | %.1f s | %.2f | %s | %s | %s | %s |\n", r.tasks, r.system,
			f.running.Seconds(), times(f.running, first.running), f.finished.Seconds(),
			f.cpu.Seconds(), times(f.cpu, first.cpu), mib(f.client), mib(f.master), mib(f.executor))
	}
	return b.String()
}

// median of each figure by itself.
func median(runs []figures) figures {
	times := func(of func(figures) time.Duration) time.Duration {
		return time.Duration(middle(runs, func(f figures) int64 { return int64(of(f)) }))
	}
	return figures{
		running:  times(func(f figures) time.Duration { return f.running }),
		finished: times(func(f figures) time.Duration { return f.finished }),
		cpu:      times(func(f figures) time.Duration { return f.cpu }),
		client:   middle(runs, func(f figures) int64 { return f.client }),
		master:   middle(runs, func(f figures) int64 { return f.master }),
		executor: middle(runs, func(f figures) int64 { return f.executor }),
	}
}

func middle(runs []figures, of func(figures) int64) int64 {
	var all []int64
	for _, f := range runs {
		all = append(all, of(f))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// times tells how many times as much as the first system's.
func times(value, first time.Duration) string {
	if first == 0 || value == first {
		return ""
	}
	return fmt.Sprintf("%.1f ×", float64(value)/float64(first))
}

// helper is below what any system's own process takes, and above what the tools
// take that a node runs to start a container.
const helper = 4 << 20

func mib(bytes int64) string {
	if bytes < helper {
		return "–"
	}
	return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20))
}
