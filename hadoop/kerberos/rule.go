package kerberos

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrRule is the identity of rules that cannot be read, and of principals that
// none of them fits.
var ErrRule = errors.New("hadoop.security.auth_to_local")

// Rules turn a principal into a short user name, as the servers of a cluster do
// by hadoop.security.auth_to_local.
type Rules struct {
	list  []rule
	realm string // the default one
	mit   bool   // names may keep / and @, and a principal that no rule fits is its own name
}

// rule is one of them. The zero value is DEFAULT.
type rule struct {
	text   string
	format string // with $0 for the realm and $1 and $2 for the parts
	parts  int
	whole  *regexp.Regexp // what the formatted name must be; nil: anything
	from   *regexp.Regexp // what is replaced in it; nil: nothing
	to     string         // in Go's form
	all    bool
	lower  bool
	plain  bool // DEFAULT
}

// ParseRules reads the values of hadoop.security.auth_to_local and of
// hadoop.security.auth_to_local.mechanism (hadoop or mit); empty ones are
// DEFAULT and hadoop. The realm is krb5.conf's default one.
//
//	RULE:[parts:format](regular expression)s/from/to/g/L
//
// Everything behind the format may be left out. Regular expressions are Java's
// there and RE2's here, which lacks looking ahead and back, and references.
func ParseRules(text, mechanism, realm string) (*Rules, error) {
	r := &Rules{realm: realm}
	switch strings.ToLower(strings.TrimSpace(mechanism)) {
	case "", "hadoop":
	case "mit":
		r.mit = true
	default:
		return nil, fmt.Errorf("%w.mechanism: %q is neither hadoop nor mit", ErrRule, mechanism)
	}
	rest := strings.TrimSpace(text)
	if rest == "" {
		rest = "DEFAULT"
	}
	for rest != "" {
		one, n, err := parseRule(rest)
		if err != nil {
			return nil, fmt.Errorf("%w: %.80q: %w", ErrRule, rest, err)
		}
		one.text = strings.TrimSpace(rest[:n])
		r.list = append(r.list, one)
		rest = strings.TrimLeft(rest[n:], space)
	}
	return r, nil
}

const space = " \t\n\v\f\r"

// parseRule reads one rule and tells how long it is.
func parseRule(s string) (rule, int, error) {
	if rest, ok := strings.CutPrefix(s, "DEFAULT"); ok {
		rest, _ = ending(rest)
		return rule{plain: true}, len(s) - len(rest), nil
	}
	rest, ok := strings.CutPrefix(s, "RULE:[")
	if !ok {
		return rule{}, 0, errors.New("neither RULE:[ nor DEFAULT")
	}
	head, rest, ok := strings.Cut(rest, "]")
	count, format, colon := strings.Cut(head, ":")
	if !ok || !colon {
		return rule{}, 0, errors.New("no [parts:format]")
	}
	n, err := strconv.ParseUint(count, 10, 31)
	if err != nil {
		return rule{}, 0, fmt.Errorf("%q is no number of parts", count)
	}
	one := rule{parts: int(n), format: format}
	if strings.HasPrefix(rest, "(") {
		pattern, behind, ok := strings.Cut(rest[1:], ")")
		if !ok {
			return rule{}, 0, errors.New("a parenthesis that is not closed")
		}
		if _, err = regexp.Compile(pattern); err == nil {
			one.whole, err = regexp.Compile(`\A(?:` + pattern + `)\z`)
		}
		if err != nil {
			return rule{}, 0, err
		}
		rest = behind
	}
	if strings.HasPrefix(rest, "s/") {
		if rest, err = one.substitution(rest[2:]); err != nil {
			return rule{}, 0, err
		}
	}
	rest, one.lower = ending(rest)
	return one, len(s) - len(rest), nil
}

// substitution reads from/to/g.
func (r *rule) substitution(s string) (rest string, err error) {
	parts := strings.SplitN(s, "/", 3)
	if len(parts) < 3 {
		return "", errors.New("s/from/to/ is not closed")
	}
	if r.from, err = regexp.Compile(parts[0]); err != nil {
		return "", err
	}
	if r.to, err = replacement(parts[1], r.from.NumSubexp()); err != nil {
		return "", err
	}
	rest, r.all = strings.CutPrefix(parts[2], "g")
	return rest, nil
}

// ending reads /L.
func ending(s string) (rest string, lower bool) {
	s = strings.TrimPrefix(s, "/")
	return strings.CutPrefix(s, "L")
}

