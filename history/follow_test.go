package history

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/storage"
	"github.com/muster-project/muster/storage/faulty"
	"github.com/muster-project/muster/storage/local"
)

func TestMain(m *testing.M) {
	if child() {
		return
	}
	goleak.VerifyTestMain(m)
}

// looked is a file system that tells of no changes: in a synctest bubble nothing
// may wait for the kernel.
type looked struct{ storage.FS }

// follow collects in the background what Follow gives, until it ends.
type follow struct {
	events chan event.Event
	end    chan error
}

func startFollow(ctx context.Context, dir string, from int64) *follow {
	f := &follow{events: make(chan event.Event), end: make(chan error, 1)}
	go func() {
		for e, err := range Follow(ctx, looked{local.FS{}}, dir, from) {
			if err != nil {
				f.end <- err
				return
			}
			f.events <- e
		}
		f.end <- nil
	}()
	return f
}

// next waits for n events. In a synctest bubble it takes no time.
func (f *follow) next(t *testing.T, n int) []event.Event {
	t.Helper()
	var out []event.Event
	for range n {
		select {
		case e := <-f.events:
			out = append(out, e)
		case err := <-f.end:
			t.Fatalf("ended after %d of %d events: %v", len(out), n, err)
		case <-time.After(time.Minute):
			t.Fatalf("only %d of %d events came: %v", len(out), n, words(out))
		}
	}
	return out
}

// none waits for a while in which no event must come.
func (f *follow) none(t *testing.T, while time.Duration) {
	t.Helper()
	select {
	case e := <-f.events:
		t.Fatalf("came: %v", words([]event.Event{e}))
	case err := <-f.end:
		t.Fatalf("ended: %v", err)
	case <-time.After(while):
	}
}

func TestFollowGivesWhatIsThereAndWhatComesAcrossTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		f := startFollow(t.Context(), dir, 1)
		f.none(t, time.Second) // no journal yet
		j, _ := reopen(t, lazy, dir)
		add(t, j, said("a"))
		wantWords(t, f.next(t, 2), "1 t1 opened", "2 t1 a")
		f.none(t, time.Second)
		add(t, j, said("b", "c"))
		wantWords(t, f.next(t, 2), "3 t1 b", "4 t1 c")
		j, _ = reopen(t, lazy, dir)
		add(t, j, said("d"))
		wantWords(t, f.next(t, 2), "5 t2 opened after 4 of 1", "6 t2 d")
		// Two takeovers between two looks.
		reopen(t, lazy, dir)
		j, _ = reopen(t, lazy, dir)
		add(t, j, finish())
		wantWords(t, f.next(t, 3), "7 t3 opened after 6 of 2", "8 t4 opened after 7 of 3", "9 t4 job.finished")
		if err := <-f.end; err != nil {
			t.Errorf("got %v after job.finished", err)
		}
	})
}

func TestFollowStartsWhereItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		j, _ := reopen(t, lazy, dir)
		add(t, j, said("a", "b"))
		j, _ = reopen(t, lazy, dir)
		f := startFollow(t.Context(), dir, 3)
		wantWords(t, f.next(t, 2), "3 t1 b", "4 t2 opened after 3 of 1")
		add(t, j, finish())
		wantWords(t, f.next(t, 1), "5 t2 job.finished")
		<-f.end
	})
}

func TestFollowGivesABatchOnlyWhenItIsWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		setText(t, dir, 1, open1)
		f := startFollow(ctx, dir, 1)
		f.next(t, 1)
		written := open1
		for _, part := range []string{line(2, 1, "a", true), line(3, 1, "b", false)[:40], line(3, 1, "b", false)[40:80]} {
			written += part
			setText(t, dir, 1, written)
			f.none(t, time.Second)
		}
		// The append failed and is repeated.
		setText(t, dir, 1, written+"\n"+line(2, 1, "a", true)+line(3, 1, "b", false))
		wantWords(t, f.next(t, 2), "2 t1 a", "3 t1 b")
		cancel()
		if err := <-f.end; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// telling is a file system whose changes a test tells of.
type telling struct {
	looked
	changed chan struct{}
	closed  bool
}

func (f *telling) Notify(string) (storage.Notice, error) { return f, nil }
func (f *telling) C() <-chan struct{}                    { return f.changed }
func (f *telling) Close() error                          { f.closed = true; return nil }

