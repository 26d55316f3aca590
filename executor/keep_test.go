package executor

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/keep"
	"github.com/muster-project/muster/process/capture"
	"github.com/muster-project/muster/storage/faulty"
	"github.com/muster-project/muster/storage/local"
	"github.com/muster-project/muster/wire"
)

// kept is what one stream of an incarnation's kept logs says, and whether it is
// final.
func kept(t *testing.T, j *job, incarnation, stream string) (text string, final bool) {
	t.Helper()
	m := keep.Mirror{FS: local.FS{}, Job: j.dir, Local: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	final, err := m.Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return read(t, filepath.Join(m.Local, "tasks", "worker-0", incarnation, "logs", stream)), final
}

func TestOutputIsKeptBeforeTheExecutorQuits(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	c.Keep = filepath.Join(j.dir, "logs", "worker-0")
	l := liveWith(t, c, Options{FS: local.FS{}})
	d.exits(1, shell(`echo first; exit 1`))
	d.exits(2, shell(`echo second; echo problem >&2; exit 0`))
	d.send(wire.Directive{Quit: &wire.Quit{Reason: "job is done"}})
	if err := l.end(); err != nil {
		t.Errorf("got %v", err)
	}
	for _, tc := range []struct{ incarnation, stream, want string }{
		{"1", "0.out", "first\n"}, {"2", "0.out", "second\n"}, {"2", "0.err", "problem\n"},
	} {
		if got, final := kept(t, j, tc.incarnation, tc.stream); got != tc.want || !final {
			t.Errorf("%s of %s: %q, final %t", tc.stream, tc.incarnation, got, final)
		}
	}
}

func TestATerminatedExecutorKeepsWhatItCan(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	c.Keep = filepath.Join(j.dir, "logs", "worker-0")
	l := liveWith(t, c, Options{FS: local.FS{}})
	// Its task does not end at once, and we may be killed before it does.
	d.play(1, shell(`trap 'until [ -e $MUSTER_DIR/go ]; do sleep 0.02; done; echo bye; exit 0' TERM; echo words; touch $MUSTER_READY_FILE; while :; do sleep 0.02; done`))
	wait(d, ready(1))
	eventually(t, "the words", func() bool { return read(t, filepath.Join(c.Root, "1", "logs", "0.out")) == "words\n" })
	l.cancel()
	eventually(t, "a chunk", func() bool { got, _ := kept(t, j, "1", "0.out"); return got == "words\n" })
	if err := os.WriteFile(filepath.Join(c.Root, "1", "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.end(); !errors.Is(err, ErrTerminated) {
		t.Errorf("got %v", err)
	}
	if got, final := kept(t, j, "1", "0.out"); got != "words\nbye\n" || !final {
		t.Errorf("%q, final %t", got, final)
	}
}

func TestAStorageThatIsAwayHoldsNobodyForLong(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	c.Keep, c.Endpoints = filepath.Join(j.dir, "logs", "worker-0"), ""
	l := liveWith(t, c, Options{KeepTime: 300 * time.Millisecond,
		FS: faulty.FS{FS: local.FS{}, Plan: func(faulty.Call) faulty.Fault { return faulty.Fault{Err: errors.New("away")} }}})
	d.exits(1, shell(`echo words; exit 0`)) // told although nothing is kept
	d.send(wire.Directive{Quit: &wire.Quit{Reason: "job is done"}})
	if err := l.end(); err != nil {
		t.Errorf("got %v", err)
	}
	if text := l.log.String(); !strings.Contains(text, "output was not kept") || !strings.Contains(text, "6 bytes") {
		t.Errorf("log %s", text)
	}
}

// counter counts the looks at a directory.
func counter(looks *atomic.Int64) faulty.FS {
	return faulty.FS{FS: local.FS{}, Plan: func(c faulty.Call) faulty.Fault {
		if c.Op == faulty.List {
			looks.Add(1)
		}
		return faulty.Fault{}
	}}
}

func TestARemoteDirectoryIsLookedAtOnlyWithoutALink(t *testing.T) {
	j := newJob(t)
	first := j.coordinator(1, true)
	var looks atomic.Int64
	liveWith(t, j.context(first, worker), Options{FS: counter(&looks), Published: map[string]string{"gpu.numa": "far"}})
	first.hello(0)
	published := func(m wire.Message) *wire.Published { return m.Published }
	if p := wait(first, published); p.Key != "gpu.numa" || p.Value != "far" {
		t.Errorf("published %+v", p)
	}
	<-time.After(2 * lookFirst)
	if n := looks.Load(); n != 0 {
		t.Errorf("%d looks while linked", n)
	}
	first.stop()
	second := j.coordinator(2, true)
	second.hello(0)
	if looks.Load() == 0 {
		t.Error("found it without a look")
	}
}

func TestTheNodeShowsTheLogs(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	c.LogDir = t.TempDir()
	c.Logs.MaxSize, c.Logs.Keep = 1000, 2
	l := live(t, c)
	d.exits(1, shell(`for i in $(seq 1000); do echo line $i; done; echo bad >&2; exit 0`))
	d.send(wire.Directive{Quit: &wire.Quit{Reason: "job is done"}})
	if err := l.end(); err != nil {
		t.Errorf("got %v", err)
	}
	entries, err := os.ReadDir(c.LogDir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{"worker-0.1.0.err", "worker-0.1.0.out", "worker-0.1.0.out.1", "worker-0.1.0.out.2"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if got := read(t, filepath.Join(c.LogDir, "worker-0.1.0.out")); !strings.HasSuffix(got, "line 1000\n") {
		t.Errorf("the newest part is %q", got)
	}
}

func TestLogsAreCopiedWhereTheyCannotBeLinked(t *testing.T) {
	logs, dir := t.TempDir(), t.TempDir()
	w, err := capture.Create(filepath.Join(logs, "0.out"), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.Store([]byte("words\n"))
	w.Close()
	s := shelf{logs: logs, dir: dir, prefix: "worker-0.1.", log: slog.New(slog.DiscardHandler)}
	if err := s.copy(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(dir, "worker-0.1.0.out")); got != "words\n" {
		t.Errorf("got %q", got)
	}
	// A link replaces it.
	if err := s.link(); err != nil {
		t.Fatal(err)
	}
	if !s.linked("0.out", capture.Parts(filepath.Join(logs, "0.out"))) {
		t.Error("no link")
	}
}

func TestALogIsSentWithItsTimes(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	live(t, c)
	d.play(1, shell(`echo one; while [ ! -e go ]; do sleep 0.02; done; echo two`))
	d.mu.Lock()
	link := d.link
	d.mu.Unlock()
	var once sync.Once
	m := keep.Mirror{Local: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	out := filepath.Join(m.Local, "tasks", "worker-0", "1", "logs", "0.out")
	done := make(chan struct{})
	m.Live = func(ctx context.Context, _ string, incarnation int, stream string, offset int64) (io.ReadCloser, error) {
		r, err := d.srv.OpenLog(ctx, link, wire.OpenLog{Incarnation: incarnation, Name: stream, Offset: offset, Follow: true, Timed: true})
		once.Do(func() { close(done) })
		return r, err
	}
	m.Watch("worker-0", 1, keep.Streams(1))
	ended, finished := make(chan struct{}), make(chan error, 1)
	go func() { finished <- m.Run(t.Context(), ended) }()
	<-done
	eventually(t, "the first line", func() bool { return read(t, out) == "one\n" })
	if err := os.WriteFile(filepath.Join(c.Root, "1", "work", "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wait(d, exitOf(1))
	close(ended)
	if err := <-finished; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(linesOf(t, filepath.Join(c.Root, "1", "logs", "0.out")), linesOf(t, out)); diff != "" {
		t.Error(diff)
	}
}

func linesOf(t *testing.T, path string) []capture.Line {
	t.Helper()
	lines, err := capture.Tail(path, 100)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}
