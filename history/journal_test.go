package history

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/storage"
	"github.com/muster-project/muster/storage/faulty"
	"github.com/muster-project/muster/storage/local"
)

var (
	lazy storage.FS = local.FS{Lazy: true}
	noon            = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)
	me              = Owner{Node: "node1", PID: 42, Version: "0.1"}
)

// said is an event that the tests tell from others by its value.
func said(values ...string) []event.Event {
	var out []event.Event
	for _, v := range values {
		out = append(out, event.Event{At: noon, Body: &event.TaskPublished{Key: "said", Value: v}})
	}
	return out
}

func finish() []event.Event {
	return []event.Event{{At: noon, Body: &event.JobFinished{Outcome: event.Outcome{State: event.Succeeded}}}}
}

// words says events as the tests compare them: number, term, and what it is.
func words(events []event.Event) []string {
	var out []string
	for _, e := range events {
		what := e.Body.Type()
		switch b := e.Body.(type) {
		case *event.TaskPublished:
			what = b.Value
		case *event.TermOpened:
			what = "opened"
			if b.Previous != 0 {
				what += " after " + strconv.FormatInt(b.Adopted, 10) + " of " + strconv.FormatInt(b.Previous, 10)
			}
		}
		out = append(out, strconv.FormatInt(e.Seq, 10)+" t"+strconv.FormatInt(e.Term, 10)+" "+what)
	}
	return out
}

func reopen(t *testing.T, fsys storage.FS, dir string) (*Journal, []event.Event) {
	t.Helper()
	j, events, err := Open(t.Context(), fsys, dir, me, noon)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() }) // some tests have closed it already
	return j, events
}

func add(t *testing.T, j *Journal, events []event.Event) {
	t.Helper()
	if err := j.Append(t.Context(), events); err != nil {
		t.Fatal(err)
	}
}

func closed(t *testing.T, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func wantWords(t *testing.T, events []event.Event, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, words(events)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func wantJournal(t *testing.T, dir string, want ...string) {
	t.Helper()
	events, err := collect(Read(t.Context(), lazy, dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, events, want...)
}

func text(t *testing.T, dir string, term int64) string {
	t.Helper()
	data, err := os.ReadFile(segmentPath(dir, term))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func setText(t *testing.T, dir string, term int64, content string) {
	t.Helper()
	path := segmentPath(dir, term)
	// At once, as a segment only ever grows: a reader must not see it empty.
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path+".new", []byte(content), 0o600), os.Rename(path+".new", path))
	if err != nil {
		t.Fatal(err)
	}
}

func TestAJournalGoesOnOverTerms(t *testing.T) {
	dir := t.TempDir()
	for term := int64(1); term <= 3; term++ {
		j, _ := reopen(t, lazy, dir)
		batch := said("a"+strconv.FormatInt(term, 10), "b")
		add(t, j, batch)
		if j.Term() != term || j.Seq() != 3*term || batch[1].Seq != 3*term || batch[1].Term != term {
			t.Errorf("term %d, seq %d, last event %d of term %d", j.Term(), j.Seq(), batch[1].Seq, batch[1].Term)
		}
		closed(t, j)
	}
	_, events := reopen(t, lazy, dir)
	wantWords(t, events, "1 t1 opened", "2 t1 a1", "3 t1 b",
		"4 t2 opened after 3 of 1", "5 t2 a2", "6 t2 b",
		"7 t3 opened after 6 of 2", "8 t3 a3", "9 t3 b",
		"10 t4 opened after 9 of 3")
	want := &event.TermOpened{Term: 4, Previous: 3, Adopted: 9, Node: "node1", PID: 42, Version: "0.1"}
	if diff := cmp.Diff(want, events[9].Body); diff != "" || !events[9].At.Equal(noon) {
		t.Error(diff, events[9].At)
	}
}

// What is stored must be readable for ever: see DESIGN.md.
func TestTheStoredFormat(t *testing.T) {
	dir := t.TempDir()
	j, _ := reopen(t, lazy, dir)
	add(t, j, said("one", "two"))
	add(t, j, said("three"))
	want := `{"v":1,"seq":1,"term":1,"at":"2026-11-30T12:00:00Z","type":"term.opened","data":{"term":1,"previous":0,"adopted":0,"node":"node1","pid":42,"version":"0.1"}}
{"v":1,"seq":2,"term":1,"at":"2026-11-30T12:00:00Z","type":"task.published","data":{"task":"","key":"said","value":"one"},"more":true}
{"v":1,"seq":3,"term":1,"at":"2026-11-30T12:00:00Z","type":"task.published","data":{"task":"","key":"said","value":"two"}}
{"v":1,"seq":4,"term":1,"at":"2026-11-30T12:00:00Z","type":"task.published","data":{"task":"","key":"said","value":"three"}}
`
	if diff := cmp.Diff(want, text(t, dir, 1)); diff != "" {
		t.Error(diff)
	}
	for path, mode := range map[string]fs.FileMode{segmentPath(dir, 1): 0o600, segmentDir(dir): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, mode)
		}
	}
}

