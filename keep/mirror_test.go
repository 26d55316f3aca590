package keep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/muster-project/muster/process/capture"
)

// speaker serves the bench's logs live, as an executor does, until ended.
type speaker struct {
	logs  string
	ended chan struct{}
	fail  func(n int) bool // whether the nth opening breaks after some bytes

	mu     sync.Mutex
	opened []int64 // offsets
}

func (s *speaker) open(ctx context.Context, _ string, _ int, stream string, offset int64) (io.ReadCloser, error) {
	s.mu.Lock()
	s.opened = append(s.opened, offset)
	n := len(s.opened)
	s.mu.Unlock()
	path := filepath.Join(s.logs, stream)
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	b, err := capture.OpenBytes(path, offset)
	if err != nil {
		return nil, err
	}
	pr, pw := io.Pipe()
	go func() {
		defer b.Close()
		e := NewEncoder(pw)
		for {
			over := isClosed(s.ended)
			if _, err := Copy(e, b, stream); err != nil {
				return
			}
			if s.fail != nil && s.fail(n) {
				_ = pw.CloseWithError(io.ErrUnexpectedEOF)
				return
			}
			if over {
				_ = e.Encode(Frame{End: true})
				_ = pw.Close()
				return
			}
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
				_ = pw.CloseWithError(ctx.Err())
				return
			}
		}
	}()
	return pr, nil
}

