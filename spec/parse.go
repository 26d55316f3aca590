package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// A job file is written by hand. The bounds keep a wrong file from costing
// minutes; the parser's time grows faster than the file.
const (
	mostBytes = 1 << 20
	mostSigns = 20_000 // keys, values, colons: tokens
	mostNodes = 100_000
	mostDepth = 100
)

// parse turns a file into a tree, which is nil where the file is no YAML. A
// file with nothing in it is an empty mapping. The byte-order mark and DOS line
// ends of editors are understood.
func parse(name string, data []byte) (*node, Problems) {
	top := place{file: name}
	if len(data) > mostBytes {
		return nil, Problems{top.problem("", fmt.Sprintf("%d bytes: a file may have %d", len(data), mostBytes), "")}
	}
	if p, ok := badBytes(name, data); ok {
		return nil, Problems{p}
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	if strings.Contains(text, "\t") && json.Valid([]byte(text)) {
		// YAML refuses tabs that JSON allows. In valid JSON none is inside a string.
		text = strings.ReplaceAll(text, "\t", " ")
	}
	if p, ok := tooDeep(name, text); ok {
		return nil, Problems{p}
	}
	file, err := parseText(text)
	if err != nil {
		return nil, Problems{syntaxProblem(name, text, err)}
	}
	c := converter{file: name, anchors: map[string]*node{}, sizes: map[string]int{}}
	return c.document(file), c.problems
}

// parseText turns a panic of the parser, which has had some on malformed
// input, into an error: whatever a user writes must not end in a stack trace.
func parseText(text string) (f *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("not understood as YAML")
		}
	}()
	tokens := lexer.Tokenize(text)
	if len(tokens) > mostSigns {
		return nil, fmt.Errorf("%d keys, values and signs: a file may have %d", len(tokens), mostSigns)
	}
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// badBytes finds what no text file holds.
func badBytes(name string, data []byte) (Problem, bool) {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return place{file: name}.problem("", "the file is UTF-16", "save it as UTF-8"), true
	}
	line, column := 1, 1
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		at := place{name, line, column}
		if r == utf8.RuneError && size == 1 {
			return at.problem("", fmt.Sprintf("byte 0x%02x is not UTF-8", data[i]), "save the file as UTF-8"), true
		}
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' {
			return at.problem("", fmt.Sprintf("control character U+%04X", r), `write it inside "…" as an escape, as in "\x1b"`), true
		}
		if column++; r == '\n' {
			line, column = line+1, 1
		}
		i += size
	}
	return Problem{}, false
}

// tooDeep bounds nesting before the parser recurses into it: Go cannot recover
// from a stack that has run out. Brackets inside quotes count too; nobody
// leaves a hundred of them open.
func tooDeep(name, text string) (Problem, bool) {
	deep := 0
	for i, line := range strings.Split(text, "\n") {
		indicators := 0
		for j, r := range strings.TrimLeft(line, " ") {
			if j%2 == 0 && (r == '-' || r == '?') {
				indicators++
				continue
			}
			if r != ' ' {
				break
			}
		}
		deep = max(0, deep+strings.Count(line, "[")+strings.Count(line, "{")-strings.Count(line, "]")-strings.Count(line, "}"))
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if deep > mostDepth || indicators > mostDepth || indent > 20*mostDepth || strings.Count(line, "[")+strings.Count(line, "{") > 20*mostDepth {
			return place{name, i + 1, 1}.problem("", "nested too deeply", ""), true
		}
	}
	return Problem{}, false
}

// syntaxProblem says where the parser gave up. Signs that only look like
// ASCII are the usual reason for a line that makes no sense.
func syntaxProblem(name, text string, err error) Problem {
	at, message := place{file: name}, ""
	if se, ok := errors.AsType[*yaml.SyntaxError](err); ok {
		message = "not valid YAML: " + se.Message
		if t := se.Token; t != nil && t.Position != nil {
			at = place{name, t.Position.Line, max(1, t.Position.Column)}
		}
	} else { // a SyntaxError prints the whole file around itself, slowly
		message = err.Error()
	}
	p := at.problem("", message, "")
	lines := strings.Split(text, "\n")
	if at.line > 0 && at.line <= len(lines) {
		p.Hint = syntaxHint(lines[at.line-1], message)
	}
	return p
}

func syntaxHint(line, message string) string {
	if l, ok := findLookalike(line); ok {
		return l.say(line)
	}
	switch {
	case strings.HasPrefix(strings.TrimLeft(line, " "), "\t"):
		return "indent with blanks, not with tabs"
	case strings.Contains(message, "mapping value is not allowed"), strings.Contains(line, ": ") && strings.Count(line, ": ") > 1:
		return `a value that holds ": " needs quotes`
	}
	return ""
}

// converter turns the parser's tree into nodes.
type converter struct {
	file     string
	anchors  map[string]*node // nil while the anchor's own value is read
	sizes    map[string]int
	count    int
	problems Problems
}

func (c *converter) report(at place, text, hint string) {
	c.problems = append(c.problems, at.problem("", text, hint))
}

func (c *converter) place(n ast.Node) place {
	switch n := n.(type) {
	case nil:
		return place{file: c.file}
	case *ast.MappingNode: // its own token is the first colon
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return c.place(n.Values[0])
		}
	case *ast.MappingValueNode:
		return c.tokenPlace(n.Key.GetToken())
	}
	return c.tokenPlace(n.GetToken())
}

