package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// screen is where run, wait and top write: text scrolls, and on a terminal a
// block of live lines stays below it. Off a terminal there is no block, only
// text, so a log of the run holds no control signs.
//
//	… lines of tasks …
//	running  2 of 2 tasks  1m05s          ← the block, drawn again and again
//	▕██████      ▏ step 60/100  loss 0.31
type screen struct {
	mu     sync.Mutex
	out    io.Writer
	err    io.Writer
	live   bool
	width  func() int
	block  []string
	drawn  int
	paused bool // a question is on the screen
	held   []heldLine
}

// heldLine is a line that waits for the end of a question.
type heldLine struct {
	stderr bool
	line   string
}

func (e *Env) screen() *screen {
	return &screen{
		out: e.Stdout, err: e.Stderr,
		live:  isTerminal(e.Stderr) && e.Getenv("TERM") != "dumb",
		width: func() int { w, _ := e.Size(e.Stderr); return w },
	}
}

// line writes one line of text to out or, for standard error, to err. While a
// question is on the screen it waits: nobody could read either.
func (s *screen) line(stderr bool, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused {
		s.held = append(s.held, heldLine{stderr, line})
		return
	}
	s.erase()
	s.write(stderr, line)
	s.redraw()
}

func (s *screen) write(stderr bool, line string) {
	w := s.out
	if stderr {
		w = s.err
	}
	fmt.Fprintln(w, line)
}

// say writes a line of muster's own.
func (s *screen) say(format string, args ...any) {
	s.line(true, "muster: "+fmt.Sprintf(format, args...))
}

// draw replaces the block.
func (s *screen) draw(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live {
		return
	}
	s.erase()
	s.block = lines
	s.redraw()
}

// clear takes the block away for good.
func (s *screen) clear() { s.draw(nil) }

// pause takes the block away until resume, for a question.
func (s *screen) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.paused = true
}

func (s *screen) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = false
	for _, t := range s.held {
		s.write(t.stderr, t.line)
	}
	s.held = nil
	s.redraw()
}

func (s *screen) erase() {
	if s.drawn > 0 {
		fmt.Fprintf(s.err, "\x1b[%dA\r\x1b[J", s.drawn)
		s.drawn = 0
	}
}

// redraw writes the block. Lines are cut to the width: a wrapped line would
// make erase miss by one.
func (s *screen) redraw() {
	if !s.live || s.paused || len(s.block) == 0 {
		return
	}
	w := s.width()
	var b strings.Builder
	for _, l := range s.block {
		b.WriteString("\r\x1b[K" + cut(l, w-1) + "\n")
	}
	io.WriteString(s.err, b.String())
	s.drawn = len(s.block)
}
