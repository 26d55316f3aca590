package keep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/muster-project/muster/process/capture"
	"github.com/muster-project/muster/storage"
)

// When a chunk is written: once so much is pending, or the oldest pending byte is
// older than an interval that doubles from first to last. Early output is seen
// soon, and a long job does not flood its storage with small files.
const (
	flushSize  = 4 << 20
	flushFirst = 2 * time.Second
	flushLast  = 60 * time.Second
)

// Waits of the writer: between two looks at the logs, and after a storage that
// failed, where they grow.
const (
	lookEvery  = time.Second
	retryFirst = time.Second
	retryLast  = 30 * time.Second
	// attemptTime bounds one chunk: a storage that hangs is one that fails.
	attemptTime = 60 * time.Second
)

// Writer keeps the logs of one incarnation while they grow. It reads the files
// that the task's output goes to, so the task never waits for a storage; what
// rotation takes before it could be kept is lost, and told to the reader by the
// jump of the offset.
type Writer struct {
	FS   storage.FS
	Dir  string // in FS; see Dir
	Logs string // directory of the incarnation's logs on this machine
	Log  *slog.Logger

	sent     map[string]int64 // of each stream, the offset up to which it is kept
	next     int              // number of the next chunk
	interval time.Duration
	oldest   time.Time // when the oldest byte that is not kept was seen; zero: none is
	retry    time.Duration
	until    time.Time // not before then, after a failure
	made     bool      // the directory is there
	more     bool      // the last chunk did not take everything

	// Used again for each chunk: a megabyte of garbage each time would cost two.
	packer *zstd.Encoder
	buf    []byte
}

