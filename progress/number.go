package progress

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// lazy is a regular expression that is compiled for the first line that asks for
// it: every process of muster has this package in it, and few read a bar.
func lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// decimal is a number as programs print it.
const decimal = `[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|NaN|inf|Infinity)`

// pairs are how values are printed beside a bar; which sign stands between name
// and number is the format's.
var (
	colonPairs  = lazy(`(?:^| )([A-Za-z_][\w./-]*): (` + decimal + `)(?:[ ,]|$)`)
	equalPairs  = lazy(`([A-Za-z_][\w./-]*)=(` + decimal + `)(?:[ ,\]]|$)`)
	quotedPairs = lazy(`'([A-Za-z_][\w./-]*)': '?(` + decimal + `)'?[,}]`)
	knownPairs  = lazy(`(?i)(?:^|[\s,;|(])((?:[a-z]+_)?(?:loss|acc|accuracy|perplexity|ppl)|lr|learning_rate)\s*[:= ]\s*(` + decimal + `)(?:[\s,;|)%]|$)`)
)

// values keeps all pairs of a text.
func (r *Reading) values(pairs *regexp.Regexp, text string) bool {
	told := false
	for _, m := range pairs.FindAllStringSubmatch(text, -1) {
		if v, err := strconv.ParseFloat(m[2], 64); err == nil {
			r.set(m[1], v)
			told = true
		}
	}
	return told
}

// whole reads a number of steps; 0 for what is none.
func whole(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// scaled reads a number of steps as tqdm may shorten it: 1.20k.
func scaled(text string) int64 {
	factor := 1.0
	if at := strings.IndexByte("kMGT", text[len(text)-1]); at >= 0 {
		text = text[:len(text)-1]
		for range at + 1 {
			factor *= 1000
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < 0 || f*factor > 1<<53 {
		return 0
	}
	return int64(f * factor)
}

// units are those of a step's time.
var units = map[string]float64{"s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "min": 60}

// timeOf reads a time of a step; 0 for none.
func timeOf(number, unit string) float64 {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f <= 0 {
		return 0
	}
	return f * units[unit]
}
