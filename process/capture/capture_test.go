package capture

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// written writes pieces as a log and returns its path.
func written(t testing.TB, max int64, keep int, pieces ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "0.out")
	w, err := Create(path, max, keep)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pieces {
		w.Store([]byte(p))
	}
	w.Close()
	return path
}

func texts(t testing.TB, path string) []string {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return rest(t, r)
}

func rest(t testing.TB, r *Reader) []string {
	t.Helper()
	var got []string
	for line, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, line.Text)
	}
	return got
}

func TestLinesAreShownSafely(t *testing.T) {
	long := strings.Repeat("x", limit)
	for name, tc := range map[string]struct {
		in   string
		want []string
	}{
		"empty":             {"", nil},
		"plain":             {"a\nb\n", []string{"a", "b"}},
		"no last end":       {"a\nb", []string{"a", "b"}},
		"empty lines":       {"\n\na\n\n", []string{"", "", "a", ""}},
		"dos":               {"a\r\nb\r\n", []string{"a", "b"}},
		"progress":          {"\r 10%\r 50%\r100%\ndone\n", []string{"100%", "done"}},
		"progress, no end":  {"1\r2\r", []string{"2"}},
		"nul":               {"a\x00b\n", []string{"a␀b"}},
		"invalid":           {"a\xff\xfeb\xc3\n", []string{"a\ufffd\ufffdb\ufffd"}},
		"letters":           {"žluťoučký 日本 🎉\n", []string{"žluťoučký 日本 🎉"}},
		"tab and bell":      {"a\tb\a\n", []string{"a\tb␇"}},
		"colour":            {"\x1b[1;31mred\x1b[0m\n", []string{"\x1b[1;31mred\x1b[0m"}},
		"clear screen":      {"\x1b[2Jx\n", []string{"␛[2Jx"}},
		"title":             {"\x1b]0;evil\a\n", []string{"␛]0;evil␇"}},
		"c1":                {"a\u009bb\n", []string{"a\ufffdb"}},
		"longest whole":     {long + "\nb\n", []string{long, "b"}},
		"long":              {long + "yz\nb\n", []string{long + "… 2 bytes more", "b"}},
		"long, cut letter":  {long[1:] + "é" + "\nb\n", []string{long[1:] + "… 2 bytes more", "b"}},
		"long, then begins": {long + "yz\rshort\n", []string{"short"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, texts(t, written(t, 0, 0, tc.in))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// stored is all bytes of a log that are still there.
func stored(t testing.TB, path string) []byte {
	t.Helper()
	b, err := OpenBytes(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	got, err := io.ReadAll(b)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRotationChangesNoByte(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]byte("ab\n\r\xc3\xa9\x00")), 0, 60), 0, 20).Draw(rt, "pieces")
		size := rapid.Int64Range(20, 300).Draw(rt, "max")
		var all []byte
		path := filepath.Join(t.TempDir(), rapid.StringMatching(`[a-z]{12}`).Draw(rt, "name"))
		w, err := Create(path, size, 10000)
		if err != nil {
			rt.Fatal(err)
		}
		for i, p := range pieces {
			w.Store(p)
			all = append(all, p...)
			if i%7 == 6 { // a writer that is started again goes on
				w.Close()
				if w, err = Create(path, size, 10000); err != nil {
					rt.Fatal(err)
				}
			}
		}
		w.Close()
		if got := stored(t, path); !bytes.Equal(got, all) {
			rt.Fatalf("got %q, want %q", got, all)
		}
		whole := written(t, 0, 0, string(all))
		if diff := cmp.Diff(texts(t, whole), texts(t, path)); diff != "" {
			rt.Fatal(diff)
		}
		n := rapid.IntRange(1, 20).Draw(rt, "n")
		tail, err := Tail(path, n)
		if err != nil {
			rt.Fatal(err)
		}
		want := texts(t, whole)
		want = want[max(0, len(want)-n):]
		var got []string
		for _, l := range tail {
			got = append(got, l.Text)
		}
		if len(want)+len(got) > 0 {
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Fatal(diff)
			}
		}
	})
}

