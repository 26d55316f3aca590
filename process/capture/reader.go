package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"time"
	"unicode/utf8"
)

// Line is a line of a log, as it can be shown.
type Line struct {
	At     time.Time // when it was ended; zero if no index tells
	Stream string    // name of the log's file: "0.out"
	Text   string    // without line end; see Safe
}

// limit is how much of a line is shown. The rest is read and counted, not kept.
const limit = 16 << 10

// Reader reads a log line by line.
//
// A carriage return begins a line anew, as on a terminal: of a progress bar its
// last state is shown.
type Reader struct {
	bytes  *Bytes
	stream string
	since  time.Time // lines before it are passed over

	buf   []byte // read and not yet split
	store [64 << 10]byte
	text  []byte // of the line so far, at most limit
	more  int64  // bytes of the line beyond text
	cr    bool   // the last byte was a carriage return
	begun bool   // the line has at least one byte
	skip  bool   // we are in the middle of a line of which nobody saw the start
	gap   int64  // of bytes.Skipped, what has been told
}

// Open opens the log at path at its oldest line.
func Open(path string) (*Reader, error) { return OpenAt(path, 0) }

// OpenAt opens the log at path at an offset, which is the start of a line or 0.
func OpenAt(path string, offset int64) (*Reader, error) {
	b, err := OpenBytes(path, offset)
	if err != nil {
		return nil, err
	}
	return &Reader{bytes: b, stream: filepath.Base(path)}, nil
}

// OpenSince opens the log at path at the first line that was ended at t or later.
func OpenSince(path string, t time.Time) (*Reader, error) {
	offset, err := offsetSince(path, t)
	if err != nil {
		return nil, err
	}
	// One byte earlier, to see whether a line begins there.
	r, err := OpenAt(path, max(offset-1, 0))
	if err != nil {
		return nil, err
	}
	r.gap = r.bytes.Skipped() // not asked for
	r.since, r.skip = t, offset > 0 && r.gap == 0
	return r, nil
}

// offsetSince is an offset in front of everything that came at t or later.
func offsetSince(path string, t time.Time) (int64, error) {
	parts, err := segments(path)
	if err != nil {
		return 0, err
	}
	var offset int64
	found := false
	for _, s := range parts {
		if s.index != nil && !found {
			if first, ok := s.index.first(); ok && first.Before(t) {
				found = true
				offset = s.index.since(t)
			}
		}
		s.close()
	}
	return offset, nil
}

// Close closes the log.
func (r *Reader) Close() error { return r.bytes.Close() }

// Next is the next whole line; io.EOF if there is none yet.
func (r *Reader) Next() (Line, error) {
	for {
		if len(r.buf) == 0 {
			n, err := r.bytes.Read(r.store[:])
			if err != nil {
				return Line{}, err
			}
			r.buf = r.store[:n]
			if line, ok := r.missed(); ok {
				return line, nil
			}
		}
		i := bytes.IndexByte(r.buf, '\n')
		if i < 0 {
			r.add(r.buf)
			r.buf = nil
			continue
		}
		r.add(r.buf[:i])
		r.buf = r.buf[i+1:]
		line := r.end()
		if !r.passed(line) {
			return line, nil
		}
	}
}

// passed says whether a line is in front of what was asked for.
func (r *Reader) passed(line Line) bool {
	skip := r.skip || !line.At.IsZero() && line.At.Before(r.since)
	r.skip = false
	return skip
}

// missed is the line that stands for bytes which rotation took before they were
// read. A line that was cut by that ends with it.
func (r *Reader) missed() (Line, bool) {
	lost := r.bytes.Skipped() - r.gap
	if lost == 0 {
		return Line{}, false
	}
	r.gap += lost
	note := fmt.Sprintf("[muster: %d older bytes were rotated away]", lost)
	if r.begun {
		note = r.end().Text + " " + note
	}
	return Line{At: r.bytes.time(r.bytes.Offset() - int64(len(r.buf))), Stream: r.stream, Text: note}, true
}

// Rest is the last line if it has no end: what a process printed last, or is
// about to go on with. It is not read again.
func (r *Reader) Rest() (Line, bool) {
	if !r.begun || r.skip {
		return Line{}, false
	}
	return r.end(), true
}

// All is every line from here to the present end, the last one also if it has no
// line end.
func (r *Reader) All() iter.Seq2[Line, error] {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	return r.Follow(done)
}

// pollEvery is how often a followed log is looked at. Polling, since it works on
// every file system, also where another machine writes.
const pollEvery = 100 * time.Millisecond

// Follow is every line from here on, as it is written, over rotations. Once ctx
// is done it goes on to the end of what is there and stops: cancel ctx when the
// writer has ended, and leave the loop to stop at once.
func (r *Reader) Follow(ctx context.Context) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		for {
			last := ctx.Err() != nil // asked before the end is met
			if !r.toEnd(yield) {
				return
			}
			if last {
				if line, ok := r.Rest(); ok {
					yield(line, nil)
				}
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}
}

// toEnd yields all whole lines; false if that was the last.
func (r *Reader) toEnd(yield func(Line, error) bool) bool {
	for {
		line, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return true
		case err != nil:
			yield(Line{}, err)
			return false
		case !yield(line, nil):
			return false
		}
	}
}

// add adds bytes without a line feed to the line.
func (r *Reader) add(b []byte) {
	if len(b) == 0 {
		return
	}
	r.begun = true
	text := bytes.TrimRight(b, "\r")
	ends := len(text) < len(b)
	if len(text) == 0 {
		r.cr = true
		return
	}
	if i := bytes.LastIndexByte(text, '\r'); i >= 0 || r.cr {
		r.text, r.more = r.text[:0], 0
		text = text[i+1:]
	}
	r.cr = ends
	n := min(len(text), limit-len(r.text))
	r.text = append(r.text, text[:n]...)
	r.more += int64(len(text) - n)
}

// end makes a line of what was added and begins the next.
func (r *Reader) end() Line {
	line := Line{At: r.bytes.time(r.bytes.Offset() - int64(len(r.buf)) - 1), Stream: r.stream}
	if r.more > 0 {
		whole := wholeRunes(r.text)
		r.more += int64(len(r.text) - len(whole))
		line.Text = fmt.Sprintf("%s… %d bytes more", Safe(whole), r.more)
	} else {
		line.Text = Safe(r.text)
	}
	r.reset()
	return line
}

func (r *Reader) reset() { r.text, r.more, r.cr, r.begun = r.text[:0], 0, false, false }

// wholeRunes is b without a character that is cut at its end.
func wholeRunes(b []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax, len(b)); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}
