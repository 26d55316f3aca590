package conf

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// String returns a value without white space around it, or def when there is
// none or it is empty.
func (c *Conf) String(key, def string) string {
	v, _ := c.Get(key)
	if v = strings.TrimSpace(v); v == "" {
		return def
	}
	return v
}

// Int returns a whole number, decimal or with 0x, or def when there is none or
// it is malformed; see Problems for the latter.
func (c *Conf) Int(key string, def int64) int64 {
	v := c.String(key, "")
	if v == "" {
		return def
	}
	base := 10
	digits, hex := strings.CutPrefix(strings.ToLower(v), "0x")
	if hex {
		base = 16
	}
	n, err := strconv.ParseInt(digits, base, 64)
	if err != nil {
		c.note(key, fmt.Errorf("%q is no whole number", v))
		return def
	}
	return n
}

// Size returns a number of bytes, which may carry one of the binary suffixes k,
// m, g, t, p and e, or def when there is none or it is malformed.
func (c *Conf) Size(key string, def int64) int64 {
	v := c.String(key, "")
	if v == "" {
		return def
	}
	digits, shift := v, 0
	if i := strings.IndexByte("kmgtpe", v[len(v)-1]|0x20); i >= 0 {
		digits, shift = strings.TrimSpace(v[:len(v)-1]), 10*(i+1)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64>>shift || n < math.MinInt64>>shift {
		c.note(key, fmt.Errorf("%q is no size", v))
		return def
	}
	return n << shift
}

// Bool returns a truth value, or def for everything but true and false, whose
// case does not matter.
func (c *Conf) Bool(key string, def bool) bool {
	switch v := strings.ToLower(c.String(key, "")); v {
	case "true":
		return true
	case "false":
		return false
	case "":
		return def
	default:
		c.note(key, fmt.Errorf("%q is neither true nor false", v))
		return def
	}
}

// units are Hadoop's suffixes of a duration, longer ones first where one ends
// in another.
var units = []struct {
	suffix string
	unit   time.Duration
}{
	{"ns", time.Nanosecond},
	{"us", time.Microsecond},
	{"ms", time.Millisecond},
	{"s", time.Second},
	{"m", time.Minute},
	{"h", time.Hour},
	{"d", 24 * time.Hour},
}

// Duration returns a duration, or def when there is none or it is malformed.
// A bare number counts in unit: Hadoop gives each key its own.
func (c *Conf) Duration(key string, def, unit time.Duration) time.Duration {
	v := strings.ToLower(c.String(key, ""))
	if v == "" {
		return def
	}
	d, err := duration(v, unit)
	if err != nil {
		c.note(key, fmt.Errorf("%q is no duration: %w", v, err))
		return def
	}
	return d
}

func duration(v string, unit time.Duration) (time.Duration, error) {
	digits := v
	for _, u := range units {
		if rest, ok := strings.CutSuffix(v, u.suffix); ok {
			digits, unit = strings.TrimSpace(rest), u.unit
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, errors.New("want a whole number and ns, us, ms, s, m, h or d")
	}
	if n > math.MaxInt64/int64(unit) || n < math.MinInt64/int64(unit) {
		return 0, errors.New("too long")
	}
	return time.Duration(n) * unit, nil
}

// Strings returns the parts of a comma-separated value without white space
// around them and without empty ones.
func (c *Conf) Strings(key string) []string {
	v, _ := c.Get(key)
	var out []string
	for _, s := range strings.Split(v, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}
