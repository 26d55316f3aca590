package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

// A job file is written by hand. The bounds keep a wrong file from costing
// minutes; the parser's time grows faster than the file.
const (
	mostBytes = 1 << 18
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
	var message string
	at := place{file: name}
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
