// Package launcher reads the lines that people start distributed programs
// with: torchrun, mpirun, horovodrun, deepspeed, accelerate launch and Paddle's
// launcher. A command goes in; what its line says of the job comes out as a
// Reading: framework, tasks, processes, devices, variables, the command that
// runs in its place, and every option that was not taken over, with the reason.
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
	"github.com/muster-project/muster/spec/command"
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
	c = command.Unwrap(c)
	if c.Shell != "" {
		return readShell(c, c.Shell, file)
	}
	if at, ok := command.Script(c.Argv); ok {
		r := readShell(c, c.Argv[at], file)
		if r != nil && r.Command.Shell != "" {
			argv := slices.Clone(c.Argv)
			argv[at] = r.Command.Shell
			r.Command = spec.Command{Argv: argv}
		}
		return r
	}
	words := command.Literals(c.Argv...)
	l, start := find(words)
	if l == nil {
		return nil
	}
	out, r := l.apply(words, start, file)
	if out != nil {
		r.Command = command.Of(out)
	}
	return r
}

// find says which launcher a simple command calls and where its options begin.
func find(words []command.Word) (*launcher, int) {
	at := command.Program(words)
	if at < 0 {
		return nil, 0
	}
	name := path.Base(words[at].Text)
	next := func(i int) string {
		if i < len(words) && words[i].Known {
			return words[i].Text
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
	case name == "fleetrun":
		return paddle, at + 1
	case mpiFamily(name) != nil:
		return mpiFamily(name), at + 1
	case strings.HasPrefix(name, "python"):
		return module(words, at+1)
	}
	return nil, 0
}

// module finds a launcher that Python runs as a module.
func module(words []command.Word, at int) (*launcher, int) {
	for i := at; i+1 < len(words) && words[i].Known; i++ {
		switch {
		case words[i].Text == "-m":
			switch words[i+1].Text {
			case "torch.distributed.run", "torch.distributed.launch":
				return torchrun, i + 2
			case "paddle.distributed.launch", "paddle.distributed.fleet.launch":
				return paddle, i + 2
			case "accelerate.commands.launch":
				return accelerate, i + 2
			case "deepspeed.launcher.runner", "deepspeed":
				return deepspeed, i + 2
			case "horovod.runner.launch", "horovod.runner":
				return horovodrun, i + 2
			}
			return nil, 0
		case words[i].Text == "-X" || words[i].Text == "-W":
			i++
		case !strings.HasPrefix(words[i].Text, "-"):
			return nil, 0
		}
	}
	return nil, 0
}

// apply reads one call and gives the words that run in its place, none where
// the line is to stay as it is.
func (l *launcher) apply(words []command.Word, start int, file File) ([]command.Word, *Reading) {
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
