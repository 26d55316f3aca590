package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wordsOf takes a call's words out of the text around it.
func wordsOf(text string, call *syntax.CallExpr) []Word {
	out := make([]Word, len(call.Args))
	for i, a := range call.Args {
		out[i].Raw = text[a.Pos().Offset():a.End().Offset()]
		out[i].Text, out[i].Known = plainText(a)
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
