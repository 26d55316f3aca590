package launcher

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/muster-project/muster/spec"
)

// word is one word of a command line. What holds $VAR or $(…) is not known
// before the shell has run.
type word struct {
	text  string
	known bool
	raw   string // as the shell reads it; empty: text, quoted where that is needed
}

func literal(text string) word { return word{text: text, known: true} }

// shellWord is a word that only a shell understands.
func shellWord(raw string) word { return word{raw: raw} }

// source is the word as it stands in a shell's text.
func (w word) source() string {
	if w.raw != "" {
		return w.raw
	}
	if quoted, err := syntax.Quote(w.text, syntax.LangBash); err == nil {
		return quoted
	}
	return "'" + strings.ReplaceAll(w.text, "'", `'\''`) + "'" // a zero byte: no kernel takes it either
}

func (w word) String() string {
	if w.known {
		return w.text
	}
	return w.raw
}

func literals(texts ...string) []word {
	out := make([]word, len(texts))
	for i, t := range texts {
		out[i] = literal(t)
	}
	return out
}

// command is what executes words: a list, or a shell's line where one of them
// needs a shell.
func command(words []word) spec.Command {
	argv := make([]string, len(words))
	for i, w := range words {
		if !w.known {
			return spec.Command{Shell: "exec " + source(words)}
		}
		argv[i] = w.text
	}
	return spec.Command{Argv: argv}
}

func source(words []word) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = w.source()
	}
	return strings.Join(parts, " ")
}