func (c *converter) tokenPlace(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{file: c.file}
	}
	return place{c.file, t.Position.Line, max(1, t.Position.Column)}
}

func (c *converter) document(f *ast.File) *node {
	var root *node
	for _, d := range f.Docs {
		if d == nil || d.Body == nil {
			continue
		}
		if _, ok := d.Body.(*ast.DirectiveNode); ok {
			continue
		}
		if root != nil {
			c.report(c.place(d.Body), "a second document begins here", "one file holds one job; remove the --- line or split the file")
			break
		}
		root = c.convert(d.Body)
	}
	if root == nil || root.kind == null {
		return &node{kind: mapping, at: place{file: c.file}}
	}
	return root
}

// convert is a switch over the parser's node types. c.count bounds what
// aliases of aliases can blow up.
func (c *converter) convert(n ast.Node) *node {
	if c.count++; c.count > mostNodes {
		return c.tooLarge(n)
	}
	out := &node{at: c.place(n)}
	switch n := n.(type) {
	case nil, *ast.NullNode:
	case *ast.MappingNode:
		c.mapping(out, n.Values)
	case *ast.MappingValueNode:
		c.mapping(out, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		out.kind = list
		for _, v := range n.Values {
			out.items = append(out.items, c.convert(v))
		}
	case *ast.LiteralNode:
		out.kind, out.style = scalar, block
		if n.Value != nil {
			out.text = n.Value.Value
		}
		out.at = c.tokenPlace(n.Start)
	case *ast.StringNode:
		out.kind, out.text = scalar, n.Value
		if t := n.Token.Type; t == token.SingleQuoteType || t == token.DoubleQuoteType {
			out.style = quoted
		}
	case *ast.AnchorNode:
		return c.anchor(n)
	case *ast.AliasNode:
		return c.alias(n)
	case *ast.TagNode:
		return c.tag(n)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		out.kind, out.text = scalar, n.GetToken().Value
	default:
		c.report(out.at, "not a value", "")
	}
	return out
}

func (c *converter) tooLarge(n ast.Node) *node {
	if c.count < math.MaxInt {
		c.count = math.MaxInt - 1 // report once
		c.report(c.place(n), fmt.Sprintf("more than %d values, aliases included", mostNodes), "")
	}
	return &node{at: c.place(n), broken: true}
}

func (c *converter) mapping(out *node, values []*ast.MappingValueNode) {
	out.kind = mapping
	var merged []entry
	for _, v := range values {
		at := c.tokenPlace(v.Key.GetToken())
		if _, ok := v.Key.(*ast.MergeKeyNode); ok {
			merged = append(merged, c.mergeKey(v.Value)...)
			continue
		}
		key, ok := c.key(v.Key)
		if !ok {
			continue
		}
		value := c.convert(v.Value)
		if e := out.entry(key); e != nil {
			c.report(at, fmt.Sprintf("field %s is written twice, first in line %d", quote(key), e.at.line), "keep one of them")
			continue
		}
		out.entries = append(out.entries, entry{key, at, value})
	}
	for _, e := range merged { // what is written here wins over what << brings
		if out.entry(e.key) == nil {
			out.entries = append(out.entries, e)
		}
	}
}

// key is the text of a mapping's key, as written: 1 and true are names here.
func (c *converter) key(k ast.MapKeyNode) (string, bool) {
	var n ast.Node = k
	if m, ok := n.(*ast.MappingKeyNode); ok {
		n = m.Value
	}
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	c.report(c.tokenPlace(k.GetToken()), "a key must be a plain name", "")
	return "", false
}

func (c *converter) mergeKey(v ast.Node) []entry {
	n := c.convert(v)
	sources := []*node{n}
	if n.kind == list {
		sources = n.items
	}
	var out []entry
	for _, s := range sources {
		if s.kind != mapping {
			c.report(s.at, "<<: only a mapping can be merged, not "+s.what(), "")
			continue
		}
		out = append(out, s.entries...)
	}
	return out
}

func (c *converter) anchor(n *ast.AnchorNode) *node {
	name := n.Name.GetToken().Value
	c.anchors[name] = nil
	before := c.count
	v := c.convert(n.Value)
	c.anchors[name], c.sizes[name] = v, c.count-before
	return v
}

func (c *converter) alias(n *ast.AliasNode) *node {
	name := n.Value.GetToken().Value
	v, known := c.anchors[name]
	if v == nil {
		text := fmt.Sprintf("alias *%s: there is no &%s above it", name, name)
		if known {
			text = fmt.Sprintf("alias *%s stands inside its own value", name)
		}
		c.report(c.place(n), text, "")
		return &node{at: c.place(n), broken: true}
	}
	if c.count += c.sizes[name]; c.count > mostNodes {
		return c.tooLarge(n)
	}
	return v
}

func (c *converter) tag(n *ast.TagNode) *node {
	v := c.convert(n.Value)
	name := n.Start.Value
	if name == "!!str" && v.kind == scalar {
		text := *v
		text.style = quoted
		return &text
	}
	switch name {
	case "!!int", "!!float", "!!bool", "!!map", "!!seq", "!!null":
		return v
	}
	c.report(c.tokenPlace(n.Start), fmt.Sprintf("tag %s is not understood", name), "leave it out")
	return v
}