func TestFollowLooksAtOnceWhenItIsToldOfAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		j, _ := reopen(t, lazy, dir)
		fsys := &telling{looked: looked{local.FS{}}, changed: make(chan struct{})}
		var begin time.Time // of the change
		for e, err := range Follow(t.Context(), fsys, dir, 1) {
			if err != nil {
				t.Fatal(err)
			}
			if _, done := e.Body.(*event.JobFinished); done {
				break
			}
			go func() {
				<-time.After(time.Hour + time.Millisecond) // looks are rare by then, and none is due
				begin = time.Now()
				add(t, j, finish())
				fsys.changed <- struct{}{}
			}()
		}
		if late := time.Since(begin); late != 0 {
			t.Errorf("it looked %v after it was told", late)
		}
		if !fsys.closed {
			t.Error("it goes on listening")
		}
	})
}

func TestFollowHoldsBackWhatASuccessorMayRefuse(t *testing.T) {
	for name, tc := range map[string]struct {
		second, third string
		want          []string
	}{
		"refused":              {open2, "", []string{"3 t2 opened after 2 of 1"}},
		"refused by a later":   {"", open3, []string{"3 t3 opened after 2 of 1"}},
		"adopted":              {adopting(2), "", []string{"3 t1 late", "4 t2 opened after 3 of 1"}},
		"adopted by a later":   {"", adopting(3), []string{"3 t1 late", "4 t3 opened after 3 of 1"}},
		"overruled by a later": {open2, adopting(3), []string{"3 t1 late", "4 t3 opened after 3 of 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				ctx, cancel := context.WithCancel(t.Context())
				setText(t, dir, 1, open1+line(2, 1, "a", false))
				f := startFollow(ctx, dir, 1)
				f.next(t, 2)
				setText(t, dir, 2, "")
				setText(t, dir, 1, open1+line(2, 1, "a", false)+line(3, 1, "late", false))
				f.none(t, time.Second)
				if tc.third != "" {
					setText(t, dir, 3, tc.third)
				}
				setText(t, dir, 2, tc.second)
				wantWords(t, f.next(t, len(tc.want)), tc.want...)
				cancel()
				<-f.end
			})
		})
	}
}

// adopting is the first line of a term that took over three events.
func adopting(term int64) string {
	e := event.Event{Seq: 4, Term: term, At: noon, Body: &event.TermOpened{Term: term, Previous: 1, Adopted: 3}}
	b, err := event.Marshal(e)
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

func TestFollowDoesNotWaitForeverForASuccessorThatDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		j, _ := reopen(t, lazy, dir)
		f := startFollow(t.Context(), dir, 1)
		f.next(t, 1)
		add(t, j, finish())
		setText(t, dir, 2, "")
		wantWords(t, f.next(t, 1), "2 t1 job.finished")
		<-f.end
	})
}

func TestFollowTellsErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		if err := <-startFollow(t.Context(), dir+"/none", 1).end; !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no such job: %v", err)
		}
		setText(t, dir, 1, open1)
		f := startFollow(t.Context(), dir, 1)
		f.next(t, 1)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := <-f.end; !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a job that was removed: %v", err)
		}
	})
}

func TestFollowTellsThatEventsAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		setText(t, dir, 1, open1)
		f := startFollow(t.Context(), dir, 1)
		f.next(t, 1)
		setText(t, dir, 2, open2)
		want := segmentPath(dir, 1) + ":1: ends at event 1, but the segment of a later term continues event 2: what was between them is lost"
		if err := <-f.end; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// A job may be removed while somebody follows it, at any moment.
func TestFollowOfAJournalThatVanishes(t *testing.T) {
	dir := t.TempDir()
	setText(t, dir, 1, open1)
	gone := false
	fsys := faulty.FS{FS: local.FS{}, Plan: func(c faulty.Call) faulty.Fault {
		if gone && c.Op == faulty.List {
			return faulty.Fault{Err: fs.ErrNotExist}
		}
		return faulty.Fault{}
	}}
	f := &follower{fs: fsys, dir: dir, patience: patience}
	for range 2 { // enters the segment, reads it
		if _, err := f.step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	setText(t, dir, 2, "")
	gone = true
	if _, err := f.step(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that the journal is gone", err)
	}
}

func TestASilentJournalIsLookedAtLessOften(t *testing.T) {
	for _, c := range []struct{ silence, want time.Duration }{
		{0, 100 * time.Millisecond},
		{2 * time.Second, 100 * time.Millisecond},
		{4 * time.Second, 200 * time.Millisecond},
		{time.Hour, 500 * time.Millisecond},
	} {
		if got := pause(c.silence); got != c.want {
			t.Errorf("after a silence of %v: %v, want %v", c.silence, got, c.want)
		}
	}
}
