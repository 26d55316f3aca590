package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// print writes the rows in Markdown, each compared with the first system's row of
// the same number of processes, and below them what is not in the table.
func print(w io.Writer, rows []*row) {
	fmt.Fprint(w, "| processes | | all running | everything ended | | CPU seconds | | largest process | together | server |\n"+
		"|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	var notes []string
	var first *row
	for _, r := range rows {
		if first == nil || first.count != r.count {
			first = r
		}
		if r.system.absent != "" {
			if first.count == rows[0].count {
				notes = append(notes, fmt.Sprintf("%s: not measured: %s", r.system.name, r.system.absent))
			}
			continue
		}
		if len(r.errs) > 0 {
			notes = append(notes, fmt.Sprintf("%s, %d processes: %d of %d runs failed", r.system.name, r.count, len(r.errs), len(r.errs)+len(r.runs)))
		}
		if len(r.runs) == 0 {
			fmt.Fprintf(w, "| %d | %s | failed | | | | | | | |\n", r.count, r.system.name)
			continue
		}
		running, ended := r.median(func(f figures) time.Duration { return f.running }), r.median(func(f figures) time.Duration { return f.ended })
		fmt.Fprintf(w, "| %d | %s | %.3f s | %.3f s | %s | %.3f | %s | %s | %s | %s |\n", r.count, r.system.name,
			running.Seconds(), ended.Seconds(), first.times(r, ended, first.median(func(f figures) time.Duration { return f.ended })),
			r.cpu().Seconds(), first.times(r, r.cpu(), first.cpu()), mib(r.memory.largest), mib(r.memory.sum), mib(r.memory.server))
	}
	for _, n := range notes {
		fmt.Fprintf(w, "\n%s\n", n)
	}
}

func (r *row) median(of func(figures) time.Duration) time.Duration {
	var all []time.Duration
	for _, f := range r.runs {
		all = append(all, of(f))
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// cpu is the mean: the kernel counts a server's time in hundredths of a second,
// which evens out over the runs.
func (r *row) cpu() time.Duration {
	var sum time.Duration
	for _, f := range r.runs {
		sum += f.cpu
	}
	return sum / time.Duration(max(1, len(r.runs)))
}

// times tells how many times as much as the first system's.
func (r *row) times(other *row, value, first time.Duration) string {
	if r == other || first == 0 {
		return ""
	}
	return fmt.Sprintf("%.2g ×", float64(value)/float64(first))
}

func mib(bytes int64) string {
	if bytes == 0 {
		return "–"
	}
	return strings.TrimSpace(fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20)))
}
