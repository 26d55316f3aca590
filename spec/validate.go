package spec

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Validate checks everything about a normalized job that needs no look at the
// world. Paths are those of the normalized job: roles.worker.memory.
func Validate(j *Job) Problems {
	v := &validator{}
	v.job(j)
	v.names(j.Roles)
	for i := range j.Roles {
		v.role(j.Roles[i].Name, &j.Roles[i].Role)
		v.policies("roles."+j.Roles[i].Name, &j.Roles[i].Role)
	}
	v.order(j.Roles)
	v.end(j.Roles)
	return v.problems
}

type validator struct{ problems Problems }

func (v *validator) report(path, hint, format string, args ...any) {
	v.problems = append(v.problems, Problem{Path: path, Text: fmt.Sprintf(format, args...), Hint: hint})
}

var (
	roleName = lazy(`^[A-Za-z][A-Za-z0-9_-]*$`)
	envName  = lazy(`^[A-Za-z_][A-Za-z0-9_.%()-]*$`)
	wordName = lazy(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
)

const longestName = 63

func (v *validator) job(j *Job) {
	if i := strings.IndexFunc(j.Name, unicode.IsControl); i >= 0 {
		v.report("name", "write one line of text", "holds a control character: %s", quote(j.Name))
	}
	if len(j.Name) > 255 {
		v.report("name", "", "is longer than 255 bytes")
	}
	if backend, site, ok := strings.Cut(j.On, ":"); j.On != "" && (!wordName().MatchString(backend) || ok && !wordName().MatchString(site)) {
		v.report("on", "write BACKEND or BACKEND:SITE, as in yarn:prod", "%s names no backend", quote(j.On))
	}
	if strings.ContainsFunc(j.Queue, unicode.IsControl) {
		v.report("queue", "", "holds a control character: %s", quote(j.Queue))
	}
	v.negative("logs.keep", float64(j.Logs.Keep))
	v.negative("logs.max_size", float64(j.Logs.MaxSize))
	v.negative("lease", float64(j.Lease))
	v.negative("timeout.queue", float64(j.Timeout.Queue))
	v.negative("timeout.start", float64(j.Timeout.Start))
	v.negative("timeout.run", float64(j.Timeout.Run))
	v.python(j.Python)
	v.files(j.Files)
	v.env("env", j.Env)
}

func (v *validator) negative(path string, n float64) bool {
	if n >= 0 && !math.IsInf(n, 0) {
		return false
	}
	v.report(path, "", "cannot be negative")
	return true
}

func (v *validator) python(p Python) {
	var set []string
	for _, f := range []struct{ name, value string }{{"venv", p.Venv}, {"archive", p.Archive}, {"conda", p.Conda}} {
		if f.value != "" {
			set = append(set, f.name)
		}
	}
	if len(set) > 1 {
		v.report("python", "keep one of them", "%s each name an environment, and there can be one", strings.Join(set, " and "))
	}
	if p.Interpreter != "" && (p.Venv != "" || p.Conda != "") {
		v.report("python.interpreter", "leave it out", "%s names an environment that has its own", set[0])
	}
	if len(set) == 1 && p.Requirements != "" {
		v.report("python.requirements", "install them there beforehand, or leave out "+set[0], "%s names an environment that is ready and is not changed", set[0])
	}
}

func (v *validator) files(files []File) {
	from := map[string]File{}
	for i, f := range files {
		at := joinIndex("files", i)
		name := f.Name
		switch {
		case name == "":
			name = path.Base(strings.TrimRight(f.Source, "/"))
		case path.IsAbs(name) || strings.HasPrefix(path.Clean(name), ".."):
			v.report(at, "", "name %s leads out of the work directory", quote(name))
			continue
		case path.Clean(name) == ".":
			v.report(at, "", "name %s is the work directory itself", quote(name))
			continue
		}
		if strings.ContainsFunc(f.Source+name, unicode.IsControl) {
			v.report(at, "", "holds a control character: %s", quote(f.String()))
		}
		if old, taken := from[path.Clean(name)]; taken {
			v.report(at, "give one another name: "+f.Source+"::OTHERNAME", "%s and %s would both be called %s in the work directory", old.Source, f.Source, quote(name))
		}
		from[path.Clean(name)] = f
	}
}

// env checks names. Everything that begins with MUSTER_ is told to tasks by
// muster and would be overwritten.
func (v *validator) env(at string, env map[string]EnvValue) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		p := joinPath(at, name)
		switch l, odd := findLookalike(name); {
		case odd:
			v.report(p, l.say(name), "%s is no name of a variable", quote(name))
		case !envName().MatchString(name):
			v.report(p, "letters, digits and _, not beginning with a digit", "%s is no name of a variable", quote(name))
		case strings.HasPrefix(name, "MUSTER_"):
			v.report(p, "choose another name", "variables that begin with MUSTER_ are set by muster itself")
		}
		if strings.Contains(env[name].Value, "\x00") {
			v.report(p, "", "holds a NUL character, which no environment can")
		}
	}
}

