package history

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/storage"
)

// reader reads one segment from where it left off, in whole batches.
type reader struct {
	term    int64
	path    string
	offset  int64
	line    int
	seq     int64         // of the last event given
	pending []event.Event // a batch whose end is not read yet
}

// newReader starts at the beginning of a segment that continues after seq.
func newReader(dir string, term, seq int64) *reader {
	return &reader{term: term, path: segmentPath(dir, term), seq: seq}
}

// events gives what has become complete since the last call.
func (r *reader) events(ctx context.Context, fsys storage.FS) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		f, err := fsys.Open(ctx, r.path, r.offset)
		if err != nil {
			yield(event.Event{}, err)
			return
		}
		defer f.Close()
		in := &lines{in: bufio.NewReaderSize(f, 64<<10), name: r.path, number: r.line, offset: r.offset}
		for {
			batch, err := r.next(in)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			for _, e := range batch {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// next gives the next whole batch.
func (r *reader) next(in *lines) ([]event.Event, error) {
	for {
		e, more, err := in.next()
		if err != nil && !errors.Is(err, errTorn) {
			return nil, err
		}
		r.offset, r.line = in.offset, in.number
		if err != nil {
			continue // torn: it is repeated, or never was acknowledged
		}
		batch, err := r.add(e, more)
		if err != nil {
			return nil, in.errorf("%w", err)
		}
		if batch != nil {
			return batch, nil
		}
	}
}