func TestASupersededJournalWritesNothingThatCounts(t *testing.T) {
	dir := t.TempDir()
	old, _ := reopen(t, lazy, dir)
	add(t, old, said("acted on"))
	young, _ := reopen(t, lazy, dir)
	for range 2 {
		if err := old.Append(t.Context(), said("too late")); !errors.Is(err, ErrSuperseded) {
			t.Errorf("got %v, want %v", err, ErrSuperseded)
		}
	}
	add(t, young, said("goes on"))
	wantJournal(t, dir, "1 t1 opened", "2 t1 acted on", "3 t2 opened after 2 of 1", "4 t2 goes on")
	if !strings.Contains(text(t, dir, 1), "too late") {
		t.Error("the test is void: nothing was written too late")
	}
}

func TestOfTwoThatOpenAtOneMomentOneLoses(t *testing.T) {
	dir := t.TempDir()
	var winner *Journal
	racing := faulty.FS{FS: lazy, Plan: func(c faulty.Call) faulty.Fault {
		if c.Op == faulty.Create {
			winner, _ = reopen(t, lazy, dir)
		}
		return faulty.Fault{}
	}}
	if _, _, err := Open(t.Context(), racing, dir, me, noon); !errors.Is(err, ErrRaced) {
		t.Fatalf("got %v, want %v", err, ErrRaced)
	}
	add(t, winner, said("won"))
	wantJournal(t, dir, "1 t1 opened", "2 t1 won")
}

func TestOneWhoIsOvertakenWhileItOpensIsSuperseded(t *testing.T) {
	dir := t.TempDir()
	overtaken := faulty.FS{FS: lazy, Plan: func(c faulty.Call) faulty.Fault {
		if c.Op == faulty.Sync && c.Path == segmentPath(dir, 1) {
			reopen(t, lazy, dir)
		}
		return faulty.Fault{}
	}}
	if _, _, err := Open(t.Context(), overtaken, dir, me, noon); !errors.Is(err, ErrSuperseded) {
		t.Errorf("got %v, want %v", err, ErrSuperseded)
	}
}

func TestASealedJobStaysSealed(t *testing.T) {
	dir := t.TempDir()
	j, _ := reopen(t, lazy, dir)
	add(t, j, finish())
	if err := j.Append(t.Context(), said("more")); !errors.Is(err, ErrFinished) {
		t.Errorf("append: got %v, want %v", err, ErrFinished)
	}
	again, events, err := Open(t.Context(), lazy, dir, me, noon)
	if !errors.Is(err, ErrFinished) || again != nil {
		t.Errorf("open: got %v, want %v", err, ErrFinished)
	}
	wantWords(t, events, "1 t1 opened", "2 t1 job.finished")
	if _, err := os.Stat(segmentPath(dir, 2)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a segment was made: %v", err)
	}
}

