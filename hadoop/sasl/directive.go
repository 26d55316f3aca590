package sasl

import (
	"errors"
	"fmt"
	"strings"
)

// Bounds of a DIGEST-MD5 challenge; RFC 2831 allows 2048 bytes.
const (
	maxChallenge  = 8 << 10
	maxDirectives = 64
)

// directives splits a DIGEST-MD5 challenge, a list of key=value and key="value"
// with backslash escapes inside quotes. Names come out in lower case. A name that
// may stand several times keeps all of its values; only realm may.
func directives(s string) (map[string][]string, error) {
	if len(s) > maxChallenge {
		return nil, fmt.Errorf("a challenge of %d bytes", len(s))
	}
	out := map[string][]string{}
	for count := 0; ; count++ {
		s = strings.TrimLeft(s, ", \t\r\n")
		if s == "" {
			return out, nil
		}
		if count == maxDirectives {
			return nil, fmt.Errorf("more than %d directives", maxDirectives)
		}
		name, rest, ok := strings.Cut(s, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if !ok || name == "" || strings.ContainsAny(name, "\", ") {
			return nil, errors.New("a directive without a value")
		}
		value, rest, err := directive(strings.TrimLeft(rest, " \t\r\n"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(out[name]) > 0 && name != "realm" {
			return nil, fmt.Errorf("%s stands twice", name)
		}
		out[name] = append(out[name], value)
		s = rest
	}
}

// directive reads one value and what follows it.
func directive(s string) (value, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		i := strings.IndexByte(s, ',')
		if i < 0 {
			i = len(s)
		}
		return strings.TrimSpace(s[:i]), s[i:], nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			rest = strings.TrimLeft(s[i+1:], " \t\r\n")
			if rest != "" && rest[0] != ',' {
				return "", "", errors.New("something behind the closing quote")
			}
			return b.String(), rest, nil
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return "", "", errors.New("a quote that is not closed")
}

// quote writes a value between quotes.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// tokens splits a comma-separated value such as qop and cipher.
func tokens(values []string) []string {
	var out []string
	for _, v := range values {
		for _, w := range strings.Split(v, ",") {
			if w = strings.ToLower(strings.TrimSpace(w)); w != "" {
				out = append(out, w)
			}
		}
	}
	return out
}
