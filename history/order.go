package history

import (
	"fmt"

	"github.com/muster-project/muster/event"
)

// add takes the next line of the segment and gives a batch when it is whole.
//
// The numbers of a segment go up one by one, except that a batch whose append
// failed is there again from its first event on, once or several times. A
// number that is left out is a line that was lost after it was acknowledged.
func (r *reader) add(e event.Event, more bool) ([]event.Event, error) {
	if e.Term != r.term {
		return nil, fmt.Errorf("event %d is of term %d, this segment is of term %d", e.Seq, e.Term, r.term)
	}
	if e.Seq <= r.seq {
		return nil, nil // seen
	}
	if n := e.Seq - r.seq - 1; n < int64(len(r.pending)) {
		r.pending = r.pending[:n] // an attempt that broke off, made again
	}
	if have := r.seq + int64(len(r.pending)); e.Seq > have+1 {
		return nil, fmt.Errorf("event %d comes after event %d: what was between them is lost", e.Seq, have)
	}
	r.pending = append(r.pending, e)
	if more {
		return nil, nil
	}
	batch := r.pending
	r.pending, r.seq = nil, e.Seq
	return batch, nil
}
