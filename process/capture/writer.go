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
	if w.file, err = open(path); err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return nil, fmt.Errorf("%s: output cannot be kept: %w", path, err)
	}
	if info, err := w.file.Stat(); err == nil {
		w.size = info.Size()
	}
	if w.index, err = open(path + indexSuffix); err != nil {
		w.index = nil // times are a convenience
		return w, nil
	}
	w.resume()
	return w, nil
}

func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o666)
}

// resume takes the base from an existing index, or begins one.
func (w *Writer) resume() {
	var first [recordSize]byte
	if n, _ := w.index.ReadAt(first[:], 0); n == recordSize {
		w.base = int64(binary.BigEndian.Uint64(first[:]))
		if info, err := w.index.Stat(); err == nil {
			w.index.Truncate(info.Size() - info.Size()%recordSize)
		}
		return
	}
	w.index.Truncate(0)
	write(w.index, record{w.base, w.now().UnixNano()}.bytes())
}

// Write stores p, or counts it as lost. It always reports success.
func (w *Writer) Write(p []byte) (int, error) {
	all := len(p)
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
			break
		}
		w.mark()
		n, err := w.file.Write(p[:room])
		w.size += int64(n)
		p = p[n:]
		if err != nil {
			w.lost += int64(len(p))
			w.cause = err
			break
		}
	}
	return all, nil
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
	var p *fs.PathError
	err := w.cause
	if errors.As(err, &p) {
		err = p.Err
	}
	note := fmt.Appendf(nil, "\n[muster: %d bytes of output lost: %v]\n", w.lost, err)
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
		f.Truncate(info.Size() - int64(n))
	}
	return false
}

// rotate makes the current part an old one. The new one is made first: without
// room for it everything stays as it is.
func (w *Writer) rotate() {
	const suffix = ".new"
	file, err := open(w.path + suffix)
	if err != nil {
		return
	}
	base := w.base + w.size
	index, err := open(w.path + indexSuffix + suffix)
	if err == nil && !write(index, record{base, w.now().UnixNano()}.bytes()) {
		index.Close()
		index = nil
	}
	last := w.parts()
	if last == w.keep {
		os.Remove(part(w.path, last))
		os.Remove(part(w.path, last) + indexSuffix)
		last--
	}
	for i := last + 1; i > 0; i-- {
		os.Rename(part(w.path, i-1), part(w.path, i))
		os.Rename(part(w.path, i-1)+indexSuffix, part(w.path, i)+indexSuffix)
	}
	os.Rename(w.path+suffix, w.path)
	os.Rename(w.path+indexSuffix+suffix, w.path+indexSuffix)
	w.closeFiles()
	w.file, w.index, w.base, w.size = file, index, base, 0
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

func (w *Writer) closeFiles() error {
	if w.index != nil {
		w.index.Close()
	}
	return w.file.Close()
}

// Close ends the log.
func (w *Writer) Close() error {
	w.tell()
	return w.closeFiles()
}