func TestAMirrorFollowsLiveAndByChunks(t *testing.T) {
	for name, tc := range map[string]struct {
		live, kept bool
		fail       func(int) bool
	}{
		"live alone":       {live: true},
		"kept alone":       {kept: true},
		"both":             {live: true, kept: true},
		"both, live tears": {live: true, kept: true, fail: func(n int) bool { return n%3 != 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			synctest.Test(t, func(t *testing.T) {
				out, ended := b.log("0.out"), make(chan struct{})
				s := &speaker{logs: b.logs, ended: ended, fail: tc.fail}
				m := b.mirror()
				if tc.live {
					m.Live = s.open
				}
				var wg sync.WaitGroup
				if tc.kept {
					wg.Go(func() {
						if err := b.writer().Run(t.Context(), ended, nil); err != nil {
							t.Error(err)
						}
					})
				}
				jobEnded, done := make(chan struct{}), make(chan error, 1)
				go func() { done <- m.Run(t.Context(), jobEnded) }()
				m.Watch("worker-0", 1, []string{"0.out"})
				var want strings.Builder
				for i := range 100 {
					line := fmt.Sprintf("line %d\n", i)
					want.WriteString(line)
					out.Store([]byte(line))
					<-time.After(700 * time.Millisecond)
					if i == 50 && tc.live && tc.fail == nil && b.here("0.out") != want.String() {
						t.Error("the live stream lags behind")
					}
				}
				out.Close()
				close(ended)
				wg.Wait()
				close(jobEnded)
				begin := time.Now()
				if err := <-done; err != nil {
					t.Error(err)
				}
				if took := time.Since(begin); took > linger/2 {
					t.Errorf("its end took %s", took)
				}
				if got := b.here("0.out"); got != want.String() {
					t.Errorf("got %q", got)
				}
			})
			if diff := cmp.Diff(shown(t, filepath.Join(b.logs, "0.out")), shown(t, filepath.Join(b.local, "tasks/worker-0/1/logs/0.out"))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSeveralMirrorsShareOnePlace(t *testing.T) {
	b := newBench(t)
	w := b.log("0.out")
	var want strings.Builder
	for i := range 20000 {
		line := fmt.Sprintf("line %d\n", i)
		want.WriteString(line)
		w.Store([]byte(line))
	}
	w.Close()
	if err := b.writer().Run(t.Context(), closed(), nil); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			m := b.mirror()
			ended := closed()
			m.Live = (&speaker{logs: b.logs, ended: ended}).open
			m.Watch("worker-0", 1, []string{"0.out"})
			if err := m.Run(t.Context(), ended); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if b.here("0.out") != want.String() {
		t.Error("other bytes came out")
	}
}

func TestAnExecutorThatWasKilledIsNotWaitedForForEver(t *testing.T) {
	b := newBench(t)
	synctest.Test(t, func(t *testing.T) {
		b.log("0.out").Store([]byte("words\n"))
		ctx, kill := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.writer().Run(ctx, nil, nil) }()
		<-time.After(5 * time.Second)
		kill()
		<-done
		if err := b.mirror().Run(t.Context(), closed()); err != nil {
			t.Error(err)
		}
	})
	if got := b.here("0.out"); got != "words\n" {
		t.Errorf("got %q", got)
	}
}

// put writes a chunk by hand.
func (b *bench) put(name string, data []byte) {
	b.t.Helper()
	dir := Dir(b.job, "worker-0", 1)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func packed(t testing.TB, frames ...Frame) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := compressor(&out)
	if err != nil {
		t.Fatal(err)
	}
	e := NewEncoder(z)
	for _, f := range frames {
		if err := e.Encode(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestTornAndForeignChunksDoNotKeepTheOthersBack(t *testing.T) {
	b := newBench(t)
	whole := func(offset int64, text string) []byte {
		return packed(t, Frame{Stream: "0.out", Offset: offset, Data: []byte(text)}, Frame{End: true})
	}
	b.put("000001", whole(0, "one\n"))
	b.put("000002", packed(t, Frame{Stream: "0.out", Offset: 4, Data: []byte("two\n")})) // no end
	b.put("000003", nil)
	b.put("000004", []byte("something else"))
	b.put("notes", []byte("something else"))
	b.put("7", whole(0, "no name of ours\n"))
	m := b.mirror()
	if final, err := m.Once(t.Context()); final || !errors.Is(err, ErrFormat) {
		t.Errorf("final %t, %v", final, err)
	}
	b.put("000010", whole(4, "two\nthree\n"))
	b.put("000011", packed(t, Frame{End: true, Final: true}))
	if _, err := m.Once(t.Context()); !errors.Is(err, ErrFormat) {
		t.Errorf("foreign bytes: %v", err)
	}
	if final, err := m.Once(t.Context()); !final || err != nil {
		t.Errorf("final %t, %v", final, err)
	}
	if got := b.here("0.out"); got != "one\ntwo\nthree\n" {
		t.Errorf("got %q", got)
	}
}

func TestHostileFramesAreErrors(t *testing.T) {
	frame := func(name string, tail ...byte) []byte {
		return append(append([]byte{kindData, byte(len(name))}, name...), tail...)
	}
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}
	for name, data := range map[string][]byte{
		"kind":                {'x'},
		"a path":              frame("../0.out", 0, 0, 0),
		"an index":            frame("0.out.idx", 0, 0, 0),
		"offset":              frame("0.out", append(huge, 0, 0)...),
		"number too long":     frame("0.out", append(bytes.Repeat([]byte{0xff}, 10), 1)...),
		"more times than fit": frame("0.out", append([]byte{0}, huge...)...),
		"more data than fits": frame("0.out", append([]byte{0, 0}, huge...)...),
	} {
		if _, err := decode(bytes.NewReader(data), func(Frame) error { return nil }); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	e, err := decode(bytes.NewReader(frame("0.out", 0, 0, 5, 'a')), func(Frame) error { t.Error("a torn frame was given"); return nil })
	if e.whole || err != nil {
		t.Errorf("torn: %+v, %v", e, err)
	}
}

func TestAChunkCannotFillTheDisk(t *testing.T) {
	b := newBench(t)
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	e, data := NewEncoder(z), make([]byte, dataMost)
	for i := range int64(2 * chunkMost / dataMost) {
		if err := e.Encode(Frame{Stream: "0.out", Offset: i * dataMost, Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(e.Encode(Frame{End: true, Final: true}), z.Close()); err != nil {
		t.Fatal(err)
	}
	b.put("000001", out.Bytes())
	if final, err := b.mirror().Once(t.Context()); final || err != nil {
		t.Errorf("final %t, %v", final, err)
	}
	if end, err := capture.End(filepath.Join(b.local, "tasks/worker-0/1/logs/0.out")); end > chunkMost || err != nil {
		t.Errorf("%d bytes of %d in the chunk, %v", end, out.Len(), err)
	}
}

func FuzzDecodeChunk(f *testing.F) {
	at := time.Unix(1_700_000_000, 0)
	good := packed(f, Frame{Stream: "0.out", Offset: 7, Marks: []capture.Mark{{Offset: 7, At: at}, {Offset: 9, At: at.Add(time.Second)}},
		Data: []byte("some\nlines\n")}, Frame{End: true, Final: true})
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = decodeChunk(bytes.NewReader(data), func(Frame) error { return nil })
	})
}

// What is decoded is encoded to the same again, and a copy takes it without
// harm.
func FuzzFrames(f *testing.F) {
	at := time.Unix(1_700_000_000, 0)
	var b bytes.Buffer
	e := NewEncoder(&b)
	for _, frame := range []Frame{
		{Stream: "0.out", Offset: 1 << 40, Data: []byte("x")},
		{Stream: "12.err", Marks: []capture.Mark{{Offset: 0, At: at}, {Offset: 3, At: at.Add(-time.Hour)}}, Data: []byte("four")},
		{End: true},
	} {
		if err := e.Encode(frame); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		local := t.TempDir()
		c := newPlace(local, "worker-0", 1)
		if err := os.MkdirAll(filepath.Join(c.dir, logsDir), 0o700); err != nil {
			t.Fatal(err)
		}
		copies := c.copies()
		defer copies.close()
		_, _ = decode(bytes.NewReader(data), func(frame Frame) error {
			var again bytes.Buffer
			if err := NewEncoder(&again).Encode(frame); err != nil {
				t.Fatalf("%+v: %v", frame, err)
			}
			got, err := NewDecoder(&again).Decode()
			if diff := cmp.Diff(frame, got); err != nil || len(rising(frame)) == len(frame.Marks) && diff != "" {
				t.Errorf("%v %s", err, diff)
			}
			return copies.add(frame)
		})
	})
}
