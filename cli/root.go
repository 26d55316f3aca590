package cli

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-project/muster/spec"
)

// verbs are all commands, in the order of the help text.
func (e *Env) verbs() []*cobra.Command {
	return []*cobra.Command{
		e.runCommand(), e.submitCommand(), e.planCommand(),
		e.psCommand(), e.statusCommand(), e.logsCommand(), e.eventsCommand(), e.topCommand(), e.explainCommand(),
		e.waitCommand(), e.stopCommand(), e.signalCommand(), e.requeueCommand(),
		e.configCommand(), e.doctorCommand(), e.frameworksCommand(), e.serveCommand(),
		e.versionCommand(), e.completionCommand(),
		e.coordinatorCommand(), e.executorCommand(), e.linesCommand(),
	}
}

// unsorted keeps our order of the verbs; cobra has only a global switch for that.
var unsorted sync.Once

// groups order the verbs in the help text.
var groups = []*cobra.Group{
	{ID: "start", Title: "Start a job:"},
	{ID: "watch", Title: "Watch jobs:"},
	{ID: "steer", Title: "Steer jobs:"},
	{ID: "site", Title: "This machine:"},
}

// Run executes one command line and returns its exit status. It is the only
// entry of the package.
func Run(env Env) int {
	e := &env
	// On a node of a cluster a build without the small binary is given its name.
	if len(e.Args) > 0 && filepath.Base(e.Args[0]) == "executor" {
		e.Args = slices.Insert(slices.Clone(e.Args), 1, "executor")
	}
	unsorted.Do(func() { cobra.EnableCommandSorting = false })
	root := &cobra.Command{
		Use: "muster", DisableFlagsInUseLine: true,
		Short: "run distributed deep-learning jobs on what you already have",
		Long:  "muster runs distributed deep-learning jobs on this machine or on a cluster.",
		Example: "  muster run -N 2 --framework pytorch -- python train.py --epochs 3\n" +
			"  muster run job.yaml\n" +
			"  muster ps",
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return cmd.Help()
		},
	}
	root.AddGroup(groups...)
	root.AddCommand(e.verbs()...)
	root.SetHelpCommand(helpCommand(root))
	root.SetUsageTemplate(usageTemplate)
	root.SetArgs(e.Args[min(1, len(e.Args)):])
	root.SetIn(e.Stdin)
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	root.SetGlobalNormalizationFunc(normalizeFlag)
	root.SetFlagErrorFunc(e.flagError)
	root.PersistentFlags().BoolP("help", "h", false, "show help for a verb")
	_ = root.PersistentFlags().MarkHidden("help")
	if err := unknownVerb(root, e.Args[min(1, len(e.Args)):]); err != nil {
		return e.report(err)
	}
	return e.report(root.ExecuteContext(context.Background()))
}

// usageTemplate is the help text of a verb below its description.
const usageTemplate = `Usage:{{if not .HasAvailableSubCommands}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} VERB …{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{range $group := .Groups}}

{{.Title}}{{range $cmds}}{{if and (eq .GroupID $group.ID) .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}

muster VERB --help shows more about a verb.{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
`

// unknownVerb looks for the verb before cobra does: cobra would first complain
// about the flags of a verb that is only misspelt.
func unknownVerb(root *cobra.Command, args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "__complete") || args[0] == "help" {
		return nil
	}
	var known []string
	for _, c := range root.Commands() {
		if c.Name() == args[0] {
			return nil
		}
		if !c.Hidden {
			known = append(known, c.Name())
		}
	}
	f := faultf(exitUsage, "%s: no such verb", args[0])
	if looksLikeJobFile(args[0]) {
		return f.hint("to run a job file: muster run %s", args[0])
	}
	if own := foreignVerbs[args[0]]; own != "" {
		return f.hint("muster's word for it is: muster %s", own)
	}
	if near := spec.Suggest(args[0], known); near != "" {
		return f.hint("did you mean %s?", near)
	}
	return f.hint("muster help lists the verbs")
}

// foreignVerbs are what people type who come from other tools.
var foreignVerbs = map[string]string{
	"list": "ps", "ls": "ps", "jobs": "ps", "squeue": "ps", "qstat": "ps", "bjobs": "ps",
	"kill": "stop", "cancel": "stop", "delete": "stop", "rm": "stop", "scancel": "stop", "qdel": "stop", "bkill": "stop",
	"describe": "status", "show": "status", "info": "status", "get": "status",
	"tail": "logs -f", "attach": "logs -f", "watch": "top",
	"sbatch": "submit", "qsub": "submit", "bsub": "submit", "apply": "submit", "create": "submit",
	"srun": "run", "exec": "run --", "torchrun": "run -- torchrun", "accelerate": "run -- accelerate", "deepspeed": "run -- deepspeed",
	"mpirun": "run -- mpirun", "mpiexec": "run -- mpiexec", "horovodrun": "run -- horovodrun",
	"check": "doctor", "daemon": "serve", "server": "serve",
}

func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [VERB]", Short: "show help for a verb", Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := unknownVerb(root, args); err != nil {
				return err
			}
			target, _, err := root.Find(args)
			if err != nil {
				return fault(exitUsage, err)
			}
			target.InitDefaultHelpFlag()
			return target.Help()
		},
	}
}

