package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/storage"
)

// succession is a segment that this coordinator opens behind its own last one.
type succession struct {
	term int64
	out  storage.Writer
	// What was there when it read the segments before: it is decided by that, for
	// all later tries.
	read  bool
	found []event.Event // behind the last acknowledged one
	line  []byte        // term.opened
	tried bool          // it may be in the file
}

// succeed goes on where the file takes nothing more: this coordinator becomes
// the successor of itself, by the rules for any successor. It makes the next
// segment, reads what is there, and says in its first line what it adopts. The
// events whose fate was open are among that (found), or they are not, and must
// be appended again, behind that line.
//
// The old segment is fenced afterwards, behind the caller's back: nobody acts on
// what may still get into it.
func (j *Journal) succeed(ctx context.Context, events []event.Event) (found bool, err error) {
	if j.next == nil {
		if err := j.makeNext(ctx); err != nil {
			return false, err
		}
	}
	n := j.next
	if !n.read {
		if err := j.readFor(ctx, n, events); err != nil {
			if errors.Is(err, storage.ErrAway) {
				// The machine that has the old segment was restarted, perhaps: what is
				// open there can be read once it is fenced. Nobody writes to it any more.
				err = errors.Join(err, fence(ctx, j.fs, segmentPath(j.dir, j.term)))
			}
			return false, err
		}
	}
	err = write(ctx, n.out, n.line, n.tried)
	n.tried = true
	if errors.Is(err, storage.ErrSpent) {
		_ = n.out.Close() // told already
		j.next = nil
	}
	if err == nil {
		err = j.owned(ctx, n.term)
	}
	if err != nil {
		return false, err
	}
	j.enter(n)
	mine := facts(n.found)
	if len(mine) == 0 {
		return false, nil
	}
	for i := range events {
		events[i].Seq, events[i].Term = mine[i].Seq, mine[i].Term
	}
	j.acknowledged(events)
	return true, nil
}

// makeNext makes the segment. Whoever else did so is the owner now.
func (j *Journal) makeNext(ctx context.Context) error {
	term := j.made + 1
	path := segmentPath(j.dir, term)
	out, err := storage.Shown(j.fs).Create(ctx, path, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return j.superseded(path)
	}
	if err != nil {
		return err
	}
	j.made, j.next = term, &succession{term: term, out: out}
	return nil
}

// readFor reads what the succession is built on.
func (j *Journal) readFor(ctx context.Context, n *succession, events []event.Event) error {
	all, err := segments(ctx, j.fs, j.dir)
	if err != nil {
		return err
	}
	var terms []int64
	for _, t := range all {
		if t < n.term {
			terms = append(terms, t)
		}
	}
	chain, err := trace(ctx, j.fs, j.dir, terms)
	if err != nil {
		return err
	}
	// From behind what was last acknowledged there is only ours: first lines of
	// segments that came to nothing, and the batch, whole or not at all.
	n.found, err = collect(chain.events(ctx, j.fs, j.dir, j.undecided.after+1))
	if err != nil {
		return err
	}
	if have := len(facts(n.found)); have != 0 && have != len(events) {
		return fmt.Errorf("%s: has %d events where %d were written", segmentPath(j.dir, chain.top()), have, len(events))
	}
	adopted := j.seq
	if k := len(n.found); k > 0 {
		adopted = n.found[k-1].Seq
	}
	first := []event.Event{{At: events[0].At, Body: j.opened(n.term, chain.top(), adopted)}}
	number(first, n.term, adopted)
	if n.line, err = encode(first); err != nil {
		return err
	}
	n.read = true
	return nil
}

// facts are events but first lines of segments.
func facts(events []event.Event) []event.Event {
	var out []event.Event
	for _, e := range events {
		if _, first := e.Body.(*event.TermOpened); !first {
			out = append(out, e)
		}
	}
	return out
}

// enter makes the segment, whose first line is acknowledged, the one at hand.
func (j *Journal) enter(n *succession) {
	left := segmentPath(j.dir, j.term)
	_ = j.out.Close() // it is spent
	after := j.seq
	if k := len(n.found); k > 0 {
		after = n.found[k-1].Seq
	}
	j.term, j.seq, j.out, j.spent, j.next = n.term, after+1, n.out, false, nil
	// Without it the file is closed all the same, some time later.
	j.fencing.Go(func() { _ = fence(j.ctx, j.fs, left) })
}
