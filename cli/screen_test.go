package cli

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScreen(t *testing.T) {
	draw := func(live bool, steps func(s *screen)) string {
		var b bytes.Buffer
		s := &screen{out: &b, err: &b, live: live, width: func() int { return 10 }}
		steps(s)
		return b.String()
	}
	tests := map[string]struct {
		live  bool
		steps func(s *screen)
		want  string
	}{
		"text scrolls above the block": {true, func(s *screen) {
			s.draw([]string{"one", "two"})
			s.line(false, "text")
		}, "\r\x1b[Kone\n\r\x1b[Ktwo\n" + "\x1b[2A\r\x1b[J" + "text\n" + "\r\x1b[Kone\n\r\x1b[Ktwo\n"},
		"a line is cut to the width, or erasing would miss it": {true, func(s *screen) {
			s.draw([]string{"0123456789abcdef"})
		}, "\r\x1b[K01234567…\n"},
		"a question takes the block away, and text waits for its end": {true, func(s *screen) {
			s.draw([]string{"one"})
			s.pause()
			s.line(true, "text")
			s.say("more")
			fmt.Fprint(s.err, "question? ")
			s.resume()
			s.clear()
		}, "\r\x1b[Kone\n" + "\x1b[1A\r\x1b[J" + "question? " + "text\nmuster: more\n" + "\r\x1b[Kone\n" + "\x1b[1A\r\x1b[J"},
		"no block off a terminal": {false, func(s *screen) {
			s.draw([]string{"one"})
			s.say("hello %d", 1)
			s.clear()
		}, "muster: hello 1\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, draw(tc.live, tc.steps)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
