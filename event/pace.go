package event

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Pace is the time of a step for people: "20ms", "1.5s"; empty where it is not known.
func (p Progress) Pace() string {
	switch {
	case p.StepTime <= 0:
		return ""
	case p.StepTime < 1e-3:
		return strconv.FormatFloat(p.StepTime*1e6, 'f', 0, 64) + "µs"
	case p.StepTime < 1:
		return strconv.FormatFloat(p.StepTime*1e3, 'g', 3, 64) + "ms"
	case p.StepTime < 100:
		return strconv.FormatFloat(p.StepTime, 'g', 3, 64) + "s"
	}
	return (time.Duration(min(p.StepTime, 1e9)) * time.Second).String()
}

// Left is how long the rest will take at this pace; 0 where that is not known.
func (p Progress) Left() time.Duration {
	seconds := float64(p.Total-p.Step) * p.StepTime
	if p.Step <= 0 || p.Total <= p.Step || seconds > 1e9 {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// Loss is the value that tells how the training goes: "loss" or, where there is
// none, the first that is called so among others, that of the training before
// that of a validation.
func (p Progress) Loss() (float64, bool) {
	best := ""
	rank := func(name string) int {
		name = strings.ToLower(name)
		switch {
		case name == "loss":
			return 0
		case !strings.Contains(name, "loss"):
			return 3
		case strings.Contains(name, "val") || strings.Contains(name, "test"):
			return 2
		}
		return 1
	}
	names := slices.SortedFunc(maps.Keys(p.Values), func(a, b string) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) })
	if len(names) > 0 && rank(names[0]) < 3 {
		best = names[0]
	}
	return p.Values[best], best != ""
}