// normalizeFlag accepts underscores for dashes and the words of other systems
// that mean exactly the same.
func normalizeFlag(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	name = strings.ReplaceAll(name, "_", "-")
	if own, ok := flagAlias[name]; ok {
		name = own
	}
	return pflag.NormalizedName(name)
}

var flagAlias = map[string]string{
	"nnodes":        "nodes",
	"num-executors": "nodes",
	"mem":           "memory",
	"partition":     "queue",
}

// foreignFlags are flags of other systems that we know but do not take, because
// they mean something slightly different; the hint names our word.
var foreignFlags = map[string]string{
	"nproc-per-node": "--procs N is the number of processes of each task",
	"ntasks":         "--nodes N is the number of tasks",
	"num-workers":    "--role worker=N says how many tasks a role has",
	"master-port":    "muster chooses free ports and tells the tasks",
	"master-addr":    "muster chooses the rank 0 and tells the tasks",
	"rdzv-endpoint":  "muster does the rendezvous itself",
	"standalone":     "--on local runs on this machine",
	"job-name":       "--name NAME names the job",
	"output":         "muster keeps all logs: muster logs",
	"follow":         "run follows by itself; logs takes -f",
	"wait":           "run waits by itself; muster wait JOB waits for a submitted one",
	"namespace":      "--queue names the queue",
	"array":          "muster has no job arrays yet",
}

// flagError turns pflag's words into ours.
func (e *Env) flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		return e.unknownFlag(cmd, unknown)
	case errors.As(err, &missing):
		return faultf(exitUsage, "%s: needs a value", flagName(missing.GetFlag())).hint(usageHint(cmd))
	case errors.As(err, &invalid):
		return faultf(exitUsage, "%s: %q: %w", flagName(invalid.GetFlag()), invalid.GetValue(), plainNumberError(invalid.Unwrap())).
			hint(usageHint(cmd))
	}
	return fault(exitUsage, err).hint(usageHint(cmd))
}

func (e *Env) unknownFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
	name, dashes := err.GetSpecifiedName(), "--"
	if err.GetSpecifiedShortnames() != "" {
		dashes = "-"
	}
	f := faultf(exitUsage, "%s%s: %s has no such flag", dashes, name, cmd.Name())
	if strings.ContainsAny(name, "\u2010\u2011\u2012\u2013\u2014\u2015") {
		return f.hint("the text holds a typographic dash; type an ASCII -")
	}
	if line := e.withSeparator(cmd); line != "" {
		return f.hint("the command of a job goes after --: %s", line)
	}
	if own := foreignFlags[string(normalizeFlag(nil, name))]; own != "" && dashes == "--" {
		return f.hint(own)
	}
	var known []string
	cmd.Flags().VisitAll(func(fl *pflag.Flag) {
		if !fl.Hidden {
			known = append(known, fl.Name)
		}
	})
	if near := spec.Suggest(string(normalizeFlag(nil, name)), known); near != "" && dashes == "--" {
		return f.hint("did you mean --%s?", near)
	}
	return f.hint(usageHint(cmd))
}

func flagName(f *pflag.Flag) string { return "--" + f.Name }

func usageHint(cmd *cobra.Command) string { return cmd.CommandPath() + " --help shows the flags" }

// plainNumberError takes Go's own words out of a number's parse error.
func plainNumberError(err error) error {
	text := err.Error()
	if strings.HasPrefix(text, "strconv.") && strings.Contains(text, "parsing ") {
		if strings.HasSuffix(text, "value out of range") {
			return errors.New("the number is too large")
		}
		return errors.New("not a number")
	}
	return err
}

// count checks the number of arguments and says what is expected.
func count(low, high int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < low:
			return faultf(exitUsage, "%s: %s missing", cmd.Name(), what).hint("usage: %s", cmd.UseLine())
		case high >= 0 && len(args) > high && high == 0:
			return faultf(exitUsage, "%s: %s takes no arguments", args[0], cmd.Name()).hint("usage: %s", cmd.UseLine())
		case high >= 0 && len(args) > high:
			return faultf(exitUsage, "%s: one %s is enough", args[high], what).hint("usage: %s", cmd.UseLine())
		}
		return nil
	}
}

// choice checks a flag that takes one of few words.
func choice(flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	f := faultf(exitUsage, "%s %s: takes %s", flag, value, strings.Join(words, ", "))
	if near := spec.Suggest(value, words); near != "" {
		f.hint("did you mean %s?", near)
	}
	return f
}

func looksLikeJobFile(s string) bool {
	for _, ext := range []string{".yaml", ".yml", ".json"} {
		if strings.HasSuffix(s, ext) {
			return true
		}
	}
	return false
}

// quoted says that a word needs no quoting in a shell.
func quoted(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if a == "" || strings.ContainsFunc(a, func(r rune) bool { return !strings.ContainsRune(plainRunes, r) && r < 128 }) {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

const plainRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,@+%"

// jobWord is the usage text of a job argument.
const jobWord = "JOB is an id, the first letters of one, or a job's name; without it the newest job is taken"
