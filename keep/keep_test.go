package keep

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/muster-project/muster/process/capture"
	"github.com/muster-project/muster/storage"
	"github.com/muster-project/muster/storage/faulty"
	"github.com/muster-project/muster/storage/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

// bench is a job with one incarnation, and a place to mirror it to.
type bench struct {
	t     testing.TB
	fsys  storage.FS
	job   string
	logs  string
	local string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{t: t, fsys: local.FS{}, job: t.TempDir(), logs: t.TempDir(), local: t.TempDir()}
	return b
}

func (b *bench) log(name string) *capture.Writer {
	b.t.Helper()
	w, err := capture.Create(filepath.Join(b.logs, name), 0, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	return w
}

func (b *bench) writer() *Writer {
	return &Writer{FS: b.fsys, Dir: Dir(b.job, "worker-0", 1), Logs: b.logs, Log: quiet}
}

func (b *bench) mirror() *Mirror { return &Mirror{FS: b.fsys, Job: b.job, Local: b.local, Log: quiet} }

// here is what a stream holds in the mirror.
func (b *bench) here(stream string) string {
	b.t.Helper()
	return contents(b.t, filepath.Join(b.local, "tasks", "worker-0", "1", "logs", stream))
}

func contents(t testing.TB, path string) string {
	t.Helper()
	r, err := capture.OpenBytes(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func shown(t testing.TB, path string) []capture.Line {
	t.Helper()
	r, err := capture.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []capture.Line
	for line, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line)
	}
	return out
}

// closed is a channel that is.
func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func TestKeptLogsHaveTheSameLinesAndTimes(t *testing.T) {
	b := newBench(t)
	synctest.Test(t, func(t *testing.T) {
		out, errs := b.log("0.out"), b.log("0.err")
		ended, done := make(chan struct{}), make(chan error, 1)
		go func() { done <- b.writer().Run(t.Context(), ended, nil) }()
		for i := range 300 {
			out.Store([]byte(strings.Repeat("x", i) + "\n"))
			if i%10 == 0 {
				errs.Store([]byte("warning\n"))
			}
			<-time.After(time.Second)
		}
		out.Close()
		errs.Close()
		close(ended)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
	if final, err := b.mirror().Once(t.Context()); !final || err != nil {
		t.Fatalf("final %t, %v", final, err)
	}
	for _, name := range []string{"0.out", "0.err"} {
		want, got := shown(t, filepath.Join(b.logs, name)), shown(t, filepath.Join(b.local, "tasks/worker-0/1/logs", name))
		if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
			t.Errorf("%s: %s", name, diff)
		}
	}
	// 2, 4, 8, 16, 32 and then 60 seconds, and the final one.
	numbers, err := chunks(t.Context(), b.fsys, Dir(b.job, "worker-0", 1))
	if err != nil || len(numbers) < 9 || len(numbers) > 12 {
		t.Errorf("%d chunks in 300 seconds, %v", len(numbers), err)
	}
}

func TestMuchOutputIsKeptAtOnceInBoundedChunks(t *testing.T) {
	b := newBench(t)
	w := b.log("0.out")
	line := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16) // 1 MiB
	for range 40 {
		w.Store(line)
	}
	w.Close()
	if err := b.writer().Run(t.Context(), closed(), nil); err != nil {
		t.Fatal(err)
	}
	numbers, err := chunks(t.Context(), b.fsys, Dir(b.job, "worker-0", 1))
	if err != nil || len(numbers) != 3 {
		t.Errorf("chunks %v, %v", numbers, err)
	}
	if final, err := b.mirror().Once(t.Context()); !final || err != nil {
		t.Fatalf("final %t, %v", final, err)
	}
	if b.here("0.out") != strings.Repeat(string(line), 40) {
		t.Error("other bytes came out")
	}
}

// Whatever fails, and whenever, and whoever reads meanwhile: in the end the
// mirror has every byte, once.
func TestNothingIsLostOrDoubledByFaults(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		fault := rapid.SampledFrom([]faulty.Op{faulty.Create, faulty.Write, faulty.Sync, faulty.Mkdir})
		var mu sync.Mutex
		plan := map[faulty.Op][]faulty.Fault{}
		for range rapid.IntRange(0, 8).Draw(rt, "faults") {
			op := fault.Draw(rt, "op")
			plan[op] = append(plan[op], faulty.Fault{Err: errors.New("fault"), After: rapid.Bool().Draw(rt, "after"), Keep: rapid.IntRange(0, 50).Draw(rt, "keep")})
		}
		good := b.fsys
		b.fsys = faulty.FS{FS: good, Plan: func(c faulty.Call) (f faulty.Fault) {
			mu.Lock()
			defer mu.Unlock()
			if list := plan[c.Op]; len(list) > 0 {
				f, plan[c.Op] = list[0], list[1:]
			}
			return f
		}}
		pieces := rapid.SliceOfN(rapid.StringMatching(`[a-z\n]{0,40}`), 1, 12).Draw(rt, "pieces")
		synctest.Test(t, func(t *testing.T) {
			out := b.log("3.err")
			ended, done := make(chan struct{}), make(chan error, 1)
			hurry := make(chan struct{}, 1)
			go func() { done <- b.writer().Run(t.Context(), ended, hurry) }()
			m := (&bench{t: t, fsys: good, job: b.job, local: b.local}).mirror()
			for _, p := range pieces {
				out.Store([]byte(p))
				if len(p)%3 == 0 {
					select {
					case hurry <- struct{}{}:
					default:
					}
				}
				<-time.After(time.Duration(len(p)) * 100 * time.Millisecond)
				if _, err := m.Once(t.Context()); err != nil {
					t.Error(err)
				}
			}
			out.Close()
			close(ended)
			if err := <-done; err != nil {
				t.Error(err)
			}
			if final, err := m.Once(t.Context()); !final || err != nil {
				t.Errorf("final %t, %v", final, err)
			}
		})
		if got, want := b.here("3.err"), strings.Join(pieces, ""); got != want {
			rt.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestAStorageThatStaysAwayIsTold(t *testing.T) {
	b := newBench(t)
	b.fsys = faulty.FS{FS: b.fsys, Plan: func(faulty.Call) faulty.Fault { return faulty.Fault{Err: fs.ErrPermission} }}
	synctest.Test(t, func(t *testing.T) {
		b.log("0.out").Store([]byte("some words\n"))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := b.writer().Run(ctx, closed(), nil)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "11 bytes of output are not kept") {
			t.Errorf("got %v", err)
		}
	})
}

func TestWhatWasRotatedAwayIsAGap(t *testing.T) {
	b := newBench(t)
	w, err := capture.Create(filepath.Join(b.logs, "0.out"), 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	keeper := b.writer()
	keeper.sent, keeper.next = map[string]int64{}, 1
	keep := func(final bool) {
		t.Helper()
		if _, err := keeper.chunk(t.Context(), final); err != nil {
			t.Fatal(err)
		}
	}
	w.Store([]byte("one\n"))
	keep(false)
	w.Store([]byte("1234567\n" + strings.Repeat("123456789\n", 5)))
	keep(true)
	w.Close()
	if final, err := b.mirror().Once(t.Context()); !final || err != nil {
		t.Fatalf("final %t, %v", final, err)
	}
	var got []string
	for _, l := range shown(t, filepath.Join(b.local, "tasks/worker-0/1/logs/0.out")) {
		got = append(got, l.Text)
	}
	want := []string{"one", "[muster: 46 older bytes were rotated away]", "9", "123456789"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
