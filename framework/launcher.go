package framework

import (
	"path"
	"slices"
	"strings"

	"github.com/muster-project/muster/spec"
)

// LauncherArgs returns what stands behind a launcher on a command line, not nil
// if the launcher is there at all: called by one of its programs' names, or by
// "python -m" and one of its modules.
func LauncherArgs(c spec.Command, programs, modules []string) []string {
	line := c.Argv
	switch {
	case c.Shell != "":
		line = words(c.Shell)
	case len(line) > 2 && slices.Contains([]string{"bash", "sh"}, path.Base(line[0])) && strings.HasPrefix(line[1], "-") && strings.HasSuffix(line[1], "c"):
		line = words(line[2])
	}
	first := true // a program's name may stand here
	for i, w := range line {
		switch {
		case w == ";":
			first = true
		case !first || strings.Contains(w, "=") || slices.Contains([]string{"exec", "env", "time", "nohup"}, w):
			// An argument, or something that stands before a program.
		case slices.Contains(programs, path.Base(w)):
			return append([]string{}, line[i+1:]...)
		case strings.HasPrefix(path.Base(w), "python"):
			if args := moduleArgs(line[i+1:], modules); args != nil {
				return args
			}
			first = false
		default:
			first = false
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
		if !strings.HasPrefix(a, "-") {
			return nil // the program; what follows is its own
		}
	}
	return nil
}

// words splits a command roughly: good enough to find a launcher and its
// options, never used to run anything.
func words(text string) []string {
	for _, sep := range []string{"&&", "||", ";", "|", "\n", "(", ")"} {
		text = strings.ReplaceAll(text, sep, " ; ")
	}
	out := strings.Fields(text)
	for i, w := range out {
		out[i] = strings.Trim(w, `"'`)
	}
	return out
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
