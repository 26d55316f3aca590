package executor

import "strings"

// expand replaces $NAME and ${NAME} in the values of text; $$ is a dollar sign,
// and any other dollar sign stays. Names are looked up among the other expanded
// values, then in known, then on the node itself; what is nowhere is empty. A
// value that names itself means the one below: PATH: "/opt/bin:$PATH".
func expand(text, known map[string]string, node []string) map[string]string {
	x := expansion{text: text, known: known, node: node, open: map[string]bool{}}
	done := make(map[string]string, len(text))
	for name := range text {
		done[name] = x.value(name)
	}
	return done
}

type expansion struct {
	text, known map[string]string
	node        []string
	open        map[string]bool // being expanded: a cycle ends here
}

func (x *expansion) value(name string) string {
	text, ok := x.text[name]
	if !ok || x.open[name] {
		return x.below(name)
	}
	x.open[name] = true
	defer delete(x.open, name)
	// Not kept for the next one: inside a cycle the value depends on where it was
	// entered, and the order of a map must decide nothing.
	return replace(text, x.value)
}

func (x *expansion) below(name string) string {
	if v, ok := x.known[name]; ok {
		return v
	}
	v, _ := variable(x.node, name)
	return v
}

func replace(text string, value func(string) string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, after := reference(rest)
		switch {
		case strings.HasPrefix(rest, "$"):
			out.WriteByte('$')
			after = rest[1:]
		case name == "":
			out.WriteByte('$')
		default:
			out.WriteString(value(name))
		}
		text = after
	}
}

// reference reads NAME or {NAME} at the start of s; no name: it is no reference.
func reference(s string) (name, rest string) {
	if inner, ok := strings.CutPrefix(s, "{"); ok {
		name, rest, closed := strings.Cut(inner, "}")
		if closed && word(name) == len(name) && name != "" {
			return name, rest
		}
		return "", s
	}
	n := word(s)
	return s[:n], s[n:]
}

// word is the length of the variable name at the start of s.
func word(s string) int {
	for i, c := range []byte(s) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}
