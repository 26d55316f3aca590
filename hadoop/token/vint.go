package token

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Hadoop's variable length integer: one byte for -112..127, otherwise a first
// byte that tells sign and length (-113..-120 positive, -121..-128 negative with
// the bits inverted) and one to eight big-endian bytes.

var errTooMany = fmt.Errorf("more than %d tokens or secrets", MaxItems)

// AppendVint appends v in Hadoop's variable length form.
func AppendVint(b []byte, v int64) []byte {
	if v >= -112 && v <= 127 {
		return append(b, byte(v))
	}
	base := -112
	if v < 0 {
		v, base = ^v, -120
	}
	var be [8]byte
	binary.BigEndian.PutUint64(be[:], uint64(v))
	i := 0
	for be[i] == 0 {
		i++
	}
	b = append(b, byte(base-(8-i)))
	return append(b, be[i:]...)
}

// ConsumeVint reads one integer off the front of b and tells how many bytes it
// took.
func ConsumeVint(b []byte) (v int64, n int, err error) {
	if len(b) == 0 {
		return 0, 0, io.ErrUnexpectedEOF
	}
	first := int(int8(b[0]))
	if first >= -112 {
		return int64(first), 1, nil
	}
	size, negative := -112-first, false
	if first < -120 {
		size, negative = -120-first, true
	}
	if len(b) < 1+size {
		return 0, 0, io.ErrUnexpectedEOF
	}
	var u uint64
	for _, c := range b[1 : 1+size] {
		u = u<<8 | uint64(c)
	}
	if negative {
		u = ^u
	}
	return int64(u), 1 + size, nil
}

func appendBlob(b, v []byte) []byte {
	return append(AppendVint(b, int64(len(v))), v...)
}

func appendText(b []byte, s string) []byte {
	return append(AppendVint(b, int64(len(s))), s...)
}

// reader takes fields off the front; after the first error it gives zero values.
type reader struct {
	b   []byte
	err error
}

func (r *reader) vint() int64 {
	if r.err != nil {
		return 0
	}
	v, n, err := ConsumeVint(r.b)
	if err != nil {
		r.err = err
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) count() int {
	n := r.vint()
	switch {
	case n < 0:
		r.fail(errors.New("a negative count"))
	case n > MaxItems:
		r.fail(errTooMany)
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

func (r *reader) blob() []byte {
	n := r.vint()
	if r.err == nil && (n < 0 || n > int64(len(r.b))) {
		r.fail(io.ErrUnexpectedEOF)
	}
	if r.err != nil {
		return nil
	}
	v := append([]byte{}, r.b[:n]...)
	r.b = r.b[n:]
	return v
}

func (r *reader) text() string { return string(r.blob()) }

func (r *reader) byte() byte {
	if r.err == nil && len(r.b) == 0 {
		r.fail(io.ErrUnexpectedEOF)
	}
	if r.err != nil {
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}
