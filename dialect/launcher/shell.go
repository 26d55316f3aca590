package launcher

import (
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/spec/command"
)

// readShell finds the one call of a launcher in a command's shell text, wherever
// it stands, and replaces it there. Everything around it stays as it is.
func readShell(c spec.Command, text string, file File) *Reading {
	var calls []command.Call
	for _, call := range command.Calls(c) {
		if l, _ := find(call.Words); l != nil {
			calls = append(calls, call)
		}
	}
	if len(calls) == 0 {
		return nil
	}
	call := calls[0]
	l, start := find(call.Words)
	out, r := l.apply(call.Words, start, file)
	switch {
	case out == nil:
		return r
	case len(calls) > 1:
		return leave(r, "the command calls more than one launcher, so its lines are left as they are")
	case call.Split:
		return leave(r, "a redirection stands between its words, so the line is left as it is: write it at the end")
	}
	r.Command = spec.Command{Shell: text[:call.Start] + command.Source(out) + text[call.End:]}
	return r
}

// leave keeps of a reading only that the launcher is there, and why its line
// was not taken over.
func leave(r *Reading, why string) *Reading {
	return &Reading{Launcher: r.Launcher, Framework: r.Framework, Remarks: []string{why}}
}
