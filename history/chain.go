package history

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/storage"
)

// chain is the segments that make up a journal, lowest term first. Each names
// the one it continues and up to which event; what the others hold, and what
// stands behind that event, was never acted upon.
//
// The chain ends with the highest segment that has its first line. Segments
// above it were made by coordinators that have not read the others yet, or that
// died before they had.
type chain []link

type link struct {
	term  int64
	after int64 // its first event is after+1
}

// trace finds the chain among the terms that have a segment.
func trace(ctx context.Context, fsys storage.FS, dir string, terms []int64) (chain, error) {
	var c chain
	want := int64(0) // 0: any
	for _, term := range slices.Backward(terms) {
		if want != 0 && term != want {
			continue
		}
		o, err := head(ctx, fsys, segmentPath(dir, term), term)
		if err != nil {
			return nil, err
		}
		if o == nil {
			if want != 0 {
				return nil, fmt.Errorf("%s: has no first line, but the segment of a later term continues it", segmentPath(dir, term))
			}
			continue
		}
		c = append(c, link{term: term, after: o.Adopted})
		want = o.Previous
		if want == 0 {
			break
		}
	}
	if want != 0 {
		return nil, fmt.Errorf("%s: is missing, but the segment of a later term continues it", segmentPath(dir, want))
	}
	slices.Reverse(c)
	return c, nil
}

// head reads the first line of a segment; nil if it is not there yet.
func head(ctx context.Context, fsys storage.FS, path string, term int64) (*event.TermOpened, error) {
	f, err := fsys.Open(ctx, path, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := &lines{in: bufio.NewReader(f), name: path}
	e, _, err := in.next()
	for errors.Is(err, errTorn) {
		e, _, err = in.next()
	}
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o, ok := e.Body.(*event.TermOpened)
	if !ok || o.Term != term || o.Previous < 0 || o.Previous >= term || e.Seq != o.Adopted+1 {
		return nil, in.errorf("a segment of term %d cannot start with event %d, %s", term, e.Seq, e.Body.Type())
	}
	return o, nil
}

// top is the term of the newest segment, 0 if there is none.
func (c chain) top() int64 {
	if len(c) == 0 {
		return 0
	}
	return c[len(c)-1].term
}

// find gives the place of the segment that holds event seq, or of the newest.
func (c chain) find(seq int64) int {
	for i := range c {
		if i+1 == len(c) || c[i+1].after >= seq {
			return i
		}
	}
	return -1
}

// events gives all events from seq on.
func (c chain) events(ctx context.Context, fsys storage.FS, dir string, from int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		if len(c) == 0 {
			return
		}
		for i := c.find(from); i < len(c); i++ {
			r := newReader(dir, c[i].term, c[i].after)
			bound := int64(-1)
			if i+1 < len(c) {
				bound = c[i+1].after
			}
			for e, err := range r.events(ctx, fsys) {
				if err != nil {
					yield(event.Event{}, err)
					return
				}
				if bound >= 0 && e.Seq > bound {
					break
				}
				if e.Seq >= from && !yield(e, nil) {
					return
				}
			}
			if r.seq < bound {
				yield(event.Event{}, missing(r, bound))
				return
			}
		}
	}
}

func missing(r *reader, bound int64) error {
	return fmt.Errorf("%s:%d: ends at event %d, but the segment of a later term continues event %d: what was between them is lost",
		r.path, r.line, r.seq, bound)
}
