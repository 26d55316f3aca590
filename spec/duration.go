package spec

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a span of time. It is written 90s, 2h, 1h30m, 2d, or as batch
// systems do: 12:00:00, 1-12:00:00 (a day and twelve hours). A bare number and
// 1:30 are refused, since systems disagree on them.
type Duration time.Duration

// durationUnits from the largest down; a duration names each at most once, in
// this order.
var durationUnits = []struct {
	name string
	size time.Duration
}{
	{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second},
	{"ms", time.Millisecond}, {"us", time.Microsecond}, {"ns", time.Nanosecond},
}

var (
	clockText = lazy(`^(?:([0-9]{1,5})-)?([0-9]{1,5}):([0-9]{2})(?::([0-9]{2}))?$`)
	spanText  = lazy(`^(?:(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+) ?[a-zA-Zµ]+ ?)+$`)
	spanPart  = lazy(`([0-9]+(?:\.[0-9]+)?|\.[0-9]+) ?([a-zA-Zµ]+)`)
)

// ParseDuration reads a duration. The error says what is wrong and what to write.
func ParseDuration(text string) (Duration, error) {
	t := strings.TrimSpace(text)
	if m := clockText().FindStringSubmatch(t); m != nil {
		return parseClock(t, m[1], m[2], m[3], m[4])
	}
	if numberText().MatchString(t) {
		if strings.HasPrefix(t, "-") {
			return 0, parseWhole(text, "a time", "it cannot be negative")
		}
		if strings.Trim(t, "0") == "" {
			return 0, &faulty{t + " has no unit", "write 0s"}
		}
		return 0, &faulty{fmt.Sprintf("%s has no unit: Slurm and LSF read %s minutes, Kubernetes and PBS %s seconds", t, t, t), fmt.Sprintf("write %sm or %ss", t, t)}
	}
	if !spanText().MatchString(t) {
		return 0, parseWhole(text, "a time", "write it as in 90s, 2h, 1h30m or 1-12:00:00")
	}
	total, last := Duration(0), -1
	for _, m := range spanPart().FindAllStringSubmatch(t, -1) {
		at, err := unitOf(t, m[2])
		if err != nil {
			return 0, err
		}
		if at <= last {
			return 0, parseWhole(text, "a time", "write the largest unit first, each once")
		}
		last = at
		part, ok := times(m[1], durationUnits[at].size)
		if total += part; !ok || total < 0 {
			return 0, &faulty{text + " is longer than 292 years", ""}
		}
	}
	return total, nil
}

// times multiplies without a detour over floating point where the number is
// whole, so that what String prints is read back to the nanosecond.
func times(number string, unit time.Duration) (Duration, bool) {
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		return Duration(n) * Duration(unit), n <= math.MaxInt64/int64(unit)
	}
	f, err := strconv.ParseFloat(number, 64)
	f = math.Round(f * float64(unit))
	if err != nil || f >= math.MaxInt64 {
		return 0, false
	}
	return Duration(f), true
}

func unitOf(text, unit string) (int, error) {
	if unit == "µs" {
		unit = "us"
	}
	for i, u := range durationUnits {
		if u.name == unit {
			return i, nil
		}
	}
	hint := "units are d, h, m, s, ms"
	for _, u := range durationUnits {
		if strings.HasPrefix(strings.ToLower(unit), u.name) && u.name != "ms" {
			hint = fmt.Sprintf("write %s; units are d, h, m, s, ms", strings.Replace(text, unit, u.name, 1))
			break
		}
	}
	return 0, &faulty{fmt.Sprintf("%s: unit %s is unknown", text, quote(unit)), hint}
}

// parseClock reads what batch systems write. Two numbers without a day are
// minutes and seconds to Slurm, hours and minutes to LSF.
func parseClock(text, day, first, second, third string) (Duration, error) {
	d, _ := strconv.Atoi(day)
	a, _ := strconv.Atoi(first)
	b, _ := strconv.Atoi(second)
	c, _ := strconv.Atoi(third)
	if day == "" && third == "" {
		return 0, &faulty{fmt.Sprintf("%s: Slurm reads %dm%ds, LSF %dh%dm", text, a, b, a, b), fmt.Sprintf("write 0:%02d:%02d or %d:%02d:00", a, b, a, b)}
	}
	if b > 59 || c > 59 || day != "" && a > 23 {
		return 0, parseWhole(text, "a time", "minutes and seconds go up to 59, hours after a day up to 23")
	}
	return Duration(time.Duration(d*24+a)*time.Hour + time.Duration(b)*time.Minute + time.Duration(c)*time.Second), nil
}

// String prints 1h30m: no unit larger than an hour, none that is zero.
func (d Duration) String() string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	rest := time.Duration(d)
	if rest < 0 {
		return time.Duration(d).String()
	}
	for _, u := range durationUnits[1:] {
		if n := rest / u.size; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			rest -= n * u.size
		}
	}
	return b.String()
}

// MarshalText prints a duration as String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a duration.
func (d *Duration) UnmarshalText(b []byte) (err error) {
	*d, err = ParseDuration(string(b))
	return err
}
