package executor

import (
	"unicode/utf8"

	"github.com/muster-project/muster/process/capture"
)

// Bounds of the last lines that go with an exit.
const (
	tailLines = 20
	tailLine  = 1000 // bytes of one line
)

// tail is the last lines of a log, as text for people. A log that cannot be
// read has none: its task's end is told all the same.
func tail(path string) []string {
	lines, err := capture.Tail(path, tailLines)
	if err != nil {
		return nil
	}
	for len(lines) > 0 && lines[len(lines)-1].Text == "" {
		lines = lines[:len(lines)-1]
	}
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		out = append(out, short(l.Text))
	}
	return out
}

// short cuts a line between two characters.
func short(line string) string {
	if len(line) <= tailLine {
		return line
	}
	cut := tailLine
	for cut > 0 && !utf8.RuneStart(line[cut]) {
		cut--
	}
	return line[:cut] + "…"
}
