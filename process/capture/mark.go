package capture

import (
	"fmt"
	"sort"
	"time"
)

// Mark says that the bytes of a log from Offset on came at a time. It holds
// until the next one.
type Mark struct {
	Offset int64
	At     time.Time
}

// ReadMarked reads on as Read does, and gives the times of what it read: the
// first mark, if any part of the log has times, is that of the first byte. After
// a read of n bytes these lie in front of Offset.
func (b *Bytes) ReadMarked(p []byte) (n int, marks []Mark, err error) {
	if n, err = b.Read(p); n > 0 && b.part.index != nil {
		marks = b.part.index.marks(b.pos-int64(n), b.pos)
	}
	return n, marks, err
}

// End is the offset after the last byte of the log at path; 0 if there is no log.
func End(path string) (int64, error) {
	newest, err := pair(path, 0)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, cause(err))
	}
	defer newest.close()
	if newest != nil && newest.known {
		return newest.end()
	}
	// In the middle of a rotation, or without an index: the elder parts tell.
	parts, err := segments(path)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, cause(err))
	}
	defer func() {
		for _, s := range parts {
			s.close()
		}
	}()
	if len(parts) == 0 {
		return 0, nil
	}
	return parts[0].end()
}

// Parts are the files of the log at path that are there, the newest first.
func Parts(path string) []string {
	var names []string
	for i := 0; ; i++ {
		s, err := pair(path, i)
		if err != nil || s == nil {
			if i > 0 {
				return names
			}
			continue // between two names: its elders are there
		}
		s.close()
		names = append(names, part(path, i))
	}
}

// end is the offset after the last byte of a part.
func (s *segment) end() (int64, error) {
	info, err := s.file.Stat()
	if err != nil {
		return 0, err
	}
	return s.base + info.Size(), nil
}

// marks are the records that hold between two offsets.
func (x *index) marks(from, to int64) []Mark {
	info, err := x.file.Stat()
	if err != nil {
		return nil
	}
	x.grown()
	after := sort.Search(int(info.Size()/recordSize), func(i int) bool {
		r, ok := x.get(int64(i))
		return !ok || r.offset > from
	})
	var out []Mark
	for i := int64(max(after-1, 0)); ; i++ {
		r, ok := x.get(i)
		if !ok || r.offset >= to {
			return out
		}
		m := Mark{Offset: max(r.offset, from), At: time.Unix(0, r.at)}
		if n := len(out); n > 0 && out[n-1].Offset == m.Offset {
			out[n-1] = m
			continue
		}
		out = append(out, m)
	}
}
