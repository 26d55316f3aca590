package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-project/muster/spec"
)

// jobFlags are the flags of run, submit and plan that describe a job. Each that
// was given becomes an entry of the last layer over the job file.
type jobFlags struct {
	on        string
	name      string
	nodes     string
	procs     int
	roles     []string
	cpus      float64
	memory    string
	gpus      int
	gres      string
	framework string
	python    string
	image     string
	queue     string
	priority  int
	time      string
	env       []string
	files     []string
	workdir   string
	restarts  int
	sets      []string
	native    []string
}

func (f *jobFlags) add(cmd *cobra.Command) {
	s := cmd.Flags()
	s.SortFlags = false
	s.StringVar(&f.on, "on", "", "where to run: BACKEND or BACKEND:SITE (default local)")
	s.StringVar(&f.name, "name", "", "name of the job")
	s.StringVarP(&f.nodes, "nodes", "N", "", "tasks of the one role: 4, or 3..4 for an elastic job")
	s.IntVar(&f.procs, "procs", 0, "processes of each task")
	s.StringArrayVar(&f.roles, "role", nil, "tasks by role: worker=4,ps=2")
	s.Float64VarP(&f.cpus, "cpus", "c", 0, "processors of each task")
	s.StringVar(&f.memory, "memory", "", "memory of each task: 4GiB")
	s.IntVarP(&f.gpus, "gpus", "G", 0, "GPUs of each task")
	s.StringVar(&f.gres, "gres", "", "GPUs of each task, as gpu:N")
	s.StringVar(&f.framework, "framework", "", "how tasks find each other: muster frameworks lists the names")
	s.StringVar(&f.python, "python", "", "Python of the tasks: an interpreter, a virtual or conda environment, a packed one, or a file of requirements")
	s.StringVar(&f.image, "image", "", "container image")
	s.StringVarP(&f.queue, "queue", "q", "", "queue on the backend")
	s.IntVar(&f.priority, "priority", 0, "higher starts earlier")
	s.StringVarP(&f.time, "time", "t", "", "limit of the run: 90s, 2h, 1-12:00:00")
	s.StringArrayVar(&f.env, "env", nil, "environment of the tasks: NAME=VALUE, or NAME to pass on your own")
	s.StringArrayVar(&f.files, "files", nil, "more files for every task: SOURCE[#NAME]")
	s.StringVar(&f.workdir, "workdir", "", "directory that the tasks run in a copy of")
	s.IntVar(&f.restarts, "restarts", 0, "how often what failed is started again")
	s.StringArrayVar(&f.sets, "set", nil, "any key of the job file: a.b=c")
	s.StringArrayVar(&f.native, "native", nil, "settings passed to the backend as they are: KEY=VALUE")
	_ = s.MarkHidden("gres")
	for name, value := range map[string]string{
		"on": "BACKEND[:SITE]", "nodes": "N", "procs": "N", "role": "ROLE=N", "cpus": "N", "memory": "SIZE", "gpus": "N",
		"framework": "NAME", "python": "PATH", "image": "IMAGE", "queue": "NAME", "time": "DURATION", "env": "NAME=VALUE",
		"files": "SOURCE", "workdir": "DIR", "restarts": "N", "set": "KEY=VALUE", "native": "KEY=VALUE", "name": "NAME", "priority": "N",
	} {
		named(s.Lookup(name), value)
	}
	_ = cmd.RegisterFlagCompletionFunc("framework", cobra.FixedCompletions(frameworkNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("on", cobra.FixedCompletions(backendNames(), cobra.ShellCompDirectiveNoFileComp))
}

// named makes the help text show what kind of value a flag takes.
func named(f *pflag.Flag, what string) {
	f.Value = &namedValue{f.Value, what}
	if f.DefValue == "[]" || f.DefValue == "0" {
		f.DefValue = ""
	}
}

type namedValue struct {
	pflag.Value
	what string
}

func (v *namedValue) Type() string { return v.what }

// apply puts what the flags say into the last layer, in the order in which later
// ones win. Values are read as YAML where a job file would hold a number or a
// size, and taken as they are where it would hold text.
func (f *jobFlags) apply(e *Env, flags *pflag.FlagSet, stack *spec.Stack) error {
	var problems []error
	complain := func(p error) { problems = append(problems, p) }
	given := flags.Changed
	for _, v := range []struct{ flag, path, text string }{
		{"on", "on", f.on}, {"name", "name", f.name}, {"framework", "framework", f.framework}, {"queue", "queue", f.queue},
		{"image", "image", f.image},
	} {
		if given(v.flag) {
			stack.SetValue("--"+v.flag, v.path, v.text)
		}
	}
	for _, v := range []struct{ flag, path, text string }{
		{"nodes", "instances", f.nodes}, {"procs", "procs", strconv.Itoa(f.procs)},
		{"cpus", "cpus", strconv.FormatFloat(f.cpus, 'f', -1, 64)}, {"memory", "memory", f.memory},
		{"gpus", "gpus", strconv.Itoa(f.gpus)}, {"priority", "priority", strconv.Itoa(f.priority)},
		{"time", "timeout.run", f.time}, {"restarts", "restarts", strconv.Itoa(f.restarts)},
	} {
		if given(v.flag) {
			stack.SetFlag("--"+v.flag, v.path, v.text)
		}
	}
	if given("gres") {
		n, err := gresGPUs(f.gres)
		if err != nil {
			complain(err)
		} else {
			stack.SetValue("--gres", "gpus", n)
		}
	}
	for _, list := range f.roles {
		for part := range strings.SplitSeq(list, ",") {
			role, n, ok := strings.Cut(part, "=")
			if !ok || role == "" || n == "" {
				complain(faultf(exitUsage, "--role %s: not ROLE=N", part).hint("as in --role worker=4,ps=2"))
				continue
			}
			stack.SetFlag("--role", "roles."+role+".instances", n)
		}
	}
	if given("python") {
		stack.SetValue("--python", "python", e.pythonValue(f.python))
	}
	if given("workdir") && f.workdir == "none" {
		stack.SetFlag("--workdir", "workdir", "none")
	} else if given("workdir") {
		stack.SetValue("--workdir", "workdir", e.abs(f.workdir))
	}
	if given("files") {
		e.applyFiles(f.files, stack, complain)
	}
	for _, v := range f.env {
		e.applyEnv(v, stack, complain)
	}
	for _, v := range f.native {
		key, value, ok := strings.Cut(v, "=")
		if !ok || key == "" {
			complain(faultf(exitUsage, "--native %s: not KEY=VALUE", v))
			continue
		}
		stack.SetFlag("--native", "native."+backendOf(f.on)+"."+key, value)
	}
	for _, v := range f.sets {
		key, value, ok := strings.Cut(v, "=")
		if !ok || key == "" {
			complain(faultf(exitUsage, "--set %s: not KEY=VALUE", v).hint("as in --set roles.worker.memory=4GiB"))
			continue
		}
		stack.SetFlag("--set", key, value)
	}
	return errors.Join(problems...)
}

// Ends of names that leave no doubt about what is meant, also of a file that is
// torn or missing.
var (
	packed  = []string{".zip", ".tar", ".gz", ".tgz", ".zst", ".bz2", ".xz"}
	recipes = []string{".txt", ".in", ".toml", ".lock", ".yml", ".yaml"}
)

// pythonValue is an interpreter, unless what is there shows that something else
// is meant. On the command line paths start at the working directory.
func (e *Env) pythonValue(word string) any {
	path := e.abs(word)
	key := ""
	switch info, err := os.Stat(path); {
	case strings.Contains(word, "://"):
		return map[string]string{"archive": word}
	case err != nil && slices.Contains(packed, filepath.Ext(path)):
		key = "archive" // which is told to be missing
	case err != nil && slices.Contains(recipes, filepath.Ext(path)):
		key = "requirements"
	case err != nil:
	case info.IsDir() && isDir(filepath.Join(path, "conda-meta")):
		key = "conda"
	case info.IsDir():
		key = "venv"
	case info.Mode()&0o111 != 0 && filepath.Ext(path) != ".txt":
		// A program, whatever it is called.
	case wantArchive(path) == nil, slices.Contains(packed, filepath.Ext(path)):
		key = "archive"
	default:
		key = "requirements"
	}
	switch {
	case key != "":
		return map[string]string{key: path}
	case !strings.ContainsRune(word, '/'):
		return word
	}
	return path
}

func (e *Env) applyFiles(list []string, stack *spec.Stack, complain func(error)) {
	var out []any
	for _, word := range list {
		file, err := spec.ParseFile(word)
		if err != nil {
			complain(faultf(exitUsage, "--files %w", err))
			continue
		}
		if !strings.Contains(file.Source, "://") {
			if file.Name == "" {
				file.Name = filepath.Base(file.Source)
			}
			file.Source = e.abs(file.Source)
		}
		out = append(out, file)
	}
	stack.SetValue("--files", "files", out)
}

func (e *Env) applyEnv(word string, stack *spec.Stack, complain func(error)) {
	name, value, ok := strings.Cut(word, "=")
	if !ok {
		if value, ok = e.Lookup(name); !ok {
			complain(faultf(exitUsage, "--env %s: not set in your environment", name).hint("give a value: --env %s=VALUE", name))
			return
		}
	}
	if name == "" {
		complain(faultf(exitUsage, "--env %s: no name before =", word))
		return
	}
	stack.SetValue("--env", "env."+quotedKey(name), value)
}

// quotedKey makes a name one key of a path.
func quotedKey(name string) string {
	if strings.ContainsAny(name, ".\"[]") {
		return strconv.Quote(name)
	}
	return name
}

// gresGPUs reads Slurm's gpu, gpu:2 and gpu:a100:2.
func gresGPUs(s string) (int, error) {
	parts := strings.Split(s, ":")
	if parts[0] != "gpu" {
		return 0, faultf(exitUsage, "--gres %s: only gpu is known", s).hint("as in --gres gpu:2, or --gpus 2")
	}
	if len(parts) == 1 {
		return 1, nil
	}
	n, err := strconv.Atoi(parts[len(parts)-1])
	if err != nil || n < 0 || len(parts) > 3 {
		return 0, faultf(exitUsage, "--gres %s: not gpu:N", s).hint("as in --gres gpu:2, or --gpus 2")
	}
	return n, nil
}

func backendOf(on string) string {
	name, _, _ := strings.Cut(on, ":")
	if name == "" {
		return "local"
	}
	return name
}
