package framework

import (
	"path"
	"slices"
	"strings"

	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/spec/command"
)

// LauncherArgs returns what stands behind a launcher in a command, not nil if
// the command calls it at all: by one of its programs' names, or by "python -m"
// and one of its modules.
func LauncherArgs(c spec.Command, programs, modules []string) []string {
	for _, call := range command.Calls(c) {
		at := command.Program(call.Words)
		if at < 0 {
			continue
		}
		args := make([]string, 0, len(call.Words))
		for _, w := range call.Words[at+1:] {
			args = append(args, w.String())
		}
		name := path.Base(call.Words[at].Text)
		if slices.Contains(programs, name) {
			return args
		}
		if strings.HasPrefix(name, "python") {
			if args := moduleArgs(args, modules); args != nil {
				return args
			}
		}
	}
	return nil
}

// moduleArgs finds "-m" and a module among Python's own options.
func moduleArgs(args, modules []string) []string {
	for i, a := range args {
		if a == "-m" && i+1 < len(args) && slices.Contains(modules, args[i+1]) {
			return append([]string{}, args[i+2:]...)
		}
		value := i > 0 && slices.Contains([]string{"-X", "-W"}, args[i-1])
		if !strings.HasPrefix(a, "-") && !value {
			return nil // the program; what follows is its own
		}
	}
	return nil
}

// LauncherOption is the value of a launcher's option, written with dashes or
// underscores, with "=" or a blank; empty if it is not there. What follows a
// Python program is that program's own.
func LauncherOption(args []string, name string) string {
	for i, a := range args {
		if strings.HasSuffix(a, ".py") {
			break
		}
		option, value, joined := strings.Cut(a, "=")
		if strings.ReplaceAll(option, "_", "-") != name {
			continue
		}
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		return value
	}
	return ""
}
