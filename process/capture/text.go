package capture

import (
	"strings"
	"unicode/utf8"
)

// Safe is b as it can be shown on a terminal: what is not UTF-8 is replaced, NUL
// and other control characters have their pictures, colours stay.
func Safe(b []byte) string {
	var out strings.Builder
	out.Grow(len(b))
	for len(b) > 0 {
		if n := colour(b); n > 0 {
			out.Write(b[:n])
			b = b[n:]
			continue
		}
		r, n := utf8.DecodeRune(b)
		b = b[n:]
		switch {
		case r == '\t':
			out.WriteByte('\t')
		case r < 0x20:
			out.WriteRune('␀' + r)
		case r == 0x7f:
			out.WriteRune('␡')
		case r >= 0x80 && r < 0xa0:
			out.WriteRune(utf8.RuneError) // the other control characters: some terminals obey them
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// colour is the length of the escape sequence for colours that b begins with.
// Others could move the cursor, or make a terminal type.
func colour(b []byte) int {
	if len(b) < 3 || b[0] != 0x1b || b[1] != '[' {
		return 0
	}
	for i, c := range b[2:] {
		switch {
		case c == 'm':
			return i + 3
		case c != ';' && c != ':' && (c < '0' || c > '9'), i > 32:
			return 0
		}
	}
	return 0
}
