// Package launcher reads the lines that people start distributed programs
// with: torchrun, mpirun, horovodrun, deepspeed, accelerate launch. A command
// goes in; what its line says of the job comes out as a Reading: framework,
// tasks, processes, devices, variables, the command that runs in its place, and
// every option that was not taken over, with the reason.
//
// It does no I/O: files that a line names, such as a list of hosts, are read
// by the function that the caller gives. README.md says what each launcher's
// options become.
package launcher

import (
	"path"
	"slices"
	"strings"

	"github.com/muster-project/muster/spec"
)

// File gives the content of a file that a line names. Nil: files are not read.
type File func(name string) ([]byte, error)

// launcher is one program whose lines are understood.
type launcher struct {
	name      string // as people say it
	framework string // whose roster its processes need
	table     table
	read      func(r *reader)
}

// Read finds the launcher that a command calls and reads its line. It returns
// nil where the command calls none.
func Read(c spec.Command, file File) *Reading {
	if c.Shell != "" {
		return readShell(c.Shell, file)
	}
	if script, ok := inShell(c.Argv); ok {
		r := readShell(c.Argv[script], file)
		if r != nil && r.Command.Shell != "" {
			argv := slices.Clone(c.Argv)
			argv[script] = r.Command.Shell
			r.Command = spec.Command{Argv: argv}
		}
		return r
	}
	words := make([]word, len(c.Argv))
	for i, a := range c.Argv {
		words[i] = literal(a)
	}
	l, start := find(words)
	if l == nil {
		return nil
	}
	out, r := l.apply(words, start, file)
	if out != nil {
		r.Command = command(out)
	}
	return r
}

// inShell says which word of "bash -c SCRIPT" is the script.
func inShell(argv []string) (int, bool) {
	if len(argv) < 3 || !slices.Contains([]string{"sh", "bash", "dash"}, path.Base(argv[0])) {
		return 0, false
	}
	return 2, slices.Contains([]string{"-c", "-lc", "-ec", "-euc"}, argv[1])
}

// find says which launcher a simple command calls and where its options begin.
func find(words []word) (*launcher, int) {
	at := program(words)
	if at < 0 {
		return nil, 0
	}
	name := path.Base(words[at].text)
	next := func(i int) string {
		if i < len(words) && words[i].known {
			return words[i].text
		}
		return ""
	}
	switch {
	case name == "torchrun":
		return torchrun, at + 1
	case name == "accelerate-launch":
		return accelerate, at + 1
	case name == "accelerate" && next(at+1) == "launch":
		return accelerate, at + 2
	case name == "deepspeed" || name == "ds":
		return deepspeed, at + 1
	case name == "horovodrun":
		return horovodrun, at + 1
	case mpiFamily(name) != nil:
		return mpiFamily(name), at + 1
	case strings.HasPrefix(name, "python"):
		return module(words, at+1)
	}
	return nil, 0
}

// program is the place of the program's name behind what may stand before it,
// or -1 where that cannot be told.
func program(words []word) int {
	env := false
	for i, w := range words {
		switch {
		case !w.known:
			return -1
		case slices.Contains([]string{"exec", "nohup", "command", "time"}, w.text):
		case w.text == "env":
			env = true
		case env && strings.Contains(w.text, "=") && !strings.HasPrefix(w.text, "-"):
		case strings.HasPrefix(w.text, "-"):
			return -1 // an option of what stands before
		default:
			return i
		}
	}
	return -1
}

// module finds a launcher that Python runs as a module.
func module(words []word, at int) (*launcher, int) {
	for i := at; i+1 < len(words) && words[i].known; i++ {
		switch {
		case words[i].text == "-m":
			switch words[i+1].text {
			case "torch.distributed.run", "torch.distributed.launch":
				return torchrun, i + 2
			case "accelerate.commands.launch":
				return accelerate, i + 2
			case "deepspeed.launcher.runner", "deepspeed":
				return deepspeed, i + 2
			case "horovod.runner.launch", "horovod.runner":
				return horovodrun, i + 2
			}
			return nil, 0
		case words[i].text == "-X" || words[i].text == "-W":
			i++
		case !strings.HasPrefix(words[i].text, "-"):
			return nil, 0
		}
	}
	return nil, 0
}

// apply reads one call and gives the words that run in its place, none where
// the line is to stay as it is.
func (l *launcher) apply(words []word, start int, file File) ([]word, *Reading) {
	r := &reader{
		Reading: &Reading{Launcher: l.name, Framework: l.framework, Env: map[string]spec.EnvValue{}, said: map[string]string{}},
		table:   l.table, head: words[:start], file: file,
	}
	r.scan(words[start:])
	l.read(r)
	if len(r.tail) == 0 && r.alone == "" {
		r.alone = "no program behind its options"
	}
	if r.alone != "" {
		left := leave(r.Reading, r.alone+": the line is left as it is")
		left.Framework = "" // no job that would need one
		return nil, left
	}
	return slices.Concat(r.head, r.options(), r.tail), r.Reading
}
