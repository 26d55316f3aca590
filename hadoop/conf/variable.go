package conf

import (
	"errors"
	"fmt"
	"strings"
)

// Bounds of a substitution. Hadoop gives up after 20 replacements too; the size
// keeps a value that doubles itself from filling the memory.
const (
	maxReplacements = 20
	maxValue        = 1 << 20 // bytes
)

var (
	errDeep = fmt.Errorf("more than %d variables inside each other", maxReplacements)
	errLong = fmt.Errorf("longer than %d bytes once its variables are filled in", maxValue)
	errLoop = errors.New("refers to itself")
)

// substitute fills variables in, innermost first. A variable that means nothing
// stays as it is written, and so does everything behind it, as in Hadoop. With
// an error the text comes back as it was.
func (c *Conf) substitute(text string) (string, error) {
	out := text
	for range maxReplacements {
		start, end := innermost(out)
		if start < 0 {
			return out, nil
		}
		name := out[start+2 : end-1]
		value, ok := c.variable(name)
		if !ok {
			return out, nil
		}
		if strings.Contains(value, out[start:end]) {
			return text, errLoop
		}
		if len(out)+len(value) > maxValue {
			return text, errLong
		}
		out = out[:start] + value + out[end:]
	}
	if start, _ := innermost(out); start < 0 {
		return out, nil
	}
	return text, errDeep
}

// innermost finds the first `${name}` whose name holds no other one: neither
// `$`, `}` nor a blank.
func innermost(s string) (start, end int) {
	for from := 0; ; {
		i := strings.Index(s[from:], "${")
		if i < 0 {
			return -1, -1
		}
		start = from + i
		n := strings.IndexAny(s[start+2:], "$} ")
		switch {
		case n < 0:
			return -1, -1
		case n > 0 && s[start+2+n] == '}':
			return start, start + 2 + n + 1
		}
		from = start + 2
	}
}

// variable looks a name up: the environment, then system properties, then other
// properties.
func (c *Conf) variable(name string) (string, bool) {
	if rest, ok := strings.CutPrefix(name, "env."); ok && rest != "" {
		if v, ok := c.environment(rest); ok {
			return v, true
		}
	}
	if v, ok := c.vars.system[name]; ok {
		return v, true
	}
	p, ok := c.raw(name)
	return p.value, ok
}

// environment understands NAME, NAME-default (when unset) and NAME:-default
// (when unset or empty).
func (c *Conf) environment(expr string) (string, bool) {
	name, fallback, has := strings.Cut(expr, "-")
	emptyToo := strings.HasSuffix(name, ":") && has
	if emptyToo {
		name = strings.TrimSuffix(name, ":")
	}
	v, ok := c.vars.env(name)
	switch {
	case ok && (v != "" || !emptyToo):
		return v, true
	case has:
		return fallback, true
	}
	return "", false
}
