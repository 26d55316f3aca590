// Package command reads what a command calls. The command of a role goes in,
// a list of words or a shell's text; the programs that it calls come out, each
// with its words. Whoever needs to know whether a command is a launcher's line
// asks here, so that all of them see the same calls in it.
package command

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/muster-project/muster/spec"
)

// Call is one call of a program.
type Call struct {
	Words []Word
	Start int  // where its words begin in the shell's text
	End   int  // and end
	Split bool // a redirection stands between its words
}

// Calls are the calls of a command: that of a list, or those of a shell's text,
// wherever they stand in it. None where the text is no shell's.
func Calls(c spec.Command) []Call {
	c = Unwrap(c)
	if c.Shell != "" {
		return inText(c.Shell)
	}
	if at, ok := Script(c.Argv); ok {
		return inText(c.Argv[at])
	}
	if len(c.Argv) == 0 {
		return nil
	}
	return []Call{{Words: Literals(c.Argv...)}}
}

// Unwrap makes a list of a text that calls nothing but a shell with another
// text, as in "bash -c '…'"; any other command stays as it is.
func Unwrap(c spec.Command) spec.Command {
	if words := Words(c.Shell); words != nil {
		if _, ok := Script(words); ok {
			return spec.Command{Argv: words}
		}
	}
	return c
}

func inText(text string) []Call {
	parsed := parse(text)
	if parsed == nil {
		return nil // bash will say so, better than we could
	}
	var calls []Call
	syntax.Walk(parsed, func(n syntax.Node) bool {
		stmt, ok := n.(*syntax.Stmt)
		if !ok {
			return true
		}
		call, ok := stmt.Cmd.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		end := call.Args[len(call.Args)-1].End().Offset()
		calls = append(calls, Call{
			Words: wordsOf(text, call),
			Start: int(call.Args[0].Pos().Offset()),
			End:   int(end),
			Split: slices.ContainsFunc(stmt.Redirs, func(r *syntax.Redirect) bool { return r.Pos().Offset() < end }),
		})
		return true
	})
	return calls
}

func parse(text string) *syntax.File {
	parsed, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	return parsed
}

// Words gives the words of a text that is one plain command, which no shell
// would change; nil where it is anything else.
func Words(text string) []string {
	parsed := parse(text)
	if parsed == nil || len(parsed.Stmts) != 1 {
		return nil
	}
	s := parsed.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Negated || s.Background || s.Coprocess || len(s.Redirs) > 0 || len(call.Assigns) > 0 {
		return nil
	}
	var out []string
	for _, w := range wordsOf(text, call) {
		if !w.Known {
			return nil
		}
		out = append(out, w.Text)
	}
	return out
}
