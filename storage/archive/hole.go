package archive

import (
	"bytes"
	"io"
	"os"
)

const page = 64 << 10

var zeros [page]byte

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
