package history

import (
	"context"
	"iter"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/storage"
)

// Read gives the events of a job from seq on, as far as they are written now,
// in order and each once. An error ends it. A job without a journal has none.
//
// At the moment of a takeover the newest events may still be refused by the
// successor, which says so by the Adopted of its TermOpened; who must not be
// misled by that, Follows.
func Read(ctx context.Context, fsys storage.FS, dir string, from int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		terms, err := segments(ctx, fsys, dir)
		if err != nil {
			yield(event.Event{}, err)
			return
		}
		c, err := trace(ctx, fsys, dir, terms)
		if err != nil {
			yield(event.Event{}, err)
			return
		}
		c.events(ctx, fsys, dir, from)(yield)
	}
}

func collect(events iter.Seq2[event.Event, error]) ([]event.Event, error) {
	var out []event.Event
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}
