package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// timed writes a log whose clock steps with every piece, and gives the lines
// that a reader finds in it.
func timed(t testing.TB, max int64, keep int, pieces ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "0.out")
	clock := time.Unix(1_700_000_000, 0)
	w := &Writer{path: path, max: max, keep: keep, now: func() time.Time { return clock }}
	var err error
	if w.file, err = open(path, 0); err != nil {
		t.Fatal(err)
	}
	index, err := open(path+indexSuffix, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.resume(index)
	for _, p := range pieces {
		w.Store([]byte(p))
		clock = clock.Add(time.Second)
	}
	w.Close()
	return path
}

func lines(t testing.TB, path string) []Line {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []Line
	for line, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, line)
	}
	return got
}

// duplicate copies a log in reads of some bytes, opening the copy anew after
// each nth.
func duplicate(t testing.TB, from, to string, size, anew int) {
	t.Helper()
	c, err := OpenCopy(to)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { c.Close() }()
	b, err := OpenBytes(from, c.End())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	buf := make([]byte, size)
	for i := 0; ; i++ {
		n, marks, err := b.ReadMarked(buf)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Add(b.Offset()-int64(n), marks, buf[:n]); err != nil {
			t.Fatal(err)
		}
		if i%anew == anew-1 {
			c.Close()
			if c, err = OpenCopy(to); err != nil {
				t.Fatal(err)
			}
			if c.End() != b.Offset() {
				t.Fatalf("the copy stands at %d after %d", c.End(), b.Offset())
			}
		}
	}
}

func TestACopyHasTheSameLinesAndTimes(t *testing.T) {
	var pieces []string
	for i := range 200 {
		pieces = append(pieces, fmt.Sprintf("line %d", i)[:4], fmt.Sprintf("line %d\n", i)[4:])
	}
	for _, size := range []int{1, 7, 64, 4096} {
		from := timed(t, 300, 1000, pieces...)
		to := filepath.Join(t.TempDir(), "0.out")
		duplicate(t, from, to, size, 3)
		if diff := cmp.Diff(lines(t, from), lines(t, to)); diff != "" {
			t.Errorf("in reads of %d: %s", size, diff)
		}
	}
}

func TestWhatIsMissingInACopyIsTold(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	path := filepath.Join(t.TempDir(), "0.out")
	c, err := OpenCopy(path)
	if err != nil {
		t.Fatal(err)
	}
	add := func(offset int64, text string, second int) {
		t.Helper()
		marks := []Mark{{Offset: offset, At: at.Add(time.Duration(second) * time.Second)}}
		if err := c.Add(offset, marks, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	add(0, "one\n", 0)
	add(100, "two\n", 2)
	add(100, "two\n", 2) // twice
	add(102, "o\nthree\n", 3)
	c.Close()
	if c, err = OpenCopy(path); err != nil {
		t.Fatal(err)
	}
	add(200, "four\n", 4)
	c.Close()
	want := []Line{
		{At: at, Stream: "0.out", Text: "one"},
		{At: at.Add(2 * time.Second), Stream: "0.out", Text: "[muster: 96 older bytes were rotated away]"},
		{At: at.Add(2 * time.Second), Stream: "0.out", Text: "two"},
		{At: at.Add(3 * time.Second), Stream: "0.out", Text: "three"},
		{At: at.Add(4 * time.Second), Stream: "0.out", Text: "[muster: 90 older bytes were rotated away]"},
		{At: at.Add(4 * time.Second), Stream: "0.out", Text: "four"},
	}
	if diff := cmp.Diff(want, lines(t, path)); diff != "" {
		t.Error(diff)
	}
	tail, err := Tail(path, 2)
	if err != nil || len(tail) != 2 || tail[1].Text != "four" {
		t.Errorf("tail %v, %v", tail, err)
	}
	r, err := OpenSince(path, at.Add(3*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if line, err := r.Next(); err != nil || line.Text != "three" {
		t.Errorf("since: %v, %v", line, err)
	}
}

func TestACopyBeginsWhereItsLogDoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.out")
	c, err := OpenCopy(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Add(1000, nil, []byte("late\n")); err != nil {
		t.Fatal(err)
	}
	if end, err := End(path); end != 1005 || err != nil {
		t.Errorf("ends at %d, %v", end, err)
	}
	if got := texts(t, path); !cmp.Equal(got, []string{"late"}) {
		t.Errorf("got %q", got)
	}
	if err := c.Add(-1, nil, []byte("x")); err == nil {
		t.Error("a negative offset was taken")
	}
	if err := c.Add(1<<63-2, nil, []byte("xyz")); err == nil {
		t.Error("an offset beyond all was taken")
	}
}

// A kill may leave records of times without their bytes.
func TestACopyDropsTimesOfBytesThatNeverCame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.out")
	c, err := OpenCopy(path)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_700_000_000, 0)
	if err := c.Add(0, []Mark{{0, at}}, []byte("one\n")); err != nil {
		t.Fatal(err)
	}
	write(c.w.index, append(record{4, at.Add(time.Hour).UnixNano()}.bytes(), record{900, at.Add(2 * time.Hour).UnixNano()}.bytes()...))
	c.Close()
	if c, err = OpenCopy(path); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Add(4, []Mark{{4, at.Add(time.Second)}}, []byte("two\n")); err != nil {
		t.Fatal(err)
	}
	got := lines(t, path)
	if len(got) != 2 || !got[1].At.Equal(at.Add(time.Second)) {
		t.Errorf("got %v", got)
	}
	info, err := os.Stat(path + indexSuffix)
	if err != nil || info.Size() != 2*recordSize {
		t.Errorf("index of %d bytes, %v", info.Size(), err)
	}
}

// Whatever the order and the overlap of pieces, the bytes that are there are
// those of the log, at their offsets.
func TestPiecesMayComeTwice(t *testing.T) {
	all := make([]byte, 400)
	for i := range all {
		all[i] = byte(i)
	}
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(t.TempDir(), rapid.StringMatching(`[a-z]{12}`).Draw(rt, "name"))
		c, err := OpenCopy(path)
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { c.Close() }()
		var want []byte
		end, begun := int64(0), false
		for range rapid.IntRange(1, 15).Draw(rt, "pieces") {
			from := rapid.Int64Range(0, 399).Draw(rt, "from")
			to := rapid.Int64Range(from, 400).Draw(rt, "to")
			if err := c.Add(from, nil, all[from:to]); err != nil {
				rt.Fatal(err)
			}
			if to > from && (to > end || !begun) {
				want = append(want, all[max(from, end):to]...)
				end, begun = to, true
			}
			if rapid.Bool().Draw(rt, "anew") {
				c.Close()
				if c, err = OpenCopy(path); err != nil {
					rt.Fatal(err)
				}
			}
			if c.End() != end {
				rt.Fatalf("ends at %d, want %d", c.End(), end)
			}
		}
		if got := stored(t, path); !bytes.Equal(got, want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestMarksAreOfWhatWasRead(t *testing.T) {
	path := timed(t, 0, 0, "ab", "cd", "ef")
	begin := time.Unix(1_700_000_000, 0)
	b, err := OpenBytes(path, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	n, marks, err := b.ReadMarked(make([]byte, 4))
	want := []Mark{{1, begin}, {2, begin.Add(time.Second)}, {4, begin.Add(2 * time.Second)}}
	if n != 4 || err != nil || !cmp.Equal(want, marks) {
		t.Errorf("%d, %v, %v", n, marks, err)
	}
	if got := Parts(path); !cmp.Equal(got, []string{path}) {
		t.Errorf("parts %v", got)
	}
}
