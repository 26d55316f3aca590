package capture

import (
	"encoding/binary"
	"os"
	"sort"
	"time"
)

const (
	indexSuffix = ".idx"
	recordSize  = 16
	// recordEvery bounds the index of a chatty process.
	recordEvery = 100 * time.Millisecond
)

// record says that bytes from offset on came at a time.
type record struct {
	offset int64
	at     int64 // Unix nanoseconds
}

func (r record) bytes() []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(r.offset))
	return binary.BigEndian.AppendUint64(b, uint64(r.at))
}

// index reads the records of one part, which may still grow.
type index struct {
	file *os.File
	buf  []byte // some records
	from int64  // number of the first record in buf
	at   int64  // number of the record found last
	end  int64  // number after the last record, as far as known; 0: not known
}

func openIndex(path string) *index {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	return &index{file: f, buf: make([]byte, 0, 256*recordSize)}
}

func (x *index) close() { x.file.Close() }

// grown says that there may be more records than were seen.
func (x *index) grown() { x.end = 0 }

// get is record number n, if it has been written whole.
func (x *index) get(n int64) (record, bool) {
	if x.end > 0 && n >= x.end {
		return record{}, false
	}
	if n < x.from || n >= x.from+int64(len(x.buf)/recordSize) {
		got, _ := x.file.ReadAt(x.buf[:cap(x.buf)], n*recordSize)
		x.buf, x.from = x.buf[:got-got%recordSize], n
		if len(x.buf) < cap(x.buf) {
			x.end = n + int64(len(x.buf)/recordSize)
		}
		if len(x.buf) == 0 {
			return record{}, false
		}
	}
	b := x.buf[(n-x.from)*recordSize:]
	return record{int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))}, true
}

// time is when the byte at offset came. Offsets are asked for in rising order.
func (x *index) time(offset int64) time.Time {
	for {
		r, ok := x.get(x.at + 1)
		if !ok || r.offset > offset {
			break
		}
		x.at++
	}
	if r, ok := x.get(x.at); ok {
		return time.Unix(0, r.at)
	}
	return time.Time{}
}

// first is when the first byte came.
func (x *index) first() (time.Time, bool) {
	r, ok := x.get(0)
	return time.Unix(0, r.at), ok
}

// since is an offset before which nothing came at t or later.
func (x *index) since(t time.Time) int64 {
	info, err := x.file.Stat()
	if err != nil {
		return 0
	}
	next := sort.Search(int(info.Size()/recordSize), func(i int) bool {
		r, ok := x.get(int64(i))
		return !ok || r.at >= t.UnixNano()
	})
	r, _ := x.get(int64(max(next-1, 0)))
	return r.offset
}
