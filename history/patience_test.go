package history

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/storage"
	"github.com/muster-project/muster/storage/faulty"
)

// absent is a file system that cannot be read until it was asked that often, as
// when the machine that has a segment is started again.
type absent struct {
	*brittle
	opens atomic.Int32 // that fail
}

func (a *absent) Open(ctx context.Context, path string, offset int64) (io.ReadCloser, error) {
	if a.opens.Add(-1) >= 0 {
		return nil, errors.Join(errors.New(path+": nobody answers"), storage.ErrAway)
	}
	return a.brittle.Open(ctx, path, offset)
}

func TestStorageThatIsAwayIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	var fault atomic.Bool
	a := &absent{brittle: &brittle{FS: faulty.FS{FS: lazy, Plan: func(c faulty.Call) faulty.Fault {
		if c.Op == faulty.Sync && fault.CompareAndSwap(true, false) {
			return faulty.Fault{Err: unix.EIO}
		}
		return faulty.Fault{}
	}}}}
	first, _, err := Open(t.Context(), a, dir, me, noon)
	if err != nil {
		t.Fatal(err)
	}
	add(t, first, said("a"))

	// The next coordinator reads, and makes its segment, only after it has fenced.
	a.opens.Store(2)
	j, events, err := Open(t.Context(), a, dir, me, noon)
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, events, "1 t1 opened", "2 t1 a", "3 t2 opened after 2 of 1")
	one := segmentPath(dir, 1)
	if diff := cmp.Diff([]string{one, one, one}, a.fenced); diff != "" {
		t.Errorf("fenced: %s", diff)
	}

	// Its own segment is spent and cannot be read: it is fenced, and the caller
	// comes again with the same events.
	fault.Store(true)
	a.opens.Store(1)
	batch := said("b")
	if err := j.Append(t.Context(), batch); !errors.Is(err, storage.ErrAway) {
		t.Fatalf("got %v", err)
	}
	if a.fenced[len(a.fenced)-1] != segmentPath(dir, 2) {
		t.Errorf("fenced: %q", a.fenced)
	}
	add(t, j, batch)
	want := []string{"1 t1 opened", "2 t1 a", "3 t2 opened after 2 of 1", "4 t2 b", "5 t3 opened after 4 of 2"}
	wantJournal(t, dir, want...)

	// Followers wait as well.
	a.opens.Store(2)
	add(t, j, finish())
	events, err = collect(Follow(t.Context(), a, dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, done := events[len(events)-1].Body.(*event.JobFinished); !done || len(events) != len(want)+1 {
		t.Errorf("followed: %q", words(events))
	}
	closed(t, j)
	if first.Append(t.Context(), said("late")) == nil {
		t.Error("the first coordinator goes on")
	}
	closed(t, first)
}

// A new segment that takes nothing before its first line is there is no end.
func TestASegmentThatIsSpentAtOnceIsFollowedByAnother(t *testing.T) {
	dir := t.TempDir()
	b := &brittle{FS: faulty.FS{FS: lazy, Plan: once(faulty.Sync, faulty.Fault{Err: unix.EIO})}}
	j, events, err := Open(t.Context(), b, dir, me, noon)
	if err != nil {
		t.Fatal(err)
	}
	add(t, j, said("a"))
	if j.Term() != 2 {
		t.Errorf("term %d", j.Term())
	}
	// The line may have got there: then the second term continues it.
	for _, e := range events {
		if e.Seq > j.Seq() {
			t.Errorf("event %d", e.Seq)
		}
	}
	closed(t, j)
	reopened, _ := reopen(t, lazy, dir)
	closed(t, reopened)
}
