package spec

import (
	"strconv"
)

// node is one value of a file with its place. The syntax tree of the YAML
// parser is turned into nodes once (parse.go), so that reading, merging layers
// and finding places again do not know the parser.
//
// A node may be shared: aliases and merged layers point at one node. It is
// never changed after it was made.
type node struct {
	kind    kind
	text    string // of a scalar, without its quotes
	style   style
	entries []entry
	items   []*node
	at      place
	broken  bool // told already; nothing more is to be said of it
}

// entry is one key of a mapping.
type entry struct {
	key   string
	at    place
	value *node
}

type kind int

const (
	null kind = iota
	scalar
	list
	mapping
)

type style int

const (
	plain  style = iota
	quoted       // in ' or ", or tagged !!str
	block        // | or >
)

// get returns the value of a key, or nil.
func (n *node) get(key string) *node {
	if e := n.entry(key); e != nil {
		return e.value
	}
	return nil
}

func (n *node) entry(key string) *entry {
	if n == nil {
		return nil
	}
	for i := range n.entries {
		if n.entries[i].key == key {
			return &n.entries[i]
		}
	}
	return nil
}

// with is n with key set to value, at the old position or at the end.
func (n *node) with(key string, at place, value *node) *node {
	out := *n
	out.entries = append([]entry(nil), n.entries...)
	if e := out.entry(key); e != nil {
		e.at, e.value = at, value
		return &out
	}
	out.entries = append(out.entries, entry{key, at, value})
	return &out
}

// without is n less one key.
func (n *node) without(key string) *node {
	out := *n
	out.entries = nil
	for _, e := range n.entries {
		if e.key != key {
			out.entries = append(out.entries, e)
		}
	}
	return &out
}

var (
	integerText = lazy(`^[-+]?(0|[1-9][0-9]*)$`)
	numberText  = lazy(`^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$`)
)

func (n *node) isNumber() bool {
	return n.kind == scalar && n.style == plain && numberText().MatchString(n.text)
}

func (n *node) isBool() bool {
	return n.kind == scalar && n.style == plain && (n.text == "true" || n.text == "false")
}

// what describes a node in a message: «a list», «"abc"».
func (n *node) what() string {
	switch {
	case n.kind == null:
		return "nothing"
	case n.kind == list:
		return "a list"
	case n.kind == mapping:
		return "a mapping"
	case n.isNumber(), n.isBool():
		return n.text
	}
	return quote(n.text)
}

// quote puts text into quotes for a message, cut where it is long.
func quote(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return strconv.Quote(text)
}

// locate finds the place of a path: of its value, or of the key of the nearest
// thing above it that was written.
func (n *node) locate(keys []string) (at place, exact bool) {
	for i, key := range keys {
		var next *node
		switch n.kind {
		case mapping:
			if e := n.entry(key); e != nil {
				at, next = e.at, e.value
			}
		case list:
			if k, err := strconv.Atoi(key); err == nil && k >= 0 && k < len(n.items) {
				at, next = n.items[k].at, n.items[k]
			}
		}
		if next == nil {
			return at, false
		}
		if n = next; i == len(keys)-1 {
			if n.kind == scalar || n.kind == list {
				at = n.at
			}
			return at, true // a mapping is best found by its key
		}
	}
	return at, len(keys) == 0
}
