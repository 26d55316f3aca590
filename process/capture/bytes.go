package capture

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Bytes reads a log as it was written, over all its parts, while it grows and
// rotates. A log that does not exist yet is an empty one.
type Bytes struct {
	path    string
	pos     int64
	part    *segment
	skipped int64
}

// segment is an open part of a log.
type segment struct {
	file  *os.File
	index *index // nil if there is none
	info  os.FileInfo
	base  int64
	place int  // in the row of names
	known bool // base is from the index
	// gap says that the next younger part, which lies at the next name, begins
	// behind the end of this one: what is between is not there.
	gap bool
}

func (s *segment) close() {
	if s == nil {
		return
	}
	s.file.Close()
	if s.index != nil {
		s.index.close()
	}
}

// OpenBytes opens the log at path at an offset: 0 for the oldest byte there is.
func OpenBytes(path string, offset int64) (*Bytes, error) {
	b := &Bytes{path: path, pos: offset}
	if err := b.locate(); err != nil {
		return nil, err
	}
	if offset == 0 {
		b.skipped = 0 // nobody asked for what is gone
	}
	return b, nil
}

// Offset is where the next Read begins.
func (b *Bytes) Offset() int64 { return b.pos }

// Skipped is how many bytes were gone, through rotation, before they were read.
func (b *Bytes) Skipped() int64 { return b.skipped }

// Close closes the log.
func (b *Bytes) Close() error {
	b.part.close()
	b.part = nil
	return nil
}

// Read reads on. At the end it returns io.EOF, and may be called again when the
// log has grown.
func (b *Bytes) Read(p []byte) (int, error) {
	for range 3 {
		if b.part == nil {
			if err := b.locate(); err != nil {
				return 0, err
			}
			if b.part == nil {
				return 0, io.EOF
			}
		}
		// Whether the part is an old one must be asked before its end is met: the
		// writer may write to it, then rotate, between the two.
		current := b.part.at(b.path)
		n, err := b.part.file.ReadAt(p, b.pos-b.part.base)
		b.pos += int64(n)
		if b.part.index != nil {
			b.part.index.grown() // a record is written before its bytes
		}
		if n > 0 {
			return n, nil
		}
		if err != io.EOF || current {
			return 0, err
		}
		was := b.part.info
		if err := b.locate(); err != nil {
			return 0, err
		}
		if b.part != nil && os.SameFile(was, b.part.info) {
			return 0, io.EOF // what follows it has no known place yet
		}
	}
	return 0, io.EOF
}

// time is when the byte at offset, which was just read, came.
func (b *Bytes) time(offset int64) time.Time {
	if b.part == nil || b.part.index == nil {
		return time.Time{}
	}
	return b.part.index.time(offset)
}

// locate opens the part in which pos lies, or the oldest one if what is at pos
// has gone.
func (b *Bytes) locate() error {
	parts, err := segments(b.path)
	if err != nil {
		return err
	}
	b.part.close()
	b.part = nil
	chosen := slices.IndexFunc(parts, func(s *segment) bool { return s.base <= b.pos }) // the newest is first
	if chosen > 0 && parts[chosen].gap {
		if end, err := parts[chosen].end(); err == nil && b.pos >= end {
			chosen--
			b.skipped += parts[chosen].base - b.pos
			b.pos = parts[chosen].base
		}
	}
	for i, s := range parts {
		if i == chosen {
			b.part = s
			continue
		}
		s.close()
	}
	if b.part != nil || len(parts) == 0 {
		return nil
	}
	oldest := parts[len(parts)-1]
	again, err := pair(b.path, len(parts)-1)
	if err != nil || again == nil || again.base != oldest.base {
		return err // it moved on; the next Read looks again
	}
	b.skipped += again.base - b.pos
	b.pos, b.part = again.base, again
	return nil
}

// segments opens all parts of a log, the newest first.
func segments(path string) ([]*segment, error) {
	for attempt := 0; ; attempt++ {
		parts, whole, err := collect(path)
		if err != nil || whole || attempt == attempts {
			return parts, err
		}
		for _, s := range parts {
			s.close()
		}
	}
}

// attempts is how often a log that seems to be in the middle of a rotation is
// looked at again. A rotation takes microseconds; one whose writer was killed in
// it, or had no room for an index, stays as it is and is read as well as can be.
const attempts = 20

// collect opens the parts once and says whether they form a whole: each begins
// where its elder ends.
func collect(path string) (parts []*segment, whole bool, err error) {
	whole = true
	for i := 0; ; i++ {
		s, err := pair(path, i)
		if err != nil {
			return parts, false, err
		}
		if s == nil {
			if _, err := os.Stat(part(path, i+1)); err != nil {
				break
			}
			whole = false // its place is empty for a moment
			continue
		}
		whole = whole && s.known
		n := len(parts)
		if n > 0 && (os.SameFile(parts[n-1].info, s.info) || s.known && parts[n-1].known && s.base >= parts[n-1].base) {
			s.close() // they moved while we looked
			whole = false
			continue
		}
		parts = append(parts, s)
	}
	for i := len(parts) - 2; i >= 0; i-- {
		info, err := parts[i+1].file.Stat()
		if err != nil {
			return parts, false, err
		}
		end := parts[i+1].base + info.Size()
		if !parts[i].known {
			parts[i].base = end
		}
		whole = whole && parts[i].base == end
		parts[i+1].gap = parts[i].known && parts[i].base > end && parts[i].place+1 == parts[i+1].place
	}
	return parts, whole, nil
}

// pair opens part i of a log with its index; nil if there is no such part.
func pair(path string, i int) (*segment, error) {
	name := part(path, i)
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &segment{file: f, place: i}
	if s.info, err = f.Stat(); err != nil {
		f.Close()
		return nil, err
	}
	s.index = openIndex(name + indexSuffix)
	if s.index == nil {
		return s, nil
	}
	if first, ok := s.index.get(0); ok && s.at(name) {
		s.base, s.known = first.offset, true
	}
	return s, nil
}

// at says whether the part is still at the name.
func (s *segment) at(name string) bool {
	info, err := os.Stat(name)
	return err == nil && os.SameFile(info, s.info)
}