func TestOpenNeedsTheJobsDirectory(t *testing.T) {
	if _, _, err := Open(t.Context(), lazy, t.TempDir()+"/none", me, noon); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestNothingToAppendWritesNothing(t *testing.T) {
	dir := t.TempDir()
	j, _ := reopen(t, lazy, dir)
	before := text(t, dir, 1)
	add(t, j, nil)
	if text(t, dir, 1) != before {
		t.Error("something was written")
	}
}

func TestAnEventThatCannotBeEncodedIsRefusedAndHarmsNothing(t *testing.T) {
	dir := t.TempDir()
	j, _ := reopen(t, lazy, dir)
	bad := []event.Event{{At: noon, Body: &event.ExecutorStarted{Native: []byte("{not json")}}}
	if err := j.Append(t.Context(), bad); err == nil {
		t.Fatal("accepted")
	}
	add(t, j, said("fine"))
	wantJournal(t, dir, "1 t1 opened", "2 t1 fine")
}

// fencing notes when the last segment was fenced.
type fencing struct {
	storage.FS
	calls *[]string
}

func (f fencing) Create(ctx context.Context, path string, mode fs.FileMode) (storage.Writer, error) {
	*f.calls = append(*f.calls, "create "+path)
	return f.FS.Create(ctx, path, mode)
}

func (f fencing) Fence(_ context.Context, path string) error {
	*f.calls = append(*f.calls, "fence "+path)
	return nil
}

func TestTheLastSegmentIsFencedOnceTheNextIsOurs(t *testing.T) {
	dir := t.TempDir()
	var calls []string
	for range 2 {
		reopen(t, fencing{lazy, &calls}, dir)
	}
	want := []string{"create " + segmentPath(dir, 1), "create " + segmentPath(dir, 2), "fence " + segmentPath(dir, 1)}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
}

// Whatever of a failed append got into the file, it is read once when it was
// repeated, and wholly or not at all when its writer died.
func TestAFailedAppendIsUndecidedAndIsRepeated(t *testing.T) {
	batch := func() []event.Event { return said("b1", "b2", "b3") }
	size := func() int {
		b, err := encode(batch())
		if err != nil {
			t.Fatal(err)
		}
		return len(b)
	}()
	faults := map[string]func(faulty.Call) faulty.Fault{
		"the sync fails":                  once(faulty.Sync, faulty.Fault{Err: unix.EIO}),
		"the answer of the sync is lost":  once(faulty.Sync, faulty.Fault{Err: unix.EIO, After: true}),
		"the answer of the write is lost": once(faulty.Write, faulty.Fault{Err: unix.EIO, After: true}),
		"the look at the next fails":      once(faulty.Stat, faulty.Fault{Err: unix.EIO}),
	}
	for keep := 0; keep < size; keep += 5 {
		faults["full after "+strconv.Itoa(keep)] = once(faulty.Write, faulty.Fault{Err: unix.ENOSPC, Keep: keep})
	}
	for name, plan := range faults {
		t.Run(name, func(t *testing.T) {
			dir, on := t.TempDir(), false
			j, _ := reopen(t, faulty.FS{FS: lazy, Plan: func(c faulty.Call) faulty.Fault {
				if !on {
					return faulty.Fault{}
				}
				return plan(c)
			}}, dir)
			add(t, j, said("a"))
			on = true
			if err := j.Append(t.Context(), batch()); !errors.Is(err, unix.EIO) && !errors.Is(err, unix.ENOSPC) {
				t.Fatalf("got %v", err)
			}
			dead, err := collect(Read(t.Context(), lazy, dir, 1))
			if err != nil || len(dead) != 2 && len(dead) != 5 {
				t.Fatalf("if its writer died here: %v, %v", words(dead), err)
			}
			if err := j.Append(t.Context(), said("other")); err == nil || !strings.Contains(err.Error(), "must be appended again first") {
				t.Fatalf("other events: got %v", err)
			}
			add(t, j, batch())
			add(t, j, said("c"))
			wantJournal(t, dir, "1 t1 opened", "2 t1 a", "3 t1 b1", "4 t1 b2", "5 t1 b3", "6 t1 c")
		})
	}
}

// once fails the first call of a kind.
func once(op faulty.Op, f faulty.Fault) func(faulty.Call) faulty.Fault {
	left := 1
	return func(c faulty.Call) faulty.Fault {
		if c.Op != op || left == 0 {
			return faulty.Fault{}
		}
		left--
		return f
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, fsys := range map[string]storage.FS{"synced": local.FS{}, "lazy": lazy} {
		b.Run(name, func(b *testing.B) {
			j, _, err := Open(b.Context(), fsys, b.TempDir(), me, noon)
			if err != nil {
				b.Fatal(err)
			}
			batch := said("one", "two", "three")
			for b.Loop() {
				if err := j.Append(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
			if err := j.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
