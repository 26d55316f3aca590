package spec

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Count is a number of tasks, or a range that makes the job elastic: 4, or
// 3..4. Zero means "not written".
type Count struct {
	Min int
	Max int
}

// Elastic says that the job may run with fewer tasks than Max.
func (c Count) Elastic() bool { return c.Min != c.Max }

var (
	rangeText = lazy(`^([0-9]+) ?\.\. ?([0-9]+)$`)
	dashText  = lazy(`^([0-9]+) ?(?:-|:|\.{3}|,) ?([0-9]+)$`)
)

// ParseCount reads 4 or 3..4.
func ParseCount(text string) (Count, error) {
	t := strings.TrimSpace(text)
	low, high := t, t
	if m := rangeText().FindStringSubmatch(t); m != nil {
		low, high = m[1], m[2]
	} else if m := dashText().FindStringSubmatch(t); m != nil {
		return Count{}, parseWhole(text, "a number of tasks", fmt.Sprintf("write a range as %s..%s", m[1], m[2]))
	}
	a, err := strconv.ParseInt(low, 10, 32)
	b, err2 := strconv.ParseInt(high, 10, 32)
	switch {
	case err != nil || err2 != nil:
		return Count{}, parseWhole(text, "a number of tasks", "write a number as in 4, or a range as in 3..4")
	case a < 0 || b < 0:
		return Count{}, parseWhole(text, "a number of tasks", "it cannot be negative")
	case a > b:
		return Count{}, &faulty{t + " runs backwards", fmt.Sprintf("write %d..%d", b, a)}
	case a == 0 && b > 0:
		return Count{}, &faulty{t + " begins with no task at all", fmt.Sprintf("write 1..%d", b)}
	}
	return Count{int(a), int(b)}, nil
}

func (c Count) String() string {
	if c.Elastic() {
		return fmt.Sprintf("%d..%d", c.Min, c.Max)
	}
	return strconv.Itoa(c.Min)
}

// MarshalJSON writes a number, or a range as a string.
func (c Count) MarshalJSON() ([]byte, error) {
	if c.Elastic() {
		return []byte(strconv.Quote(c.String())), nil
	}
	return []byte(strconv.Itoa(c.Min)), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Count) UnmarshalJSON(b []byte) error { return c.UnmarshalText(bytes.Trim(b, `"`)) }

// UnmarshalText reads 4 or 3..4.
func (c *Count) UnmarshalText(b []byte) (err error) {
	*c, err = ParseCount(string(b))
	return err
}

// Failures is a count or a percentage of a role's tasks: 2, or 10%.
type Failures struct {
	Count   int
	Percent int
}

// ParseFailures reads 2 or 10%.
func ParseFailures(text string) (Failures, error) {
	t := strings.TrimSpace(text)
	number, percent := strings.CutSuffix(t, "%")
	i, err := strconv.ParseInt(strings.TrimSpace(number), 10, 32)
	switch {
	case err != nil || i < 0:
		return Failures{}, parseWhole(text, "a number of failures", "write a number as in 2, or a share as in 10%")
	case percent && i > 100:
		return Failures{}, &faulty{t + " is more than all", "a share goes up to 100%"}
	case percent:
		return Failures{Percent: int(i)}, nil
	}
	return Failures{Count: int(i)}, nil
}

func (f Failures) String() string {
	if f.Percent > 0 {
		return strconv.Itoa(f.Percent) + "%"
	}
	return strconv.Itoa(f.Count)
}

// MarshalJSON writes a number, or a percentage as a string.
func (f Failures) MarshalJSON() ([]byte, error) {
	if f.Percent > 0 {
		return []byte(strconv.Quote(f.String())), nil
	}
	return []byte(f.String()), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Failures) UnmarshalJSON(b []byte) error { return f.UnmarshalText(bytes.Trim(b, `"`)) }

// UnmarshalText reads 2 or 10%.
func (f *Failures) UnmarshalText(b []byte) (err error) {
	*f, err = ParseFailures(string(b))
	return err
}
