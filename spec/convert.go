package spec

import (
	"fmt"
	"math"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

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
