package progress

import (
	"slices"
	"strings"
)

// lineMost is the longest line that is looked at; the bars of all formats are
// shorter.
const lineMost = 4 << 10

// Lines makes lines of output that comes in pieces. A bar is drawn by going
// back to the start of its line and writing over it, so a carriage return and a
// backspace end a line too.
type Lines struct {
	rest []byte // of a line whose end is not there yet
	long bool   // it is too long: wait for its end
	old  bool   // rest was there at the last Take
}

// Skip says that the next piece doesn't follow the last one: what is there
// up to the next end of a line is torn.
func (l *Lines) Skip() { l.rest, l.long = nil, true }

// Take gives the lines that piece ends, as text without colours. A rest to
// which nothing was added since the last Take is a line too: bars that wait for
// their next step have no end, and only a program that is killed in the
// middle of a write leaves half a line.
func (l *Lines) Take(piece []byte, line func(string)) {
	if len(piece) == 0 {
		if l.old && len(l.rest) > 0 && !l.long {
			line(clean(l.rest))
			l.old = false
		} else if len(l.rest) > 0 {
			l.old = true
		}
		return
	}
	l.old = false
	for len(piece) > 0 {
		at := end(piece)
		if at < 0 {
			l.add(piece)
			return
		}
		l.add(piece[:at])
		if len(l.rest) > 0 && !l.long {
			line(clean(l.rest))
		}
		l.rest, l.long, piece = l.rest[:0], false, piece[at+1:]
	}
}

func (l *Lines) add(piece []byte) {
	if l.long || len(l.rest)+len(piece) > lineMost {
		l.rest, l.long = l.rest[:0], true
		return
	}
	l.rest = append(l.rest, piece...)
}

// end is where the first line of a piece ends, -1 if it does not.
func end(piece []byte) int {
	for i, c := range piece {
		if c == '\n' || c == '\r' || c == '\b' {
			return i
		}
	}
	return -1
}

// clean takes out what colours a line or moves about in it.
func clean(line []byte) string {
	const esc = 0x1b
	if !slices.ContainsFunc(line, func(c byte) bool { return c < ' ' || c == 0x7f }) {
		return strings.TrimRight(string(line), " ")
	}
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == esc && i+1 < len(line) && line[i+1] == '[':
			for i += 2; i < len(line) && (line[i] < '@' || line[i] > '~'); i++ {
				continue
			}
		case c < ' ' && c != '\t' || c == 0x7f:
		default:
			b.WriteByte(c)
		}
	}
	return strings.TrimRight(b.String(), " ")
}
