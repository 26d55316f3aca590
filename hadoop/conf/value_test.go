package conf

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestValues(t *testing.T) {
	c := New(map[string]string{
		"i": " 42 ", "hex": "0x1F", "neg": "-7", "bad": "4 2", "big": "99999999999999999999", "empty": "  ",
		"t": " TRUE ", "f": "false", "yes": "yes",
		"s": "64k", "s2": "128 M", "s3": "7", "s4": "9e", "sbad": "12q",
		"d": "30", "d2": "5s", "d3": "250 ms", "d4": "2D", "d5": "1m", "d6": "3h", "d7": "10us", "d8": "10ns", "dbad": "1.5s", "dlong": "999999999d",
		"list": " a, b ,,c\n,",
	})
	check := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("i", c.Int("i", 1), int64(42))
	check("hex", c.Int("hex", 1), int64(31))
	check("neg", c.Int("neg", 1), int64(-7))
	check("bad", c.Int("bad", 1), int64(1))
	check("big", c.Int("big", 1), int64(1))
	check("empty", c.Int("empty", 1), int64(1))
	check("none", c.Int("none", 1), int64(1))
	check("t", c.Bool("t", false), true)
	check("f", c.Bool("f", true), false)
	check("yes", c.Bool("yes", true), true)
	check("s", c.Size("s", 1), int64(64<<10))
	check("s2", c.Size("s2", 1), int64(128<<20))
	check("s3", c.Size("s3", 1), int64(7))
	check("s4", c.Size("s4", 1), int64(1))
	check("sbad", c.Size("sbad", 1), int64(1))
	check("d", c.Duration("d", 0, time.Second), 30*time.Second)
	check("d in ms", c.Duration("d", 0, time.Millisecond), 30*time.Millisecond)
	check("d2", c.Duration("d2", 0, time.Millisecond), 5*time.Second)
	check("d3", c.Duration("d3", 0, time.Second), 250*time.Millisecond)
	check("d4", c.Duration("d4", 0, time.Second), 48*time.Hour)
	check("d5", c.Duration("d5", 0, time.Second), time.Minute)
	check("d6", c.Duration("d6", 0, time.Second), 3*time.Hour)
	check("d7", c.Duration("d7", 0, time.Second), 10*time.Microsecond)
	check("d8", c.Duration("d8", 0, time.Second), 10*time.Nanosecond)
	check("dbad", c.Duration("dbad", time.Hour, time.Second), time.Hour)
	check("dlong", c.Duration("dlong", time.Hour, time.Second), time.Hour)
	check("list", c.Strings("list"), []string{"a", "b", "c"})
	check("no list", c.Strings("none"), []string(nil))
	check("trimmed", c.String("i", ""), "42")
	check("empty text", c.String("empty", "x"), "x")
	var got []string
	for _, p := range c.Problems() {
		got = append(got, p.Error())
	}
	check("problems", got, []string{
		`bad: "4 2" is no whole number (set)`,
		`big: "99999999999999999999" is no whole number (set)`,
		`dbad: "1.5s" is no duration: want a whole number and ns, us, ms, s, m, h or d (set)`,
		`dlong: "999999999d" is no duration: too long (set)`,
		`s4: "9e" is no size (set)`,
		`sbad: "12q" is no size (set)`,
		`yes: "yes" is neither true nor false (set)`,
	})
}