// Run keeps the logs until ended is closed and all is kept (nil), or until ctx is
// done: then the error says what is not. A value in hurry lets it keep at once
// what there is.
func (w *Writer) Run(ctx context.Context, ended, hurry <-chan struct{}) error {
	w.sent, w.next, w.interval, w.retry = map[string]int64{}, 1, flushFirst, retryFirst
	timer := time.NewTimer(0)
	defer timer.Stop()
	now := false
	for {
		over := isClosed(ended) // asked before the logs are looked at
		final, err := w.step(ctx, over, now)
		if final {
			return nil
		}
		if ctx.Err() != nil {
			return w.unkept(errors.Join(context.Cause(ctx), err))
		}
		timer.Reset(w.pause(over))
		stop := ended
		if over {
			stop = nil
		}
		now = false
		select {
		case <-timer.C:
		case <-stop:
			w.until = time.Time{} // once at once, however the storage is
		case <-hurry:
			now, w.until = true, time.Time{}
		case <-ctx.Done():
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// pause is how long to wait before the next look.
func (w *Writer) pause(over bool) time.Duration {
	if rest := time.Until(w.until); over || w.more || rest > lookEvery {
		return max(rest, 0)
	}
	return min(lookEvery, w.interval/4)
}

// step writes a chunk if it is time for one. final says that it was the last.
func (w *Writer) step(ctx context.Context, over, now bool) (final bool, err error) {
	pending := w.pending()
	switch {
	case pending == 0:
		w.oldest = time.Time{}
	case w.oldest.IsZero():
		w.oldest = time.Now()
	}
	due := w.more || pending >= flushSize || pending > 0 && (now || time.Since(w.oldest) >= w.interval)
	if time.Now().Before(w.until) || !due && !over {
		return false, nil
	}
	timed := !over && pending < flushSize
	final, err = w.chunk(ctx, over)
	if err != nil {
		if w.retry == retryFirst {
			w.Log.Warn("output cannot be kept for now", "dir", w.Dir, "error", err)
		}
		w.until = time.Now().Add(w.retry)
		w.retry = min(2*w.retry, retryLast)
		return false, err
	}
	if w.retry > retryFirst {
		w.Log.Info("output is kept again", "dir", w.Dir)
	}
	w.retry, w.oldest = retryFirst, time.Time{}
	if timed {
		w.interval = min(2*w.interval, flushLast)
	}
	return final, nil
}

// streams are the logs that there are, in order.
func (w *Writer) streams() []string {
	entries, err := os.ReadDir(w.Logs)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if streamName.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// pending is how many bytes are not kept yet.
func (w *Writer) pending() int64 {
	var n int64
	for _, name := range w.streams() {
		// One that cannot be read just now is looked at again.
		if end, err := capture.End(filepath.Join(w.Logs, name)); err == nil {
			n += max(end-w.sent[name], 0)
		}
	}
	return n
}

func (w *Writer) unkept(err error) error {
	if n := w.pending(); n > 0 {
		return fmt.Errorf("%s: %d bytes of output are not kept: %w", w.Dir, n, err)
	}
	return fmt.Errorf("%s: the end of the output is not noted: %w", w.Dir, err)
}

// chunk writes one chunk. With over it is the final one if everything that there
// is went into it.
func (w *Writer) chunk(ctx context.Context, over bool) (final bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	out, file, err := w.create(ctx)
	if err != nil {
		return false, err
	}
	w.next++ // whatever comes of it: a reader may have seen this one whole
	at, rest, err := w.fill(&paced{ctx: ctx, out: out}, over)
	if err == nil {
		err = out.Sync(ctx)
	}
	if err != nil {
		// It would stay torn, which is no harm; but a storage that is full for long
		// should not be littered.
		return false, errors.Join(err, out.Close(), w.FS.Remove(ctx, file))
	}
	if err := out.Close(); err != nil {
		w.Log.Debug("chunk not closed", "file", file, "error", err) // what was synced is there
	}
	maps.Copy(w.sent, at)
	w.more = rest
	return over && !rest, nil
}

// create makes the next chunk's file. One that exists is of an attempt of ours
// whose answer was lost: it stays torn.
func (w *Writer) create(ctx context.Context) (storage.Writer, string, error) {
	for {
		file := path.Join(w.Dir, chunkName(w.next))
		if !w.made {
			if err := storage.Shown(w.FS).Mkdir(ctx, w.Dir, 0o700); err != nil {
				return nil, "", err
			}
		}
		out, err := storage.Shown(w.FS).Create(ctx, file, 0o600)
		switch {
		case errors.Is(err, fs.ErrExist):
			w.next++
		case err != nil:
			w.made = false // perhaps it was removed
			return nil, "", err
		default:
			w.made = true
			return out, file, nil
		}
	}
}

// fill writes what is pending, each stream its share. It gives the offsets that
// were reached, and whether something is left.
func (w *Writer) fill(out io.Writer, over bool) (at map[string]int64, rest bool, err error) {
	if w.packer == nil {
		if w.packer, err = compressor(nil); err != nil {
			return nil, false, err
		}
		w.buf = make([]byte, dataMost)
	}
	z := w.packer
	z.Reset(out)
	e, at := NewEncoder(z), map[string]int64{}
	names, left := w.streams(), int64(writeMost)
	for i, name := range names {
		share := left / int64(len(names)-i)
		n, err := w.stream(e, name, share, at)
		if err != nil {
			return nil, false, errors.Join(err, z.Close())
		}
		left -= n
		rest = rest || n >= share
	}
	if err := e.Encode(Frame{End: true, Final: over && !rest}); err != nil {
		return nil, false, errors.Join(err, z.Close())
	}
	return at, rest, z.Close()
}

// paced waits for a storage now and then: what is on its way there is held in
// memory, for the case that it must be sent again.
type paced struct {
	ctx context.Context // of one chunk: io.Writer has no room for it
	out storage.Writer
	n   int
}

const paceEvery = 256 << 10

func (p *paced) Write(b []byte) (int, error) {
	n, err := p.out.Write(b)
	if p.n += n; err == nil && p.n >= paceEvery {
		p.n = 0
		err = p.out.Sync(p.ctx)
	}
	return n, err
}

// stream writes up to most pending bytes of one log.
func (w *Writer) stream(e *Encoder, name string, most int64, at map[string]int64) (int64, error) {
	b, err := capture.OpenBytes(filepath.Join(w.Logs, name), w.sent[name])
	if err != nil {
		return 0, err
	}
	defer b.Close()
	n, err := copyMost(e, b, name, w.buf, most)
	if lost := b.Skipped(); lost > 0 {
		w.Log.Warn("output was rotated away before it was kept", "stream", name, "bytes", lost)
	}
	at[name] = b.Offset()
	return n, err
}

// Streams are the names of the streams of an incarnation of so many processes.
func Streams(procs int) []string {
	var names []string
	for i := range max(1, procs) {
		names = append(names, fmt.Sprintf("%d.err", i), fmt.Sprintf("%d.out", i))
	}
	return slices.Clip(names)
}
