// Package history is the journal of a job: facts come in from its coordinator
// and are on storage before anybody acts on them; facts come out, in order and
// each once, to the next coordinator, to clients and to servers. DESIGN.md
// states the stored format and why two coordinators never both own a job.
package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/storage"
)

// The ways in which a journal refuses its coordinator.
var (
	// ErrRaced says that another coordinator opened the journal at the same
	// moment. Opening it again may succeed, and would supersede that one.
	ErrRaced = errors.New("another coordinator opened the journal at the same moment")
	// ErrSuperseded says that a later coordinator owns the job. Nothing of what
	// was to be written may be acted upon; this coordinator must leave.
	ErrSuperseded = errors.New("superseded by a coordinator with a higher term")
	// ErrFinished says that the job is sealed: nothing follows.
	ErrFinished = errors.New("the job is finished")
)

// Owner is who writes a segment.
type Owner struct {
	Node    string
	PID     int
	Version string
}

// Journal is the writing end. One goroutine uses it at a time.
//
//	open ──Append ok──▶ open
//	open ──Append fails──▶ undecided ──the same Append──▶ open
//	undecided, and its file takes nothing more ──the same Append──▶ open in the next term (see succeed)
//	any  ──a higher segment exists──▶ superseded (for good)
//	open ──Append of job.finished──▶ finished (for good)
type Journal struct {
	fs   storage.FS
	dir  string
	who  Owner
	term int64
	seq  int64 // of the last acknowledged event
	out  storage.Writer
	end  error // ErrSuperseded or ErrFinished

	undecided *batch // of which nobody knows how much is in the file
	spent     bool   // the file takes nothing more
	next      *succession
	made      int64 // the highest term of which we made a segment

	fencing sync.WaitGroup // of the segments that we left
	ctx     context.Context
	cancel  context.CancelFunc
}

// batch is events as they were last written.
type batch struct {
	term, after int64
	text        []byte
}

// Open takes the job over: it gives all events so far and the journal in which
// they go on. dir is the job's directory, which must exist. Storage that is away is
// waited for.
//
// A finished job is given with ErrFinished and without a journal.
func Open(ctx context.Context, fsys storage.FS, dir string, who Owner, now time.Time) (*Journal, []event.Event, error) {
	for n := 1; ; n++ {
		j, events, err := openOnce(ctx, fsys, dir, who, now)
		// The new segment was spent before its first line was acknowledged: nobody
		// continues it, so another one may follow.
		if !errors.Is(err, storage.ErrSpent) || n == openings || ctx.Err() != nil {
			return j, events, err
		}
	}
}

// openings bounds the segments of one Open.
const openings = 3

