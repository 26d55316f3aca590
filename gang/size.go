package gang

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Size is an amount of resources by name ("memory-mb", "vcores", "yarn.io/gpu"),
// in whatever units the backend uses throughout. Only what the scheduler counts
// belongs in it: a scheduler that looks at memory alone never runs out of
// processors. A name that is missing is 0. Sizes are never changed in place.
type Size map[string]int64

// Plus adds n times o.
func (s Size) Plus(o Size, n int) Size {
	out := maps.Clone(s)
	if out == nil {
		out = Size{}
	}
	for k, v := range o {
		out[k] += v * int64(n)
	}
	return out
}

// Fits says that all of s is there in room.
func (s Size) Fits(room Size) bool {
	for k, v := range s {
		if v > 0 && v > room[k] {
			return false
		}
	}
	return true
}

// Into is how often s fits into room, at most n times.
func (s Size) Into(room Size, n int) int {
	for k, v := range s {
		if v > 0 {
			n = min(n, int(max(0, room[k])/v))
		}
	}
	return n
}

// Least is the smaller of both in every resource that either names. A nil size
// is no limit.
func (s Size) Least(o Size) Size {
	if s == nil {
		return o
	}
	out := maps.Clone(s)
	for k, v := range o {
		if have, ok := out[k]; !ok || v < have {
			out[k] = v
		}
	}
	return out
}

// Equal says that no resource differs.
func (s Size) Equal(o Size) bool {
	for k, v := range s {
		if v != o[k] {
			return false
		}
	}
	for k, v := range o {
		if v != s[k] {
			return false
		}
	}
	return true
}

// String lists what is not 0, by name.
func (s Size) String() string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(s)) {
		if v := s[k]; v != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", v, k))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
