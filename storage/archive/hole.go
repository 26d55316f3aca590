package archive

import (
	"bytes"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const page = 64 << 10

var zeros [page]byte

// sparse reads a file up to size without asking the kernel for its holes, which
// would fill the memory with pages of zeros.
type sparse struct {
	file *os.File
	size int64
	pos  int64
	data int64 // where the next data starts, at or behind pos
	hole int64 // where they end
}

func (s *sparse) Read(p []byte) (int, error) {
	if s.pos >= s.size {
		return 0, io.EOF
	}
	if s.pos >= s.hole {
		if err := s.look(); err != nil {
			return 0, err
		}
	}
	if s.pos < s.data {
		n := min(int64(len(p)), s.data-s.pos)
		clear(p[:n])
		s.pos += n
		return int(n), nil
	}
	n, err := s.file.ReadAt(p[:min(int64(len(p)), s.hole-s.pos)], s.pos)
	s.pos += int64(n)
	if n > 0 {
		err = nil // the end, if it is one, comes again
	}
	return n, err
}

// look finds the next data. A file system that knows no holes has none.
func (s *sparse) look() error {
	fd := int(s.file.Fd())
	data, err := unix.Seek(fd, s.pos, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		// Nothing but a hole up to the end, which may have come nearer meanwhile.
		info, err := s.file.Stat()
		if err != nil {
			return err
		}
		if info.Size() <= s.pos {
			return io.EOF
		}
		s.data = min(s.size, info.Size())
		s.hole = s.data
		return nil
	case errors.Is(err, unix.EINVAL):
		s.data, s.hole = s.pos, s.size
		return nil
	case err != nil:
		return err
	}
	hole, err := unix.Seek(fd, data, unix.SEEK_HOLE)
	if err != nil {
		return err
	}
	s.data, s.hole = min(data, s.size), min(hole, s.size)
	return nil
}

// holes writes a file and leaves out what is zero anyway: a sparse file of 5 GB
// takes no more disk where it is unpacked than where it came from.
type holes struct {
	file *os.File
	open bool // the file ends in a hole that is not yet part of it
}

func (h *holes) Write(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		part := p[n:min(n+page, len(p))]
		if bytes.Equal(part, zeros[:len(part)]) {
			if _, err := h.file.Seek(int64(len(part)), io.SeekCurrent); err != nil {
				return n, err
			}
			h.open = true
		} else {
			if k, err := h.file.Write(part); err != nil {
				return n + k, err
			}
			h.open = false
		}
		n += len(part)
	}
	return n, nil
}

// finish gives the file its length where it ends in a hole.
func (h *holes) finish() error {
	if !h.open {
		return nil
	}
	size, err := h.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	return h.file.Truncate(size)
}
