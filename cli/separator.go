package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// withSeparator repairs a command line of run, submit or plan in which the --
// before the user's command was forgotten, or gives "" if that is not the
// trouble: "muster run -N 2 python train.py --epochs 3" is taken for our flags.
func (e *Env) withSeparator(cmd *cobra.Command) string {
	if !takesCommand(cmd) {
		return ""
	}
	args := e.Args[min(2, len(e.Args)):]
	if slices.Contains(args, "--") {
		return ""
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case !strings.HasPrefix(a, "-") || a == "-":
			if looksLikeJobFile(a) {
				return ""
			}
			return "muster " + cmd.Name() + " " + quoted(append(append(append([]string{}, args[:i]...), "--"), args[i:]...))
		case takesNextArgument(cmd, a):
			i++
		}
	}
	return ""
}

func takesCommand(cmd *cobra.Command) bool {
	return cmd.Name() == "run" || cmd.Name() == "submit" || cmd.Name() == "plan"
}

// takesNextArgument says whether a flag's value is the word after it.
func takesNextArgument(cmd *cobra.Command, a string) bool {
	if name, ok := strings.CutPrefix(a, "--"); ok {
		if strings.ContainsRune(name, '=') {
			return false
		}
		f := cmd.Flags().Lookup(name)
		return f != nil && f.NoOptDefVal == ""
	}
	f := cmd.Flags().ShorthandLookup(a[1:2])
	return f != nil && f.NoOptDefVal == "" && len(a) == 2
}

// fileOrCommand takes the positional words of run, submit and plan apart: at
// most one job file, and the user's command after --.
func (e *Env) fileOrCommand(cmd *cobra.Command, args []string) (file string, command []string, err error) {
	before := args
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		before, command = args[:at], args[at:]
		if len(command) == 0 {
			return "", nil, faultf(exitUsage, "--: no command after it")
		}
	}
	switch {
	case len(before) == 0 && len(command) == 0:
		return "", nil, faultf(exitUsage, "%s: no job file and no command", cmd.Name()).
			hint("muster %s job.yaml", cmd.Name()).hint("muster %s -- python train.py", cmd.Name())
	case len(before) == 0:
		return "", command, nil
	case len(before) == 1 && e.isJobFile(before[0]):
		return before[0], command, nil
	}
	if e.isJobFile(before[0]) {
		f := faultf(exitUsage, "%s: one job file is enough", before[1])
		if len(command) == 0 {
			f.hint("a command goes after --: muster %s %s -- %s", cmd.Name(), before[0], quoted(before[1:]))
		}
		return "", nil, f
	}
	f := faultf(exitUsage, "%s: not a job file", before[0])
	if line := e.withSeparator(cmd); line != "" {
		return "", nil, f.hint("the command of a job goes after --: %s", line)
	}
	return "", nil, f.hint("a job file is YAML or JSON")
}

// isJobFile takes a word for a job file if it has the name of one, is "-"
// (standard input), or is a file that is no program or script.
func (e *Env) isJobFile(word string) bool {
	if word == "-" || looksLikeJobFile(word) {
		return true
	}
	info, err := os.Stat(e.abs(word))
	if err != nil || info.IsDir() || info.Mode()&0o111 != 0 {
		return false
	}
	switch filepath.Ext(word) {
	case ".py", ".sh", ".bash", ".ipynb", ".exe", ".so", ".txt":
		return false
	}
	return true
}
