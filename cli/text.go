package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/muster-project/muster/process/capture"
)

// width is the number of terminal cells a text takes: combining and format
// signs take none, East Asian wide letters and emoji take two.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += cells(r)
	}
	return n
}

func cells(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf && r != 0x303f, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// cut shortens a text to n cells, with an ellipsis where something was cut.
func cut(s string, n int) string {
	if width(s) <= n {
		return s
	}
	var b strings.Builder
	used := 0
	for _, r := range s {
		if used+cells(r) > n-1 {
			break
		}
		used += cells(r)
		b.WriteRune(r)
	}
	return b.String() + "…"
}

// printable makes what a task said safe for a terminal.
func printable(line []byte) string { return capture.Safe(line) }

// table prints rows in aligned columns. The last column is never padded.
func table(w io.Writer, head []string, rows [][]string) error {
	widths := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	var b strings.Builder
	for _, row := range append([][]string{head}, rows...) {
		line := ""
		for i, cell := range row {
			line += cell
			if i < len(row)-1 {
				line += strings.Repeat(" ", widths[i]-width(cell)+2)
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// span is a duration for people: 850ms, 12s, 3m05s, 2h10m, 5d02h.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// size is a number of bytes for people.
func size(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%dB", n)
	}
	f, i := float64(n)/1024, 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") + units[i:i+1] + "iB"
}

// plural is "1 task", "3 tasks".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	if strings.HasSuffix(word, "s") {
		word += "e"
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// dash stands for an empty cell.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
