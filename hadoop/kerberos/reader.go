package kerberos

import "encoding/binary"

// reader takes a file of big-endian numbers and counted bytes apart. After the
// first thing that does not fit it returns nothing and stays bad.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) bytes(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) u8() uint8 {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.bytes(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// short and long are bytes behind a count of two or four bytes.
func (r *reader) short() []byte { return r.bytes(int(r.u16())) }
func (r *reader) long() []byte  { return r.bytes(int(r.u32())) }