// names keeps role names usable in variables and on the command line, and the
// variables of two roles apart.
func (v *validator) names(roles Roles) {
	taken := map[string]string{}
	for _, r := range roles {
		p := joinPath("roles", r.Name)
		switch l, odd := findLookalike(r.Name); {
		case odd:
			v.report(p, l.say(r.Name), "%s is no name for a role", quote(r.Name))
		case !roleName().MatchString(r.Name):
			v.report(p, "letters, digits, - and _, beginning with a letter", "%s is no name for a role", quote(r.Name))
		case len(r.Name) > longestName:
			v.report(p, "", "a name may have %d letters, %s has %d", longestName, quote(r.Name), len(r.Name))
		}
		variable := strings.ToUpper(strings.ReplaceAll(r.Name, "-", "_"))
		if other, ok := taken[variable]; ok {
			v.report(p, "give one another name", "%s and %s are the same in the name of a variable: %s", quote(other), quote(r.Name), variable)
		}
		taken[variable] = r.Name
	}
}

func (v *validator) role(name string, r *Role) {
	at := joinPath("roles", name)
	if r.Command.IsZero() && DefaultCommand(name).IsZero() {
		v.report(at+".command", "write command: here, or at the top level for every role", "missing: nothing says what to run")
	}
	if strings.Contains(r.Command.Shell+strings.Join(r.Command.Argv, ""), "\x00") {
		v.report(at+".command", "", "holds a NUL character, which no command can")
	}
	if len(r.Command.Argv) > 0 && r.Command.Argv[0] == "" {
		v.report(at+".command", "the first item is the program", "begins with an empty item")
	}
	v.negative(at+".procs", float64(r.Procs))
	v.negative(at+".gpus", float64(r.GPUs))
	v.negative(at+".memory", float64(r.Memory))
	v.negative(at+".stop_grace", float64(r.StopGrace))
	v.negative(at+".instances", float64(min(r.Instances.Min, r.Instances.Max)))
	if r.Instances.Min > r.Instances.Max {
		v.report(at+".instances", "", "%v runs backwards", r.Instances)
	}
	if math.IsNaN(r.CPUs) || !v.negative(at+".cpus", r.CPUs) && r.CPUs > 0 && r.CPUs < 0.001 {
		v.report(at+".cpus", "", "%v is less than a thousandth of a processor", r.CPUs)
	}
	if r.GPUs > 0 && r.Procs > r.GPUs {
		v.report(at+".procs", "write as many GPUs as processes, or gpus: 0 and choose devices in the program",
			"%d processes for %d GPUs of a task: two would share a device without having asked for it", r.Procs, r.GPUs)
	}
	v.env(at+".env", r.Env)
	v.ports(at+".ports", r.Ports)
}

func (v *validator) ports(at string, ports map[string]int) {
	numbers, variables := map[int]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(ports)) {
		p, number := joinPath(at, name), ports[name]
		if !roleName().MatchString(name) {
			v.report(p, "letters, digits, - and _, beginning with a letter", "%s is no name for a port", quote(name))
		}
		if number < 0 || number > 65535 {
			v.report(p, "ports go from 1 to 65535; 0 takes a free one", "%d is no port", number)
		}
		if other, taken := numbers[number]; taken && number != 0 {
			v.report(p, "write 0 for any free port", "%d is already the port %s of this role", number, quote(other))
		}
		variable := "MUSTER_PORT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if other, taken := variables[variable]; taken {
			v.report(p, "give one another name", "%s and %s would share the variable %s", quote(other), quote(name), variable)
		}
		numbers[number], variables[variable] = name, name
	}
}

// signals that a task can be sent as a warning. KILL and STOP cannot be caught.
var signals = []string{"HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM", "CONT", "TSTP", "TTIN", "TTOU", "URG", "WINCH", "IO", "PWR", "XCPU", "XFSZ", "VTALRM", "PROF"}

// SignalName is the canonical name of a signal a task can catch: USR1 for
// SIGUSR1 and usr1. It is empty for anything else.
func SignalName(text string) string {
	name := strings.TrimPrefix(strings.ToUpper(text), "SIG")
	if slices.Contains(signals, name) {
		return name
	}
	return ""
}

func (v *validator) signal(at, text string) {
	switch name := strings.TrimPrefix(strings.ToUpper(text), "SIG"); {
	case text == "":
		v.report(at, "write {signal: USR1, before: 60s}", "names no signal")
	case name == "KILL" || name == "STOP":
		v.report(at, "choose one that a program can handle, such as USR1", "%s cannot be caught by a program", name)
	case SignalName(text) == "":
		hint := "write a name such as USR1 or TERM"
		if _, err := strconv.Atoi(text); err == nil {
			hint = "numbers differ between machines; " + hint
		}
		v.report(at, hint, "%s is no signal%s", quote(text), didYouMean(name, signals))
	}
}
