package history

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/storage"
	"github.com/muster-project/muster/storage/faulty"
)

// brittle is a file system whose writers are spent after their first error, and
// that can fence.
type brittle struct {
	storage.FS
	mu     sync.Mutex
	fenced []string
}

func (b *brittle) Create(ctx context.Context, path string, mode fs.FileMode) (storage.Writer, error) {
	w, err := b.FS.Create(ctx, path, mode)
	if err != nil {
		return nil, err
	}
	return &brittleWriter{Writer: w}, nil
}

func (b *brittle) Fence(_ context.Context, path string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fenced = append(b.fenced, path)
	return nil
}

type brittleWriter struct {
	storage.Writer
	err error
}

func (w *brittleWriter) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.Writer.Write(p)
	return n, w.spend(err)
}

func (w *brittleWriter) Sync(ctx context.Context) error {
	if w.err != nil {
		return w.err
	}
	return w.spend(w.Writer.Sync(ctx))
}

func (w *brittleWriter) spend(err error) error {
	if err != nil {
		w.err = errors.Join(err, storage.ErrSpent)
	}
	return w.err
}

func TestASpentSegmentIsContinuedInTheNextTerm(t *testing.T) {
	batch := func() []event.Event { return said("b1", "b2", "b3") }
	lost := []string{"1 t1 opened", "2 t1 a", "3 t2 opened after 2 of 1", "4 t2 b1", "5 t2 b2", "6 t2 b3", "7 t2 c"}
	kept := []string{"1 t1 opened", "2 t1 a", "3 t1 b1", "4 t1 b2", "5 t1 b3", "6 t2 opened after 5 of 1", "7 t2 c"}
	text, err := encode(batch())
	if err != nil {
		t.Fatal(err)
	}
	type fault struct {
		plan func(faulty.Call) faulty.Fault
		want []string
	}
	faults := map[string]fault{
		"the sync fails, the bytes are there":   {once(faulty.Sync, faulty.Fault{Err: unix.EIO}), kept},
		"the answer of the write is lost":       {once(faulty.Write, faulty.Fault{Err: unix.EIO, After: true}), kept},
		"the whole batch without its last byte": {once(faulty.Write, faulty.Fault{Err: unix.EIO, Keep: len(text) - 1}), lost},
	}
	for keep := 0; keep < len(text)-1; keep += 50 {
		faults["cut after "+strconv.Itoa(keep)] = fault{once(faulty.Write, faulty.Fault{Err: unix.EIO, Keep: keep}), lost}
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			dir, on := t.TempDir(), false
			b := &brittle{FS: faulty.FS{FS: lazy, Plan: func(c faulty.Call) faulty.Fault {
				if !on {
					return faulty.Fault{}
				}
				return f.plan(c)
			}}}
			j, _, err := Open(t.Context(), b, dir, me, noon)
			if err != nil {
				t.Fatal(err)
			}
			add(t, j, said("a"))
			on = true
			again := batch()
			add(t, j, again)
			add(t, j, said("c"))
			wantJournal(t, dir, f.want...)
			if diff := cmp.Diff(words(again), grep(f.want, " b")); diff != "" {
				t.Errorf("the caller's events: %s", diff)
			}
			if j.Term() != 2 || j.Seq() != 7 {
				t.Errorf("term %d, event %d", j.Term(), j.Seq())
			}
			closed(t, j)
			if diff := cmp.Diff([]string{segmentPath(dir, 1)}, b.fenced); diff != "" {
				t.Errorf("fenced: %s", diff)
			}
			j, events := reopen(t, lazy, dir)
			if j.Term() != 3 || len(events) != 8 {
				t.Errorf("the next one is term %d with %d events", j.Term(), len(events))
			}
		})
	}
}

func grep(all []string, part string) []string {
	var out []string
	for _, s := range all {
		if strings.Contains(s, part) {
			out = append(out, s)
		}
	}
	return out
}

