package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// YAML writes any value that encoding/json can write, with the same keys in
// the same order. Job files and everything under "-o yaml" go through it.
func YAML(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	n, err := nodeFromJSON(data)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	emit(&b, n, 0)
	return []byte(b.String()), nil
}

// fromJSON reads JSON by the same rules as a job file.
func fromJSON(data []byte, v valued) error {
	n, err := nodeFromJSON(data)
	if err != nil {
		return err
	}
	r := &reader{}
	v.read(r, n, "")
	return r.problems.err()
}

// nodeFromJSON keeps the order of keys, and numbers as they are written.
func nodeFromJSON(data []byte) (*node, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	n, err := jsonValue(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return n, nil
}

func jsonValue(d *json.Decoder) (*node, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		out := &node{kind: list}
		if t == '{' {
			out.kind = mapping
		}
		for d.More() {
			key := ""
			if t == '{' {
				k, err := d.Token()
				if err != nil {
					return nil, err
				}
				key, _ = k.(string)
			}
			v, err := jsonValue(d)
			if err != nil {
				return nil, err
			}
			if t == '{' {
				out.entries = append(out.entries, entry{key: key, value: v})
			} else {
				out.items = append(out.items, v)
			}
		}
		_, err := d.Token()
		return out, err
	case string:
		return &node{kind: scalar, text: t, style: quoted}, nil
	case nil:
		return &node{}, nil
	}
	return &node{kind: scalar, text: fmt.Sprint(t)}, nil
}

// emit writes a node in block style at an indent; the caller has written what
// stands before it on the line.
func emit(b *strings.Builder, n *node, indent int) {
	pad := strings.Repeat("  ", indent)
	switch {
	case n.kind == mapping && len(n.entries) > 0:
		for _, e := range n.entries {
			b.WriteString(pad + scalarText(e.key, true) + ":")
			emitInner(b, e.value, indent+1)
		}
	case n.kind == list && len(n.items) > 0:
		for _, item := range n.items {
			b.WriteString(pad + "-")
			if item.kind == mapping && len(item.entries) > 0 {
				var inner strings.Builder
				emit(&inner, item, indent+1)
				b.WriteString(" " + strings.TrimLeft(inner.String(), " "))
				continue
			}
			emitInner(b, item, indent+1)
		}
	default:
		b.WriteString(pad + flow(n) + "\n")
	}
}

func emitInner(b *strings.Builder, n *node, indent int) {
	if n.kind == mapping && len(n.entries) > 0 || n.kind == list && len(n.items) > 0 {
		b.WriteString("\n")
		emit(b, n, indent)
		return
	}
	b.WriteString(" " + flow(n) + "\n")
}

// flow writes a node on one line.
func flow(n *node) string {
	switch n.kind {
	case mapping:
		parts := make([]string, len(n.entries))
		for i, e := range n.entries {
			parts[i] = scalarText(e.key, true) + ": " + flow(e.value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case list:
		parts := make([]string, len(n.items))
		for i, item := range n.items {
			parts[i] = flow(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case scalar:
		isString := n.style != plain || strings.ContainsAny(n.text, ",[]{}")
		return scalarText(n.text, isString)
	}
	return "null"
}

// scalarText writes text so that it is read back as it was: plain where
// nothing can be mistaken, else in double quotes with JSON's escapes, which
// YAML knows too.
func scalarText(text string, isString bool) string {
	if !isString || plainSafe(text) {
		return text
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return `""` // a string always encodes
	}
	return unprintable.Replace(strings.TrimSpace(b.String()))
}

// unprintable escapes what JSON allows in a string and YAML does not.
var unprintable = func() *strings.Replacer {
	var pairs []string
	for _, r := range append([]rune{0x7f, 0xfeff}, c1()...) {
		pairs = append(pairs, string(r), fmt.Sprintf(`\u%04x`, r))
	}
	return strings.NewReplacer(pairs...)
}()

func c1() (out []rune) {
	for r := rune(0x80); r < 0xa0; r++ {
		out = append(out, r)
	}
	return out
}

// plainSafe is narrower than YAML: words, paths and sizes, but nothing that
// some reader of YAML takes for a number, a truth value or a date.
func plainSafe(text string) bool {
	switch strings.ToLower(text) {
	case "", "true", "false", "yes", "no", "on", "off", "y", "n", "null", "none", "~":
		return text == "on"
	}
	if strings.HasSuffix(text, " ") || strings.HasSuffix(text, ":") || strings.Contains(text, ": ") || strings.Contains(text, " #") {
		return false
	}
	for i, r := range text {
		switch {
		case unicode.IsLetter(r) && r < 0x80, i > 0 && unicode.IsDigit(r) && r < 0x80:
		case i > 0 && strings.ContainsRune(" -_./:+=@%", r):
		case i == 0 && (r == '/' || r == '_'):
		default:
			return digitStart(text)
		}
	}
	return !strings.HasPrefix(strings.ToLower(text), "0x")
}

// digitStart allows sizes and durations, which begin with a digit.
func digitStart(text string) bool {
	if text[0] < '0' || text[0] > '9' || !unicode.IsLetter(rune(text[len(text)-1])) {
		return false
	}
	_, size := ParseSize(text)
	_, span := ParseDuration(text)
	return size == nil || span == nil
}
