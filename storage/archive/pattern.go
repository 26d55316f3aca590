package archive

import (
	"path"
	"regexp"
	"strings"
)

// pattern is one line of an ignore file.
type pattern struct {
	negated  bool           // starts with "!"
	dirOnly  bool           // ends in "/"
	anywhere bool           // holds no other "/": compares the last element only
	expr     *regexp.Regexp // regular expressions of Go never backtrack, however odd the pattern
}

// parsePattern reads one line; comments, blank lines and patterns that can
// match nothing give false.
func parsePattern(line string) (pattern, bool) {
	var p pattern
	line = trimBlanks(strings.TrimSuffix(line, "\r"))
	if line == "" || line[0] == '#' {
		return p, false
	}
	line, p.negated = strings.CutPrefix(line, "!")
	line, p.dirOnly = strings.CutSuffix(line, "/")
	p.anywhere = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return p, false
	}
	for strings.Contains(line, "***") {
		line = strings.ReplaceAll(line, "***", "**") // more stars say no more
	}
	text, ok := translate(line)
	if !ok {
		return p, false
	}
	expr, err := regexp.Compile(`(?s)^` + text + `$`)
	if err != nil {
		return p, false // such as the range [z-a]
	}
	p.expr = expr
	return p, true
}

// match compares a slash-separated name relative to the pattern's directory.
func (p pattern) match(name string, dir bool) bool {
	if p.dirOnly && !dir {
		return false
	}
	if p.anywhere {
		name = path.Base(name)
	}
	return p.expr.MatchString(name)
}

// trimBlanks removes blanks at the end, except one behind a backslash.
func trimBlanks(s string) string {
	end := len(s)
	for end > 0 && s[end-1] == ' ' {
		slashes := 0
		for i := end - 2; i >= 0 && s[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 1 {
			break
		}
		end--
	}
	return s[:end]
}

// translate turns the pattern into a regular expression. False means that it
// can match nothing: an open bracket, or a backslash at the end.
func translate(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case strings.HasPrefix(s[i:], "**/") && (i == 0 || s[i-1] == '/'):
			b.WriteString(`(?:.*/)?`)
			i += 3
		case s[i:] == "**" && i > 0 && s[i-1] == '/':
			b.WriteString(`.+`)
			i += 2
		case c == '*':
			b.WriteString(`[^/]*`)
			i++
		case c == '?':
			b.WriteString(`[^/]`)
			i++
		case c == '[':
			set, n := class(s[i:])
			if n == 0 {
				return "", false
			}
			b.WriteString(set)
			i += n
		case c == '\\':
			if i+1 == len(s) {
				return "", false
			}
			b.WriteString(regexp.QuoteMeta(s[i+1 : i+2]))
			i += 2
		default:
			b.WriteString(regexp.QuoteMeta(s[i : i+1]))
			i++
		}
	}
	return b.String(), true
}

// class translates the bracket expression that s starts with and says how long
// it is; 0 if it never closes. It never matches a slash, which separates names.
func class(s string) (string, int) {
	var b strings.Builder
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		b.WriteByte('^')
		i++
	}
	for first := true; i < len(s); first = false {
		switch c := s[i]; {
		case c == ']' && !first:
			if strings.HasPrefix(b.String(), "^") {
				return "[" + b.String() + "/]", i + 1
			}
			return "[" + b.String() + "]", i + 1
		case strings.HasPrefix(s[i:], "[:"):
			end := strings.Index(s[i:], ":]")
			if end < 0 {
				return "", 0
			}
			b.WriteString(s[i : i+end+2])
			i += end + 2
		case c == '-' && !first && i+1 < len(s) && s[i+1] != ']':
			b.WriteByte('-')
			i++
		case c == '\\' && i+1 < len(s):
			b.WriteString(quoteInClass(s[i+1]))
			i += 2
		case c == '/':
			i++
		default:
			b.WriteString(quoteInClass(c))
			i++
		}
	}
	return "", 0
}

func quoteInClass(c byte) string {
	if strings.IndexByte(`\]^-[`, c) >= 0 {
		return `\` + string(rune(c))
	}
	return string([]byte{c})
}
