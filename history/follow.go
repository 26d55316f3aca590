package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/storage"
)

// A journal is looked at often while something happens, and after a silence
// at intervals of a twentieth of it: one look opens one file and stats another,
// perhaps at a server that many share.
const (
	pollFirst = 100 * time.Millisecond
	pollMost  = 500 * time.Millisecond
	pollShare = 20
)

// pause is how long to wait before the next look after a silence.
func pause(silence time.Duration) time.Duration {
	return min(max(silence/pollShare, pollFirst), pollMost)
}

// patience bounds how long events wait for a successor to say that it adopted
// them. It does so within milliseconds, unless it died or its disk is full.
const patience = 2 * time.Second

// Follow gives the events of a job from seq on, in order and each once, and
// waits for more. It ends after job.finished; when ctx ends, with its error.
// A job that has no journal yet is waited for, and so is storage that is away.
//
// It gives an event only if no higher segment exists after it was read, or if
// the successor adopted it: the rule by which coordinators act. What it gave is
// taken back by nobody (but see patience).
func Follow(ctx context.Context, fsys storage.FS, dir string, from int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		f := &follower{fs: fsys, dir: dir, given: max(from, 1) - 1, patience: patience}
		tick := time.NewTimer(0)
		defer tick.Stop()
		heard := time.Now()
		var missed time.Time // since when storage is away
		changed, ignore := notice(fsys, dir)
		defer ignore()
		for {
			events, err := f.step(ctx)
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
				if _, done := e.Body.(*event.JobFinished); done {
					return
				}
			}
			switch {
			case !errors.Is(err, storage.ErrAway):
				missed = time.Time{}
			case missed.IsZero():
				missed = time.Now()
			}
			if err != nil && (missed.IsZero() || time.Since(missed) > awayFor) {
				yield(event.Event{}, err)
				return
			}
			if len(events) > 0 {
				heard = time.Now()
				continue // a busy writer, or the next segment
			}
			tick.Reset(pause(time.Since(heard)))
			select {
			case <-tick.C:
			case <-changed:
			case <-ctx.Done():
				yield(event.Event{}, ctx.Err())
				return
			}
		}
	}
}

// notice tells when to look sooner, where the file system can: nil never does.
func notice(fsys storage.FS, dir string) (changed <-chan struct{}, ignore func()) {
	w, ok := fsys.(storage.Notifier)
	if !ok {
		return nil, func() {}
	}
	n, err := w.Notify(segmentDir(dir))
	if err != nil {
		return nil, func() {} // not there yet, or too many watch: we look
	}
	return n.C(), func() { _ = n.Close() } // nothing can be lost by it
}

// follower reads one segment until another continues it.
//
//	no segment ──a first line──▶ reading
//	reading ──a higher segment without first line──▶ holding ──patience──▶ reading
//	reading, holding ──a segment continues this one──▶ reading that one
//	reading, holding ──the chain goes past this one──▶ reading the one it branched from
type follower struct {
	fs       storage.FS
	dir      string
	patience time.Duration
	seg      *reader
	held     []event.Event
	given    int64     // number of the last event given
	since    time.Time // when a higher segment without first line was first seen
}

// step gives what has become certain since the last one.
func (f *follower) step(ctx context.Context) ([]event.Event, error) {
	if f.seg == nil {
		return nil, f.start(ctx)
	}
	if err := f.read(ctx); err != nil {
		return nil, err
	}
	// Only now: an event read before this look at the next segment is one that
	// its successor read, too.
	_, err := f.fs.Stat(ctx, segmentPath(f.dir, f.seg.term+1))
	if errors.Is(err, fs.ErrNotExist) {
		return f.release(f.seg.seq), nil
	}
	if err != nil {
		return nil, err
	}
	return f.succeed(ctx)
}

func (f *follower) start(ctx context.Context) error {
	c, err := f.trace(ctx)
	if err != nil || len(c) == 0 {
		return err
	}
	f.enter(c[c.find(f.given+1)])
	return nil
}

func (f *follower) trace(ctx context.Context) (chain, error) {
	terms, err := segments(ctx, f.fs, f.dir)
	if err != nil {
		return nil, err
	}
	return trace(ctx, f.fs, f.dir, terms)
}

func (f *follower) enter(l link) {
	f.seg, f.held, f.since = newReader(f.dir, l.term, l.after), nil, time.Time{}
}

func (f *follower) read(ctx context.Context) error {
	for e, err := range f.seg.events(ctx, f.fs) {
		if err != nil {
			return err
		}
		f.held = append(f.held, e)
	}
	return nil
}

// release gives the held events up to bound that were not given before.
func (f *follower) release(bound int64) []event.Event {
	var out []event.Event
	for _, e := range f.held {
		if e.Seq > f.given && e.Seq <= bound {
			out = append(out, e)
			f.given = e.Seq
		}
	}
	f.held = nil
	return out
}

// succeed handles a segment above the one being read.
func (f *follower) succeed(ctx context.Context) ([]event.Event, error) {
	c, err := f.trace(ctx)
	if err != nil {
		return nil, err
	}
	if len(c) == 0 { // somebody removes the job while we follow it
		return nil, fmt.Errorf("%s: the journal is gone: %w", segmentDir(f.dir), fs.ErrNotExist)
	}
	here, next := -1, -1
	for i, l := range c {
		switch {
		case l.term == f.seg.term:
			here = i
		case l.term < f.seg.term:
			next = i // the branch, if this segment is not in the chain
		}
	}
	if here >= 0 && here+1 == len(c) {
		return f.hold(), nil
	}
	if here < 0 {
		f.enter(c[max(next, 0)])
		return nil, nil
	}
	bound := c[here+1].after
	// All that the successor adopted was there before it said so.
	if err := f.read(ctx); err != nil {
		return nil, err
	}
	if f.seg.seq < bound {
		return nil, missing(f.seg, bound)
	}
	out := f.release(bound)
	f.enter(c[here+1])
	return out, nil
}

func (f *follower) hold() []event.Event {
	if f.since.IsZero() {
		f.since = time.Now()
	}
	if time.Since(f.since) < f.patience {
		return nil
	}
	return f.release(f.seg.seq)
}
