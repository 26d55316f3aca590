package wire

import "time"

// On the wire every number has 64 bits and a time is nanoseconds since 1970,
// with 0 for the zero time.

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func moment(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}

func span(n int64) time.Duration { return time.Duration(n) }

func longs(in []int) []int64 {
	if len(in) == 0 {
		return nil
	}
	out := make([]int64, len(in))
	for i, n := range in {
		out[i] = int64(n)
	}
	return out
}

func ints(in []int64) []int {
	if len(in) == 0 {
		return nil
	}
	out := make([]int, len(in))
	for i, n := range in {
		out[i] = int(n)
	}
	return out
}

func counts(in map[string]int) map[string]int64 {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]int64, len(in))
	for k, n := range in {
		out[k] = int64(n)
	}
	return out
}

func numbers(in map[string]int64) map[string]int {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]int, len(in))
	for k, n := range in {
		out[k] = int(n)
	}
	return out
}
