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
//	any  ──a higher segment exists──▶ superseded (for good)
//	open ──Append of job.finished──▶ finished (for good)
type Journal struct {
	fs   storage.FS
	dir  string
	term int64
	seq  int64 // of the last acknowledged event
	out  storage.Writer
	end  error // ErrSuperseded or ErrFinished

	// undecided is a batch of which nobody knows how much is in the file.
	undecided []byte
}

// Open takes the job over: it gives all events so far and the journal in which
// they go on. dir is the job's directory, which must exist.
//
// A finished job is given with ErrFinished and without a journal.
func Open(ctx context.Context, fsys storage.FS, dir string, who Owner, now time.Time) (*Journal, []event.Event, error) {
	if _, err := fsys.Stat(ctx, dir); err != nil {
		return nil, nil, err
	}
	if err := fsys.Mkdir(ctx, segmentDir(dir), 0o700); err != nil {
		return nil, nil, err
	}
	terms, err := segments(ctx, fsys, dir)
	if err != nil {
		return nil, nil, err
	}
	// Looked at before a segment is made: a sealed job stays as it is.
	events, err := collect(Read(ctx, fsys, dir, 1))
	if err != nil {
		return nil, nil, err
	}
	if sealed(events) {
		return nil, events, fmt.Errorf("%s: %w", dir, ErrFinished)
	}
	j := &Journal{fs: fsys, dir: dir, term: last(terms) + 1}
	// From here on no other coordinator acts on what it appends (see Append), and
	// only after that is what they wrote read.
	j.out, err = fsys.Create(ctx, segmentPath(dir, j.term), 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, nil, fmt.Errorf("%s: %w", segmentPath(dir, j.term), ErrRaced)
	}
	if err != nil {
		return nil, nil, err
	}
	events, err = j.takeOver(ctx, terms, who, now)
	if err != nil {
		return nil, nil, errors.Join(err, j.Close())
	}
	if sealed(events) { // in the very last moment
		return nil, events, errors.Join(fmt.Errorf("%s: %w", dir, ErrFinished), j.Close())
	}
	return j, events, nil
}

func sealed(events []event.Event) bool {
	return slices.ContainsFunc(events, func(e event.Event) bool {
		_, ok := e.Body.(*event.JobFinished)
		return ok
	})
}

func (j *Journal) takeOver(ctx context.Context, terms []int64, who Owner, now time.Time) ([]event.Event, error) {
	if f, ok := j.fs.(storage.Fencer); ok && len(terms) > 0 {
		if err := f.Fence(ctx, segmentPath(j.dir, last(terms))); err != nil {
			return nil, err
		}
	}
	chain, err := trace(ctx, j.fs, j.dir, terms)
	if err != nil {
		return nil, err
	}
	events, err := collect(chain.events(ctx, j.fs, j.dir, 1))
	if err != nil {
		return nil, err
	}
	if len(events) > 0 {
		j.seq = events[len(events)-1].Seq
	}
	opened := []event.Event{{At: now, Body: &event.TermOpened{Term: j.term, Previous: chain.top(), Adopted: j.seq,
		Node: who.Node, PID: who.PID, Version: who.Version}}}
	if err := j.Append(ctx, opened); err != nil {
		return nil, err
	}
	return append(events, opened...), nil
}

// Term is the number of this coordinator's life.
func (j *Journal) Term() int64 { return j.term }

// Seq is the number of the last acknowledged event.
func (j *Journal) Seq() int64 { return j.seq }

// Append gives the events their numbers, writes them and returns when they are
// acknowledged and this coordinator still owns the job. Only then may they be
// acted upon. A batch is read back whole or not at all.
//
// Any error but ErrSuperseded and ErrFinished leaves open whether they are in
// the file. Then the next call must bring the same events; it repeats them with
// the same numbers, and readers drop what they have seen.
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
	for i := range events {
		events[i].Seq, events[i].Term = j.seq+1+int64(i), j.term
	}
	batch, err := encode(events)
	if err != nil {
		return fmt.Errorf("%s: %w", segmentPath(j.dir, j.term), err)
	}
	if j.undecided != nil && !bytes.Equal(j.undecided, batch) {
		return fmt.Errorf("%s: other events than those whose fate is open: they must be appended again first", segmentPath(j.dir, j.term))
	}
	if err := j.write(ctx, batch); err != nil {
		j.undecided = batch
		return err
	}
	// The batch may stand even if this look fails, so that is undecided, too.
	if err := j.owned(ctx); err != nil {
		j.undecided = batch
		return err
	}
	j.undecided = nil
	j.seq += int64(len(events))
	if _, sealed := events[len(events)-1].Body.(*event.JobFinished); sealed {
		j.end = ErrFinished
	}
	return nil
}

// write adds the batch in one write. After a failure the file may end in the
// middle of a line; a line feed first makes that a line of its own, which
// readers skip. Nothing written is ever changed.
func (j *Journal) write(ctx context.Context, batch []byte) error {
	if j.undecided != nil {
		batch = append([]byte{'\n'}, batch...)
	}
	if _, err := j.out.Write(batch); err != nil {
		return err
	}
	return j.out.Sync(ctx)
}

// owned looks whether the next segment exists. Segments are numbered without
// gaps and never removed one by one, so that one is enough.
func (j *Journal) owned(ctx context.Context) error {
	next := segmentPath(j.dir, j.term+1)
	_, err := j.fs.Stat(ctx, next)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	j.end = ErrSuperseded
	return fmt.Errorf("%s: %w", next, ErrSuperseded)
}

// Close ends the writing; what was acknowledged stays.
func (j *Journal) Close() error { return j.out.Close() }
