package executor

import (
	"bytes"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// Bounds of the last lines that go with an exit.
const (
	tailLines = 20
	tailLine  = 1000 // bytes of one line
	tailBytes = 64 << 10
)

// tail is the last lines of a log, as text for people: lines are cut, what
// cannot be shown is replaced.
func tail(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	from := max(0, info.Size()-tailBytes)
	data, err := io.ReadAll(io.NewSectionReader(f, from, tailBytes))
	if err != nil {
		return nil
	}
	lines := strings.Split(string(bytes.TrimRight(data, "\r\n")), "\n")
	if from > 0 && len(lines) > 1 {
		lines = lines[1:] // begins somewhere
	}
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		lines[i] = shown(line)
	}
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines
}

// shown is a line as a terminal would leave it: of a progress bar that rewrites
// itself, the last state.
func shown(line string) string {
	line = strings.TrimRight(line, "\r")
	if i := strings.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:]
	}
	if len(line) > tailLine {
		cut := tailLine
		for cut > 0 && !utf8.RuneStart(line[cut]) {
			cut--
		}
		line = line[:cut] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\t' {
			return '\ufffd'
		}
		return r
	}, line)
}
