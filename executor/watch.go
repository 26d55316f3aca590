package executor

import (
	"maps"
	"math"
	"os"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/progress"
	"github.com/muster-project/muster/spec"
)

// watch finds out how far a task is: from what it reports, or, as long as it
// reports nothing, from the newest of what its first process prints. It only
// looks now and then and at a bounded piece, so output costs the same however
// much there is of it.
type watch struct {
	scanner *progress.Scanner // nil: nothing is read from the output
	logs    []*logEnd
	last    progress.Reading
	next    time.Time
	pace    progress.Pace
}

// Bounds of a look at output.
const (
	watchEvery = lookLater
	watchSize  = 64 << 10 // of each stream
)

func newWatch(dir string, p spec.Progress) *watch {
	w := &watch{}
	if p.Off {
		return w
	}
	var patterns []*progress.Pattern
	for _, text := range p.Patterns {
		if pattern, err := progress.Compile(text); err == nil { // spec has checked them
			patterns = append(patterns, pattern)
		}
	}
	w.scanner = progress.New(patterns)
	// Bars go to standard error where a program has both.
	w.logs = []*logEnd{{path: logPath(dir, 0, "out")}, {path: logPath(dir, 0, "err")}}
	return w
}

// look completes a report. last: nothing will follow.
func (w *watch) look(r *report, now time.Time, last bool) {
	switch {
	case r.progress != nil:
		w.scanner, w.logs = nil, nil // its own words count from now on
	case w.scanner != nil && (last || !now.Before(w.next)):
		w.next = now.Add(watchEvery)
		r.progress = w.read(last)
	}
	if p := r.progress; p != nil {
		if each := w.pace.Step(p.Step, now); p.StepTime == 0 {
			p.StepTime = each
		}
	}
}

// read is what the output says that it did not say before; nil for nothing.
func (w *watch) read(last bool) *event.Progress {
	buf := make([]byte, watchSize)
	for _, l := range w.logs {
		l.read(buf, w.scanner)
		if last { // what has no end will get none
			l.read(buf, w.scanner)
			l.read(buf, w.scanner)
		}
	}
	now := w.scanner.Now()
	if now.Step == w.last.Step && now.Total == w.last.Total && maps.EqualFunc(now.Values, w.last.Values, alike) {
		return nil
	}
	w.last = now
	return &event.Progress{Step: now.Step, Total: now.Total, Values: now.Values, StepTime: now.StepTime}
}

// alike says that two numbers look the same. A loss that is NaN equals not even
// itself, and would be news at every look.
func alike(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// logEnd follows a log by its newest end.
type logEnd struct {
	path   string
	file   os.FileInfo // at the last look
	offset int64       // in it
	lines  progress.Lines
}

// read gives the scanner the lines that are new, or the newest of them.
func (l *logEnd) read(buf []byte, s *progress.Scanner) {
	info, err := os.Stat(l.path)
	if err != nil {
		return // nothing was printed yet, or it is being rotated
	}
	if l.file != nil && !os.SameFile(l.file, info) { // rotated: its rest is lost to us
		l.offset = 0
		l.lines.Skip()
	}
	l.file = info
	if from := info.Size() - int64(len(buf)); from > l.offset {
		l.offset = from
		l.lines.Skip()
	}
	n := 0
	if info.Size() > l.offset {
		f, err := os.Open(l.path)
		if err != nil {
			return
		}
		defer f.Close()
		n, _ = f.ReadAt(buf[:info.Size()-l.offset], l.offset) // what is missing comes next time
	}
	l.offset += int64(n)
	l.lines.Take(buf[:n], func(line string) { s.Read(line) })
}