// The segment that was to be the next may be spent, too, before or after its
// first line got in, and any call on the way may fail.
func TestASuccessionThatFailsIsTriedAgain(t *testing.T) {
	second := func(dir string) string { return segmentPath(dir, 2) }
	for name, tc := range map[string]struct {
		fault func(dir string, c faulty.Call) bool
		after bool
		want  []string
	}{
		"the second segment takes nothing": {
			func(dir string, c faulty.Call) bool { return c.Op == faulty.Write && c.Path == second(dir) }, false,
			[]string{"1 t1 opened", "2 t3 opened after 1 of 1", "3 t3 b"},
		},
		"the second segment takes only its first line": {
			func(dir string, c faulty.Call) bool { return c.Op == faulty.Write && c.Path == second(dir) }, true,
			[]string{"1 t1 opened", "2 t2 opened after 1 of 1", "3 t3 opened after 2 of 2", "4 t3 b"},
		},
		"it cannot be made at first": {
			func(dir string, c faulty.Call) bool { return c.Op == faulty.Create && c.Path == second(dir) }, false,
			[]string{"1 t1 opened", "2 t2 opened after 1 of 1", "3 t2 b"},
		},
		"the first one cannot be read": {
			func(dir string, c faulty.Call) bool { return c.Op == faulty.Open && c.Path == segmentPath(dir, 1) }, false,
			[]string{"1 t1 opened", "2 t2 opened after 1 of 1", "3 t2 b"},
		},
		"the look at the next one fails": {
			func(dir string, c faulty.Call) bool { return c.Op == faulty.Stat && c.Path == segmentPath(dir, 3) }, false,
			[]string{"1 t1 opened", "2 t2 opened after 1 of 1", "3 t2 b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, on, left := t.TempDir(), false, 3
			b := &brittle{FS: faulty.FS{FS: lazy, Plan: func(c faulty.Call) faulty.Fault {
				switch {
				case !on:
				case c.Op == faulty.Write && c.Path == segmentPath(dir, 1):
					return faulty.Fault{Err: unix.EIO}
				case left > 0 && tc.fault(dir, c):
					left--
					return faulty.Fault{Err: unix.EIO, After: tc.after}
				}
				return faulty.Fault{}
			}}}
			j, _, err := Open(t.Context(), b, dir, me, noon)
			if err != nil {
				t.Fatal(err)
			}
			on = true
			tries := 0
			for err = unix.EIO; err != nil && tries < 10; tries++ {
				if !errors.Is(err, unix.EIO) {
					t.Fatal(err)
				}
				err = j.Append(t.Context(), said("b"))
			}
			if err != nil || tries == 1 {
				t.Fatalf("after %d tries: %v", tries, err)
			}
			if err := j.Append(t.Context(), said("c")); err != nil {
				t.Fatal(err)
			}
			last := strconv.FormatInt(j.Seq(), 10) + " t" + strconv.FormatInt(j.Term(), 10) + " c"
			wantJournal(t, dir, append(tc.want, last)...)
			closed(t, j)
			events, err := collect(Read(t.Context(), lazy, dir, 1))
			if err != nil || len(events) != len(tc.want)+1 {
				t.Errorf("%d events, %v", len(events), err)
			}
		})
	}
}

func TestWhoeverMadeTheNextSegmentIsTheOwner(t *testing.T) {
	dir, on := t.TempDir(), false
	b := &brittle{FS: faulty.FS{FS: lazy, Plan: func(c faulty.Call) faulty.Fault {
		if on && c.Op == faulty.Write {
			on = false
			reopen(t, lazy, dir) // in this very moment
			return faulty.Fault{Err: unix.EIO}
		}
		return faulty.Fault{}
	}}}
	j, _, err := Open(t.Context(), b, dir, me, noon)
	if err != nil {
		t.Fatal(err)
	}
	on = true
	for range 2 {
		if err := j.Append(t.Context(), said("b")); !errors.Is(err, ErrSuperseded) {
			t.Fatalf("got %v, want %v", err, ErrSuperseded)
		}
	}
	closed(t, j)
	wantJournal(t, dir, "1 t1 opened", "2 t2 opened after 1 of 1")
}

// blocks is a file system that wants whole blocks of 512 bytes.
type blocks struct{ storage.FS }

func (b blocks) Create(ctx context.Context, path string, mode fs.FileMode) (storage.Writer, error) {
	w, err := b.FS.Create(ctx, path, mode)
	if err != nil {
		return nil, err
	}
	return &blockWriter{Writer: w}, nil
}

type blockWriter struct {
	storage.Writer
	size int
}

func (w *blockWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.size += n
	return n, err
}

func (w *blockWriter) Fill(n int) int { return -(w.size + n) & 511 }

func TestWholeBlocksAreWrittenWhereTheFileSystemWantsThem(t *testing.T) {
	dir := t.TempDir()
	j, _ := reopen(t, blocks{lazy}, dir)
	want := []string{"1 t1 opened"}
	for i := range 600 { // every length of a batch, so every length of what fills up
		value := strings.Repeat("x", i)
		add(t, j, said(value))
		want = append(want, strconv.Itoa(i+2)+" t1 "+value)
		info, err := os.Stat(segmentPath(dir, 1))
		if err != nil || info.Size()%512 != 0 {
			t.Fatalf("%d bytes after %d, %v", info.Size(), i, err)
		}
	}
	wantJournal(t, dir, want...)
}

// What of the old segment becomes visible only after the first line of the next
// was written does not count, however often that line is written.
func TestWhatASuccessionIsBuiltOnStaysAsItWas(t *testing.T) {
	dir, on := t.TempDir(), false
	var late []byte
	fsys := faulty.FS{FS: lazy, Plan: func(c faulty.Call) faulty.Fault {
		switch {
		case !on:
		case c.Op == faulty.Write && c.Path == segmentPath(dir, 1):
			return faulty.Fault{Err: errUsedUp}
		case c.Op == faulty.Write && c.Path == segmentPath(dir, 2):
			on = false
			setText(t, dir, 1, text(t, dir, 1)+string(late))
			return faulty.Fault{Err: unix.EIO, After: true}
		}
		return faulty.Fault{}
	}}
	j, _ := reopen(t, fsys, dir)
	batch := said("b")
	number(batch, 1, 1)
	var err error
	if late, err = encode(batch); err != nil {
		t.Fatal(err)
	}
	on = true
	if err := j.Append(t.Context(), batch); !errors.Is(err, unix.EIO) {
		t.Fatal(err)
	}
	add(t, j, batch)
	wantJournal(t, dir, "1 t1 opened", "2 t2 opened after 1 of 1", "3 t2 b")
}