func openOnce(ctx context.Context, fsys storage.FS, dir string, who Owner, now time.Time) (*Journal, []event.Event, error) {
	var terms []int64
	var events []event.Event
	err := patiently(ctx, func() (err error) {
		terms, events, err = look(ctx, fsys, dir)
		if errors.Is(err, storage.ErrAway) && len(terms) > 0 {
			// What a coordinator left behind on a machine that was restarted can be
			// read once it was taken from it. One that lives has lost it, too.
			err = errors.Join(err, fence(ctx, fsys, segmentPath(dir, last(terms))))
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if sealed(events) {
		return nil, events, fmt.Errorf("%s: %w", dir, ErrFinished)
	}
	j := &Journal{fs: fsys, dir: dir, who: who, term: last(terms) + 1}
	j.made = j.term
	j.ctx, j.cancel = context.WithCancel(context.WithoutCancel(ctx))
	// From here on no other coordinator acts on what it appends (see Append), and
	// only after that is what they wrote read.
	j.out, err = storage.Shown(fsys).Create(ctx, segmentPath(dir, j.term), 0o600)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s: %w", segmentPath(dir, j.term), ErrRaced)
	}
	if err != nil {
		j.cancel()
		return nil, nil, err
	}
	events, err = j.takeOver(ctx, terms, now)
	if err != nil {
		return nil, nil, errors.Join(err, j.Close())
	}
	if sealed(events) { // in the very last moment
		return nil, events, errors.Join(fmt.Errorf("%s: %w", dir, ErrFinished), j.Close())
	}
	return j, events, nil
}

// look sees what is there before a segment is made: a sealed job stays as it is.
func look(ctx context.Context, fsys storage.FS, dir string) (terms []int64, events []event.Event, err error) {
	if _, err := fsys.Stat(ctx, dir); err != nil {
		return nil, nil, err
	}
	if err := storage.Shown(fsys).Mkdir(ctx, segmentDir(dir), 0o700); err != nil {
		return nil, nil, err
	}
	if terms, err = segments(ctx, fsys, dir); err != nil {
		return nil, nil, err
	}
	events, err = collect(Read(ctx, fsys, dir, 1))
	return terms, events, err
}

func sealed(events []event.Event) bool {
	return slices.ContainsFunc(events, func(e event.Event) bool {
		_, ok := e.Body.(*event.JobFinished)
		return ok
	})
}

func (j *Journal) takeOver(ctx context.Context, terms []int64, now time.Time) ([]event.Event, error) {
	var c chain
	var events []event.Event
	err := patiently(ctx, func() (err error) {
		if len(terms) > 0 {
			if err := fence(ctx, j.fs, segmentPath(j.dir, last(terms))); err != nil {
				return err
			}
		}
		if c, err = trace(ctx, j.fs, j.dir, terms); err != nil {
			return err
		}
		events, err = collect(c.events(ctx, j.fs, j.dir, 1))
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(events) > 0 {
		j.seq = events[len(events)-1].Seq
	}
	opened := []event.Event{{At: now, Body: j.opened(j.term, c.top(), j.seq)}}
	if err := patiently(ctx, func() error { return j.attempt(ctx, opened) }); err != nil {
		return nil, err
	}
	return append(events, opened...), nil
}

// fence takes a segment from its writer where the file system can.
func fence(ctx context.Context, fsys storage.FS, path string) error {
	if f, ok := fsys.(storage.Fencer); ok {
		return f.Fence(ctx, path)
	}
	return nil
}

func (j *Journal) opened(term, previous, adopted int64) *event.TermOpened {
	return &event.TermOpened{Term: term, Previous: previous, Adopted: adopted, Node: j.who.Node, PID: j.who.PID, Version: j.who.Version}
}

// Term is the number of this coordinator's life. It goes up when the journal had
// to go on in another segment: see Append.
func (j *Journal) Term() int64 { return j.term }

// Seq is the number of the last acknowledged event.
func (j *Journal) Seq() int64 { return j.seq }

// Append gives the events their numbers, writes them and returns when they are
// acknowledged and this coordinator still owns the job. Only then may they be
// acted upon. A batch is read back whole or not at all.
//
// Any error but ErrSuperseded and ErrFinished leaves open whether they are in
// the file. Then the next call must bring the same events; it repeats them with
// the same numbers, and readers drop what they have seen. Where the file takes
// nothing more (storage.ErrSpent: a machine that held it went away), the journal
// goes on in a segment of its own, of the next term, and the numbers change.
//
// Why two coordinators never both act: this one writes and syncs, then looks
// for a higher segment. A successor makes its segment, then reads ours. If we
// saw no segment, ours was synced before it was made, so the successor reads
// it. If the successor did not read it, its segment was there before we synced,
// so we see it. Either it is adopted, or we do not act on it.
func (j *Journal) Append(ctx context.Context, events []event.Event) error {
	if j.end != nil {
		return fmt.Errorf("%s: %w", segmentPath(j.dir, j.term), j.end)
	}
	if len(events) == 0 {
		return nil
	}
	if err := j.same(events); err != nil {
		return err
	}
	again := j.spent
	for {
		if j.spent {
			found, err := j.succeed(ctx, events)
			if err != nil || found {
				return err
			}
		}
		err := j.attempt(ctx, events)
		if err == nil || !j.spent || again {
			return err
		}
		again = true // at once, but once: the caller knows how long to wait
	}
}

// same refuses other events than those whose fate is open.
func (j *Journal) same(events []event.Event) error {
	u := j.undecided
	if u == nil {
		return nil
	}
	number(events, u.term, u.after)
	text, err := encode(events)
	if err == nil && !bytes.Equal(u.text, text) {
		err = errors.New("other events than those whose fate is open: they must be appended again first")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", segmentPath(j.dir, j.term), err)
	}
	return nil
}

func number(events []event.Event, term, after int64) {
	for i := range events {
		events[i].Seq, events[i].Term = after+1+int64(i), term
	}
}

// attempt appends to the segment at hand.
func (j *Journal) attempt(ctx context.Context, events []event.Event) error {
	number(events, j.term, j.seq)
	text, err := encode(events)
	if err != nil {
		return fmt.Errorf("%s: %w", segmentPath(j.dir, j.term), err)
	}
	err = write(ctx, j.out, text, j.undecided != nil)
	j.spent = errors.Is(err, storage.ErrSpent)
	if err == nil {
		// The batch may stand even if this look fails, so that is undecided, too.
		err = j.owned(ctx, j.term)
	}
	if err != nil {
		j.undecided = &batch{term: j.term, after: j.seq, text: text}
		return err
	}
	j.acknowledged(events)
	return nil
}

func (j *Journal) acknowledged(events []event.Event) {
	j.undecided = nil
	j.seq = max(j.seq, events[len(events)-1].Seq)
	if sealed(events) {
		j.end = ErrFinished
	}
}

// write adds lines in one write. After a failure the file may end in the middle
// of a line; a line feed first makes that a line of its own, which readers skip.
// Nothing written is ever changed. A file system that wants whole blocks gets
// them by a blank line.
func write(ctx context.Context, out storage.Writer, text []byte, repeated bool) error {
	if repeated {
		text = append([]byte{'\n'}, text...)
	}
	if f, ok := out.(storage.Filler); ok {
		if n := f.Fill(len(text)); n > 0 {
			text = append(text[:len(text):len(text)], bytes.Repeat([]byte{' '}, n)...)
			text[len(text)-1] = '\n'
		}
	}
	if _, err := out.Write(text); err != nil {
		return err
	}
	return out.Sync(ctx)
}

// owned looks whether the segment behind a term exists. Segments are numbered
// without gaps and never removed one by one, so that one is enough.
func (j *Journal) owned(ctx context.Context, term int64) error {
	next := segmentPath(j.dir, term+1)
	_, err := j.fs.Stat(ctx, next)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return j.superseded(next)
}

func (j *Journal) superseded(by string) error {
	j.end = ErrSuperseded
	return fmt.Errorf("%s: %w", by, ErrSuperseded)
}

// Close ends the writing; what was acknowledged stays.
func (j *Journal) Close() error {
	j.cancel()
	j.fencing.Wait()
	if j.next != nil {
		_ = j.next.out.Close() // nothing in it was acknowledged
	}
	if j.spent {
		_ = j.out.Close() // its error is known, and was answered
		return nil
	}
	return j.out.Close()
}
