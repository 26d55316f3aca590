package conf

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decode gives UTF-8 whatever the file's byte order mark says, without the mark.
func decode(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(3)
	if err != nil && len(head) == 0 && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0xef, 0xbb, 0xbf}):
		_, err := b.Discard(3)
		return b, err
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return &wide{r: b, low: 0, high: 1}, nil
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return &wide{r: b, low: 1, high: 0}, nil
	}
	return b, nil
}

// wide reads UTF-16 as UTF-8; the mark in front is dropped as it comes by.
type wide struct {
	r         *bufio.Reader
	low, high int // which byte of a pair is which
	pending   []byte
	held      rune // the first half of a surrogate pair
}

func (w *wide) Read(b []byte) (int, error) {
	for len(w.pending) == 0 {
		var pair [2]byte
		if _, err := io.ReadFull(w.r, pair[:]); err != nil {
			return 0, err
		}
		c := rune(pair[w.high])<<8 | rune(pair[w.low])
		switch {
		case c == 0xfeff:
		case w.held != 0:
			w.pending = utf8.AppendRune(nil, utf16.DecodeRune(w.held, c))
			w.held = 0
		case utf16.IsSurrogate(c):
			w.held = c
		default:
			w.pending = utf8.AppendRune(nil, c)
		}
	}
	n := copy(b, w.pending)
	w.pending = w.pending[n:]
	return n, nil
}

// charset serves the encodings that an XML declaration may name.
func charset(label string, in io.Reader) (io.Reader, error) {
	switch strings.ToLower(label) {
	case "utf-8", "utf8", "us-ascii", "ascii", "utf-16":
		return in, nil // UTF-16 has been decoded by its byte order mark
	case "iso-8859-1", "latin1", "windows-1252":
		return &latin{r: bufio.NewReader(in)}, nil
	}
	return nil, fmt.Errorf("encoding %q is not supported: use UTF-8", label)
}

// latin reads ISO 8859-1 as UTF-8: each byte is its own code point.
type latin struct {
	r       io.ByteReader
	pending []byte
}

func (l *latin) Read(b []byte) (int, error) {
	if len(l.pending) == 0 {
		c, err := l.r.ReadByte()
		if err != nil {
			return 0, err
		}
		l.pending = utf8.AppendRune(nil, rune(c))
	}
	n := copy(b, l.pending)
	l.pending = l.pending[n:]
	return n, nil
}
