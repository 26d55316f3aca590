package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"
)

// Writer stores a log. It never fails towards the process that writes: bytes for
// which the disk has no room are counted, and a line says so as soon as there is
// room again.
type Writer struct {
	path string
	max  int64 // size at which a part is full; 0: never
	keep int   // older parts kept
	now  func() time.Time

	file   *os.File
	index  *os.File // nil where it could not be made
	base   int64    // offset of the current part
	size   int64    // of the current part
	marked time.Time
	lost   int64 // bytes not stored and not told yet
	cause  error
}

// Create opens the log at path for writing. An existing one is continued: what
// an earlier run wrote may be the reason for this one.
func Create(path string, maxSize int64, keep int) (*Writer, error) {
	w := &Writer{path: path, max: maxSize, keep: keep, now: time.Now}
	var err error
	if w.file, err = open(path, 0); err != nil {
		return nil, fmt.Errorf("%s: output cannot be kept: %w", path, cause(err))
	}
	if info, err := w.file.Stat(); err == nil {
		w.size = info.Size()
	}
	// Without an index it goes as well: times are a convenience.
	if index, err := open(path+indexSuffix, 0); err == nil {
		w.resume(index)
	}
	return w, nil
}

func open(path string, flag int) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR|flag, 0o666)
}

// resume takes the base from an existing index, or begins one.
func (w *Writer) resume(index *os.File) {
	w.index = index
	var first [recordSize]byte
	whole := int64(0)
	if n, _ := index.ReadAt(first[:], 0); n == recordSize {
		w.base = int64(binary.BigEndian.Uint64(first[:]))
		if info, err := index.Stat(); err == nil {
			whole = info.Size() - info.Size()%recordSize
		}
	}
	if err := index.Truncate(whole); err != nil {
		w.index = nil
		index.Close()
		return
	}
	if whole == 0 {
		write(index, record{w.base, w.now().UnixNano()}.bytes())
	}
}

// Store stores p, or counts it as lost.
func (w *Writer) Store(p []byte) {
	for len(p) > 0 {
		room := int64(len(p))
		if w.max > 0 {
			if w.size >= w.max {
				w.rotate()
			}
			if w.size < w.max { // else the part grows on, for want of a new one
				room = min(room, w.max-w.size)
			}
		}
		if !w.tell() {
			w.lost += int64(len(p))
			return
		}
		w.mark()
		n, err := w.file.Write(p[:room])
		w.size += int64(n)
		p = p[n:]
		if err != nil {
			w.lost += int64(len(p))
			w.cause = err
			return
		}
	}
}

// mark notes the time of what is written next.
func (w *Writer) mark() {
	now := w.now()
	if w.index == nil || now.Sub(w.marked) < recordEvery && now.After(w.marked) {
		return
	}
	if write(w.index, record{w.base + w.size, now.UnixNano()}.bytes()) {
		w.marked = now
	}
}

// tell stores the note about lost bytes. Without room for it there is none for
// more output either.
func (w *Writer) tell() bool {
	if w.lost == 0 {
		return true
	}
	note := fmt.Appendf(nil, "\n[muster: %d bytes of output lost: %v]\n", w.lost, cause(w.cause))
	if !write(w.file, note) {
		return false
	}
	w.size += int64(len(note))
	w.lost = 0
	return true
}

// write appends all of p or nothing.
func write(f *os.File, p []byte) bool {
	n, err := f.Write(p)
	if err == nil {
		return true
	}
	if info, e := f.Stat(); n > 0 && e == nil {
		_ = f.Truncate(info.Size() - int64(n)) // or a torn piece stays: readers bear it
	}
	return false
}

// rotate makes the current part an old one. The new one is made first, and its
// place is emptied before it gets there: whatever does not work, everything
// stays readable and the part grows on.
func (w *Writer) rotate() { w.rotateAt(w.base + w.size) }

// rotateAt lets the new part begin at an offset, which lies behind the end where
// bytes of the log are missing.
func (w *Writer) rotateAt(offset int64) {
	const suffix = ".new"
	file, err := open(w.path+suffix, os.O_TRUNC)
	if err != nil {
		return
	}
	if w.shift() != nil || os.Rename(w.path+suffix, w.path) != nil {
		file.Close()
		os.Remove(w.path + suffix)
		return
	}
	w.closeFiles()
	w.file, w.base, w.size = file, offset, 0
	w.index = w.begin()
}

// begin makes the index of a new part, beside the part. It is made under another
// name, so that no reader finds it without its first record.
func (w *Writer) begin() *os.File {
	const suffix = ".new"
	name := w.path + indexSuffix
	index, err := open(name+suffix, os.O_TRUNC)
	if err != nil {
		return nil
	}
	if !write(index, record{w.base, w.now().UnixNano()}.bytes()) || os.Rename(name+suffix, name) != nil {
		index.Close()
		os.Remove(name + suffix)
		return nil
	}
	return index
}

// shift moves all parts one place up, the oldest first, each before its index.
func (w *Writer) shift() error {
	last := w.parts()
	if last == w.keep {
		os.Remove(part(w.path, last))
		os.Remove(part(w.path, last) + indexSuffix)
		last--
	}
	for i := last; i >= 0; i-- {
		if err := os.Rename(part(w.path, i), part(w.path, i+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// One that has no index has none to move.
		_ = os.Rename(part(w.path, i)+indexSuffix, part(w.path, i+1)+indexSuffix)
	}
	return nil
}

// parts is how many older parts there are.
func (w *Writer) parts() int {
	for i := range w.keep {
		if _, err := os.Lstat(part(w.path, i+1)); err != nil {
			return i
		}
	}
	return w.keep
}

// part is the name of a log's part: 0 is the current one.
func part(path string, i int) string {
	if i == 0 {
		return path
	}
	return path + "." + strconv.Itoa(i)
}

func (w *Writer) closeFiles() {
	if w.index != nil {
		w.index.Close()
	}
	w.file.Close()
}

// Close ends the log.
func (w *Writer) Close() {
	w.tell()
	w.closeFiles()
}

// cause is an error without the path that it is about.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
