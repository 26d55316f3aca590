package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/muster-project/muster/spec"
)

// Word is one word of a command line. What holds $VAR or $(…) is not known
// before the shell has run.
type Word struct {
	Text  string
	Known bool
	Raw   string // as the shell reads it; empty: text, quoted where that is needed
}

// Literal is a word that means itself.
func Literal(text string) Word { return Word{Text: text, Known: true} }

// ShellWord is a word that only a shell understands.
func ShellWord(raw string) Word { return Word{Raw: raw} }

// source is the word as it stands in a shell's text.
func (w Word) source() string {
	if w.Raw != "" {
		return w.Raw
	}
	if quoted, err := syntax.Quote(w.Text, syntax.LangBash); err == nil {
		return quoted
	}
	return "'" + strings.ReplaceAll(w.Text, "'", `'\''`) + "'" // a zero byte: no kernel takes it either
}

func (w Word) String() string {
	if w.Known {
		return w.Text
	}
	return w.Raw
}

// Literals are words that mean themselves.
func Literals(texts ...string) []Word {
	out := make([]Word, len(texts))
	for i, t := range texts {
		out[i] = Literal(t)
	}
	return out
}

// Of is what executes words: a list, or a shell's line where one of them
// needs a shell.
func Of(words []Word) spec.Command {
	argv := make([]string, len(words))
	for i, w := range words {
		if !w.Known {
			return spec.Command{Shell: "exec " + Source(words)}
		}
		argv[i] = w.Text
	}
	return spec.Command{Argv: argv}
}

// Source is words as they stand in a shell's text.
func Source(words []Word) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = w.source()
	}
	return strings.Join(parts, " ")
}
