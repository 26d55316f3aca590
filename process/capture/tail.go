package capture

import (
	"bytes"
	"errors"
)

// Tail is the last n lines of the log at path. It reads backwards from the end,
// so the size of the log does not matter.
func Tail(path string, n int) (lines []Line, err error) {
	if n <= 0 {
		return nil, nil
	}
	offset, err := offsetOfLast(path, n)
	if err != nil {
		return nil, err
	}
	r, err := OpenAt(path, offset)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for line, err := range r.All() {
		if err != nil {
			return lines, err
		}
		lines = append(lines, line)
	}
	// More may have been written since.
	return lines[max(0, len(lines)-n):], nil
}

// offsetOfLast is where the last n lines begin.
func offsetOfLast(path string, n int) (int64, error) {
	parts, err := segments(path)
	if err != nil {
		return 0, err
	}
	defer func() {
		for _, s := range parts {
			s.close()
		}
	}()
	buf := make([]byte, 64<<10)
	last := true // nothing has been seen: a line feed now is the last line's own
	var base int64
	for _, s := range parts {
		base = s.base
		info, err := s.file.Stat()
		if err != nil {
			return 0, err
		}
		for end := info.Size(); end > 0; {
			block := buf[:min(end, int64(len(buf)))]
			end -= int64(len(block))
			if _, err := s.file.ReadAt(block, end); err != nil {
				return 0, err
			}
			if last && block[len(block)-1] == '\n' {
				n++
			}
			last = false
			for i := bytes.LastIndexByte(block, '\n'); i >= 0; i = bytes.LastIndexByte(block[:i], '\n') {
				if n--; n == 0 {
					return s.base + end + int64(i) + 1, nil
				}
			}
		}
	}
	return base, nil
}