func TestRotationKeepsNoMoreThanAsked(t *testing.T) {
	path := written(t, 10, 2, strings.Repeat("123456789\n", 9))
	names, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	want := []string{"0.out", "0.out.1", "0.out.1.idx", "0.out.2", "0.out.2.idx", "0.out.idx"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if got := string(stored(t, path)); got != strings.Repeat("123456789\n", 3) {
		t.Errorf("got %q", got)
	}
}

func TestAReaderThatWasOvertakenSaysSo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.out")
	w, err := Create(path, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.Store([]byte("1\n2\n"))
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := rest(t, r); !cmp.Equal(got, []string{"1", "2"}) {
		t.Errorf("got %q", got)
	}
	w.Store([]byte("345678\n" + strings.Repeat("123456789\n", 5)))
	got := rest(t, r)
	// The reader holds the part that it was in, so only what came after it is gone.
	want := []string{"345678 [muster: 40 older bytes were rotated away]", "", "123456789"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFollowSurvivesRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.out")
	r, err := Open(path) // it is not there yet
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, ended := context.WithCancel(t.Context())
	done := make(chan struct{})
	var want []string
	go func() {
		defer close(done)
		defer ended()
		w, err := Create(path, 500, 1000)
		if err != nil {
			t.Error(err)
			return
		}
		defer w.Close()
		for i := range 1000 {
			line := fmt.Sprintf("line %d ěščř", i)
			want = append(want, line)
			for _, b := range []byte(line + "\n") { // letters are cut everywhere
				w.Store([]byte{b})
			}
		}
	}()
	var got []string
	for line, err := range r.Follow(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, line.Text)
	}
	<-done
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFollowGivesTheUnfinishedLineAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "0.out")
		w, err := Create(path, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for _, p := range []string{"a", "b\nc", "d"} {
				w.Store([]byte(p))
				<-time.After(time.Second)
			}
			w.Close()
			cancel()
		}()
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var got []string
		for line := range r.Follow(ctx) {
			got = append(got, line.Text)
		}
		if diff := cmp.Diff([]string{"ab", "cd"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLinesHaveTheTimeOfTheirEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.err")
	w, err := Create(path, 20, 100)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Unix(1_700_000_000, 0)
	clock := begin
	w.now = func() time.Time { return clock }
	var want []Line
	for i := range 120 {
		text := fmt.Sprintf("line %03d", i)
		w.Store([]byte(text[:3]))
		clock = clock.Add(time.Second)
		w.Store([]byte(text[3:] + "\n"))
		want = append(want, Line{At: clock, Stream: "0.err", Text: text})
		clock = clock.Add(time.Second)
	}
	w.Close()
	// The first record has the real time, of Create; and only 101 parts are kept.
	for since := 20; since < 120; since += 7 {
		r, err := OpenSince(path, begin.Add(time.Duration(since)*2*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		var got []Line
		for line, err := range r.All() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, line)
		}
		r.Close()
		if diff := cmp.Diff(want[since:], got); diff != "" {
			t.Errorf("since %d: %s", since, diff)
		}
	}
}

func TestAnIndexIsNoLargerThanItsTimes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.out")
	w, err := Create(path, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Now()
	w.now = func() time.Time { return clock }
	for range 10_000 {
		w.Store([]byte("x\n"))
		clock = clock.Add(time.Millisecond)
	}
	w.Close()
	info, err := os.Stat(path + indexSuffix)
	if err != nil {
		t.Fatal(err)
	}
	if n := info.Size() / recordSize; n < 90 || n > 102 {
		t.Errorf("%d records in ten seconds", n)
	}
}

func TestALogWithoutIndexIsReadable(t *testing.T) {
	path := written(t, 10, 5, strings.Repeat("123456789\n", 4))
	idx, err := filepath.Glob(path + "*" + indexSuffix)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range idx {
		os.Remove(name)
	}
	if got := string(stored(t, path)); got != strings.Repeat("123456789\n", 4) {
		t.Errorf("got %q", got)
	}
	lines, err := Tail(path, 2)
	if err != nil || len(lines) != 2 || !lines[0].At.IsZero() {
		t.Errorf("got %v, %v", lines, err)
	}
}

func TestReadingFromAnOffset(t *testing.T) {
	path := written(t, 7, 100, "0123456789abcdefghij")
	for offset := range int64(20) {
		b, err := OpenBytes(path, offset)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(b)
		if want := "0123456789abcdefghij"[offset:]; string(got) != want || err != nil {
			t.Errorf("%d: got %q, %v", offset, got, err)
		}
		b.Close()
	}
}

func FuzzSafe(f *testing.F) {
	f.Add([]byte("a\x00\xff\x1b[31m\x1b[2J\u009b"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, r := range strings.ReplaceAll(Safe(b), "\x1b[", "") {
			if r < 0x20 && r != '\t' || r >= 0x7f && r < 0xa0 {
				t.Errorf("%q shows %q", b, r)
			}
		}
	})
}
