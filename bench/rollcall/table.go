package main

import (
	"fmt"
	"strings"
	"time"
)

// tables writes the figures in Markdown.
func tables(rows []figures, peers []barrier) string {
	var b strings.Builder
	b.WriteString("| roll call | executors | seconds | server CPU s | per executor | its memory | clients CPU s |\n" +
		"|---|---:|---:|---:|---:|---:|---:|\n")
	for i, f := range rows {
		fmt.Fprintf(&b, "| muster | %d | %.2f | %.2f | %s | %s at most, then %s | %.2f |\n", f.executors, f.call.Seconds(), f.cpu.Seconds(),
			per(f.cpu.Seconds(), f.executors), mib(f.peak), mib(f.settled), f.played.Seconds())
		if i >= len(peers) {
			continue
		}
		p := peers[i]
		if p.failed != nil {
			fmt.Fprintf(&b, "| TCPStore | %d | %v | | | | |\n", p.Clients, p.failed)
			continue
		}
		fmt.Fprintf(&b, "| TCPStore, PyTorch %s | %d | %.2f | %.2f | %s | %s more than idle | %.2f |\n", p.Torch, p.Clients, p.Seconds, p.CPU,
			per(p.CPU, p.Clients), mib(p.Peak<<10), p.Played)
	}
	b.WriteString("\n| beats | every | beats seen | of one core | per beat | slots and certificates, CPU s | end of all: seconds | CPU s | journal |")
	status := len(rows) > 0 && rows[0].status != nil
	if status {
		b.WriteString(" `muster status` | CPU s | memory |")
	}
	b.WriteString("\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|" + strings.Repeat("---:|", map[bool]int{true: 3}[status]) + "\n")
	for _, f := range rows {
		fmt.Fprintf(&b, "| %d | %s | %d | %.1f %% | %.0f µs | %.2f | %.2f | %.2f | %s |", f.executors, f.beat.Round(time.Millisecond), f.beats,
			f.share(), f.each(), f.before.Seconds(), f.end.Seconds(), f.endCPU.Seconds(), mib(f.journal))
		if status {
			fmt.Fprintf(&b, " %.2f s | %.2f | %s |", f.status.Seconds, f.status.CPU, mib(f.status.Peak))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func per(seconds float64, n int) string { return fmt.Sprintf("%.2f ms", 1000*seconds/float64(n)) }