// replacement rewrites Java's form ($1, \$) into Go's (${1}, $$).
func replacement(s string, groups int) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteString(strings.ReplaceAll(s[i:i+1], "$", "$$"))
		case c == '\\':
			return "", errors.New("a backslash at the end of the replacement")
		case c == '$':
			n, digits := 0, 0
			for j := i + 1; j < len(s) && s[j] >= '0' && s[j] <= '9'; j++ {
				next := 10*n + int(s[j]-'0')
				if digits > 0 && next > groups {
					break // the digit is text
				}
				n, digits = next, digits+1
			}
			if digits == 0 || n > groups {
				return "", fmt.Errorf("replacement %q names a group that is not there", s)
			}
			fmt.Fprintf(&b, "${%d}", n)
			i += digits
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// Short is the user name of a principal. A name without realm and host is its
// own.
func (r *Rules) Short(principal string) (string, error) {
	fail := func(format string, a ...any) (string, error) {
		return "", fmt.Errorf("%s: %w: %w", principal, ErrRule, fmt.Errorf(format, a...))
	}
	head, realm, hasRealm := strings.Cut(principal, "@")
	parts := strings.Split(head, "/")
	sound := len(parts) <= 2 && (!hasRealm || realm != "" && !strings.ContainsAny(realm, "/@"))
	for _, p := range parts {
		sound = sound && p != ""
	}
	if !sound {
		if hasRealm {
			return fail("more than two parts or an empty one")
		}
		return principal, nil
	}
	if !hasRealm && len(parts) == 1 {
		return principal, nil
	}
	values := append([]string{realm}, parts...)
	if !hasRealm {
		values[0] = "null" // what Java makes of it
	}
	for _, one := range r.list {
		got, fits, err := one.apply(values, hasRealm && realm == r.realm)
		if err != nil {
			return fail("%s: %w", one.text, err)
		}
		if !fits {
			continue
		}
		if !r.mit && strings.ContainsAny(got, "/@") {
			return fail("%s makes %q of it, which is no simple name", one.text, got)
		}
		if one.lower {
			got = strings.ToLower(got)
		}
		return got, nil
	}
	if r.mit {
		return principal, nil
	}
	return fail("no rule fits")
}

// apply tells what a rule makes of a name, and whether it fits at all.
func (r *rule) apply(values []string, home bool) (string, bool, error) {
	if r.plain {
		return values[1], home, nil
	}
	if len(values)-1 != r.parts {
		return "", false, nil
	}
	base, err := r.fill(values)
	if err != nil || r.whole != nil && !r.whole.MatchString(base) {
		return "", false, err
	}
	switch {
	case r.from == nil:
	case r.all:
		base = r.replaceAll(base)
	default:
		if at := r.from.FindStringSubmatchIndex(base); at != nil {
			base = base[:at[0]] + string(r.from.ExpandString(nil, r.to, base, at)) + base[at[1]:]
		}
	}
	return base, true, nil
}

// replaceAll does as Java does, where a match of nothing may follow one of
// something at the same place: s/.*/x/g makes xx of a name. RE2 leaves that out,
// so each place is tried by itself.
func (r *rule) replaceAll(s string) string {
	var b strings.Builder
	const most = 1000 // RE2's own limit of a repetition
	for n := 0; ; n++ {
		here, err := regexp.Compile(`\A(?s:.{` + strconv.Itoa(n) + `})(` + r.from.String() + `)`)
		if err != nil || n > most {
			return b.String() + s[min(runes(s, n), len(s)):]
		}
		start := runes(s, n)
		if at := here.FindStringSubmatchIndex(s); at != nil {
			b.Write(here.ExpandString(nil, r.to, s, at[2:])) // the first group is the whole
			if at[3] > start {
				n += utf8.RuneCountInString(s[start:at[3]]) - 1
				continue
			}
		}
		if start == len(s) {
			return b.String()
		}
		_, size := utf8.DecodeRuneInString(s[start:])
		b.WriteString(s[start : start+size])
	}
}

// runes is where the n-th character of s begins.
func runes(s string, n int) int {
	at := 0
	for ; n > 0 && at < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}

// fill puts the values into the format.
func (r *rule) fill(values []string) (string, error) {
	var b strings.Builder
	for s := r.format; s != ""; {
		text, behind, found := strings.Cut(s, "$")
		b.WriteString(text)
		if !found {
			break
		}
		digits := len(behind) - len(strings.TrimLeft(behind, "0123456789"))
		n, err := strconv.ParseUint(behind[:digits], 10, 31)
		if err != nil {
			return "", fmt.Errorf("a $ without a number in %q", r.format)
		}
		if int(n) >= len(values) {
			return "", fmt.Errorf("$%d is not there: %q", n, r.format)
		}
		b.WriteString(values[n])
		s = behind[digits:]
	}
	return b.String(), nil
}
