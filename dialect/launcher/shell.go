package launcher

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/muster-project/muster/spec"
)

// readShell finds the one call of a launcher in a shell's text, wherever it
// stands, and replaces it there. Everything around it stays as it is.
func readShell(text string, file File) *Reading {
	parsed, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil // bash will say so, better than we could
	}
	var calls []*syntax.CallExpr
	broken := map[*syntax.CallExpr]bool{} // a redirection stands among its words
	syntax.Walk(parsed, func(n syntax.Node) bool {
		stmt, ok := n.(*syntax.Stmt)
		if !ok {
			return true
		}
		call, ok := stmt.Cmd.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		if l, _ := find(wordsOf(text, call)); l != nil {
			calls = append(calls, call)
			end := call.Args[len(call.Args)-1].End().Offset()
			broken[call] = slices.ContainsFunc(stmt.Redirs, func(r *syntax.Redirect) bool { return r.Pos().Offset() < end })
		}
		return true
	})
	if len(calls) == 0 {
		return nil
	}
	words := wordsOf(text, calls[0])
	l, start := find(words)
	out, r := l.apply(words, start, file)
	switch {
	case out == nil:
		return r
	case len(calls) > 1:
		return leave(r, "the command calls more than one launcher, so its lines are left as they are")
	case broken[calls[0]]:
		return leave(r, "a redirection stands between its words, so the line is left as it is: write it at the end")
	}
	first, last := calls[0].Args[0].Pos().Offset(), calls[0].Args[len(calls[0].Args)-1].End().Offset()
	r.Command = spec.Command{Shell: text[:first] + source(out) + text[last:]}
	return r
}

// leave keeps of a reading only that the launcher is there, and why its line
// was not taken over.
func leave(r *Reading, why string) *Reading {
	return &Reading{Launcher: r.Launcher, Framework: r.Framework, Remarks: []string{why}}
}

// wordsOf takes a call's words out of the text around it.
func wordsOf(text string, call *syntax.CallExpr) []word {
	out := make([]word, len(call.Args))
	for i, a := range call.Args {
		out[i].raw = text[a.Pos().Offset():a.End().Offset()]
		out[i].text, out[i].known = plainText(a)
	}
	return out
}

// Words gives the words of a text that is one plain command, which no shell
// would change; nil where it is anything else.
func Words(text string) []string {
	parsed, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil || len(parsed.Stmts) != 1 {
		return nil
	}
	s := parsed.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Negated || s.Background || s.Coprocess || len(s.Redirs) > 0 || len(call.Assigns) > 0 {
		return nil
	}
	var out []string
	for _, w := range wordsOf(text, call) {
		if !w.known {
			return nil
		}
		out = append(out, w.text)
	}
	return out
}

// plainText is a word that the shell takes as it stands: no variable, no
// pattern, no home directory, no list in braces.
func plainText(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if !plainLit(p.Value) {
				return "", false
			}
			b.WriteString(unescape(p.Value, ""))
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok || p.Dollar {
					return "", false
				}
				b.WriteString(unescape(lit.Value, "$`\"\\\n"))
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// plainLit says that unquoted text means itself.
func plainLit(s string) bool {
	if strings.HasPrefix(s, "~") {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '*', '?', '[', '{':
			return false
		}
	}
	return true
}

// unescape takes away backslashes: all of them, or within quotes those before
// one of the bytes that they have a meaning for.
func unescape(s, only string) string {
	if !strings.ContainsRune(s, '\\') {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (only == "" || strings.IndexByte(only, s[i+1]) >= 0) {
			if i++; s[i] == '\n' {
				continue // the line goes on
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
