package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"time"
)

// Copy writes a log that was read elsewhere, with its offsets and times. Pieces
// may come twice or overlap; what is missing between two pieces becomes the
// border of two parts, which a reader tells as bytes that are gone.
type Copy struct {
	path string
	w    *Writer
}

// copyParts bounds the parts that missing pieces make of a log: the oldest go.
const copyParts = 100

// OpenCopy opens the copy at path, new or to be continued. It must have no other
// writer.
func OpenCopy(path string) (*Copy, error) {
	// A copy that was killed in the middle of a rotation has no newest part.
	begun, err := End(path)
	if err != nil {
		return nil, err
	}
	if err := repair(path); err != nil {
		return nil, fmt.Errorf("%s: cannot be continued: %w", path, cause(err))
	}
	w := &Writer{path: path, keep: copyParts, now: time.Now}
	if w.file, err = open(path, 0); err != nil {
		return nil, fmt.Errorf("%s: cannot be written: %w", path, cause(err))
	}
	c := &Copy{path: path, w: w}
	if err := c.resume(begun); err != nil {
		w.closeFiles()
		return nil, fmt.Errorf("%s: cannot be continued: %w", path, cause(err))
	}
	return c, nil
}

// repair removes what a rotation that was cut off left behind.
func repair(path string) error {
	for _, name := range []string{path + ".new", path + indexSuffix + ".new"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// resume finds where the copy stands. begun is the offset that the newest part
// ends at.
func (c *Copy) resume(begun int64) error {
	w := c.w
	info, err := w.file.Stat()
	if err != nil {
		return err
	}
	w.size, w.base = info.Size(), begun-info.Size()
	if w.index, err = open(w.path+indexSuffix, 0); err != nil {
		return err
	}
	return trim(w.index, w.base, w.base+w.size)
}

// trim leaves the records of an index that lie between two offsets, and one at
// least: those beyond the end are of bytes that a kill kept from being written.
func trim(index *os.File, base, end int64) error {
	info, err := index.Stat()
	if err != nil {
		return err
	}
	n := info.Size() / recordSize
	var b [recordSize]byte
	for ; n > 0; n-- {
		if _, err := index.ReadAt(b[:], (n-1)*recordSize); err != nil {
			return err
		}
		if offset := int64(binary.BigEndian.Uint64(b[:])); offset < end || n == 1 && offset == base {
			break
		}
	}
	return index.Truncate(n * recordSize)
}

// End is the offset of the byte that is wanted next.
func (c *Copy) End() int64 { return c.w.base + c.w.size }

// Add stores the bytes of the log from offset on, without those that are there
// already. An error leaves the copy as it was, or with a part of the bytes.
func (c *Copy) Add(offset int64, marks []Mark, p []byte) error {
	if offset < 0 || offset > math.MaxInt64-int64(len(p)) {
		return fmt.Errorf("%s: offset %d: no place in a log", c.path, offset)
	}
	end := c.End()
	if len(p) == 0 || offset+int64(len(p)) <= end {
		return nil
	}
	if offset < end {
		p = p[end-offset:]
		offset = end
	}
	if len(marks) > 0 {
		c.w.now = func() time.Time { return marks[0].At }
	} else {
		c.w.now = time.Now
	}
	if offset > end {
		if err := c.skip(offset); err != nil {
			return err
		}
	}
	c.mark(offset, offset+int64(len(p)), marks)
	n, err := c.w.file.Write(p)
	c.w.size += int64(n)
	if err != nil {
		return fmt.Errorf("%s: cannot be written: %w", c.path, cause(err))
	}
	return nil
}

// skip begins a part at an offset beyond the end.
func (c *Copy) skip(offset int64) error {
	w := c.w
	if w.size == 0 { // an empty part begins where its first byte does
		w.base = offset
		if err := w.index.Truncate(0); err != nil {
			return fmt.Errorf("%s: cannot be written: %w", c.path, cause(err))
		}
		return nil
	}
	was := w.file
	w.rotateAt(offset)
	if w.file == was {
		return fmt.Errorf("%s: no new part can be made", c.path)
	}
	if w.index == nil {
		return fmt.Errorf("%s: no index of the new part can be made", c.path)
	}
	return nil
}

// mark writes the records of what comes next. A part begins with one, whether
// its time is known or not.
func (c *Copy) mark(offset, end int64, marks []Mark) {
	w := c.w
	info, err := w.index.Stat()
	if err != nil {
		return // times are a convenience
	}
	var out []byte
	if info.Size() == 0 && (len(marks) == 0 || marks[0].Offset > offset) {
		out = append(out, record{offset, w.now().UnixNano()}.bytes()...)
	}
	last := int64(-1)
	for i, m := range marks {
		if i+1 < len(marks) && marks[i+1].Offset <= offset {
			continue // of bytes that are there already
		}
		at := max(m.Offset, offset)
		if at >= end || at <= last {
			continue
		}
		out = append(out, record{at, m.At.UnixNano()}.bytes()...)
		last = at
	}
	write(w.index, out)
}

// Close ends the writing.
func (c *Copy) Close() { c.w.closeFiles() }
