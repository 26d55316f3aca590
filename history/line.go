package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/muster-project/muster/event"
)

// longest is the limit of a line. A plan of ten thousand tasks takes a few MiB.
// It is a variable for the sake of one test.
var longest = 64 << 20

// open marks every line of a batch but the last. A reader takes a batch only
// when it has the last one, so that it is read whole or not at all. It stands
// behind the data, which is an object: no event without it ends like this.
var open = []byte(`,"more":true}`)

// encode makes the lines of a batch.
func encode(events []event.Event) ([]byte, error) {
	var b bytes.Buffer
	for i, e := range events {
		line, err := event.Marshal(e)
		if err != nil {
			return nil, err
		}
		if len(line) > longest {
			return nil, fmt.Errorf("event %d: %d bytes are too many: at most %d", e.Seq, len(line), longest)
		}
		if i < len(events)-1 {
			b.Write(line[:len(line)-1])
			b.Write(open)
		} else {
			b.Write(line)
		}
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

// lines reads the complete lines of a segment. What follows the last line feed
// is not complete: it may still grow, or was torn when its writer died.
type lines struct {
	in     *bufio.Reader
	name   string // for errors
	number int    // of the last line
	offset int64  // behind the last line
}

// errTorn says that a line is no event: it was cut, and its writer, if it lived,
// wrote it again.
var errTorn = errors.New("torn line")

// next gives one line's event and whether more of its batch follow; errTorn for
// a line to be skipped; io.EOF where no complete line is left.
func (l *lines) next() (e event.Event, more bool, err error) {
	for {
		line, size, err := l.read()
		if err != nil {
			return e, false, err
		}
		l.number++
		l.offset += size
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue // separates a repeated batch, or pads a block
		}
		if !json.Valid(line) {
			return e, false, errTorn
		}
		if e, err = event.Unmarshal(line); err != nil {
			return e, false, l.errorf("%w", err)
		}
		return e, bytes.HasSuffix(line, open), nil
	}
}

// read gives a line with its line feed, or nothing of one that is too long.
func (l *lines) read() ([]byte, int64, error) {
	var line []byte
	var size int64
	for {
		part, err := l.in.ReadSlice('\n')
		size += int64(len(part))
		if size <= int64(longest+len(open)+1) {
			line = append(line, part...)
		} else {
			line = []byte("{") // torn
		}
		switch {
		case err == nil:
			return line, size, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, 0, err
		}
	}
}

func (l *lines) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", l.name, l.number, fmt.Errorf(format, args...))
}
