package command

import (
	"path"
	"slices"
	"strings"
)

// prefix is a program that executes the words behind it.
type prefix struct {
	verb   string // the word by which it does so, if it has several
	values string // its options whose value is a word of its own
	own    int    // words of its own behind the options
}

var prefixes = map[string]prefix{
	"command":    {},
	"exec":       {values: "-a"},
	"env":        {values: "-u --unset -C --chdir"}, // and assignments
	"nohup":      {},
	"setsid":     {},
	"time":       {values: "-f --format -o --output"},
	"timeout":    {values: "-s --signal -k --kill-after", own: 1},
	"nice":       {values: "-n --adjustment"},
	"ionice":     {values: "-c --class -n --classdata"},
	"chrt":       {values: "-T --sched-runtime -P --sched-period -D --sched-deadline", own: 1},
	"taskset":    {own: 1},
	"numactl":    {values: "-i --interleave -p --preferred -m --membind -C --physcpubind -N --cpunodebind"},
	"stdbuf":     {values: "-i --input -o --output -e --error"},
	"catchsegv":  {},
	"conda":      {verb: "run", values: "-n --name -p --prefix --cwd"},
	"mamba":      {verb: "run", values: "-n --name -p --prefix --cwd"},
	"micromamba": {verb: "run", values: "-n --name -p --prefix --cwd -a --attach -e --env -r --root-prefix"},
	"uv": {verb: "run", values: "--extra --group --only-group --no-group --env-file --with --with-editable --with-requirements " +
		"--index --default-index -i --index-url -p --python --package --directory --project"},
	"poetry": {verb: "run"},
	"pipenv": {verb: "run"},
	"pdm":    {verb: "run"},
}

// Program is the place of the program's name behind what may stand before it,
// as in "env A=B timeout 60 program"; -1 where that cannot be told.
func Program(words []Word) int {
	i := 0
	for i < len(words) {
		if !words[i].Known {
			return -1
		}
		name := path.Base(words[i].Text)
		p, ok := prefixes[name]
		if !ok || name != words[i].Text && !path.IsAbs(words[i].Text) { // ./time is one's own
			return i
		}
		if i++; p.verb != "" {
			if i == len(words) || !words[i].Known || words[i].Text != p.verb {
				return i - 1 // its own program
			}
			i++
		}
		i = p.skip(words, i)
		for name == "env" && i < len(words) && words[i].assigns() {
			i++
		}
	}
	return -1
}

// skip goes past the options and the words that belong to a prefix itself.
func (p prefix) skip(words []Word, i int) int {
	for i < len(words) && words[i].Known && strings.HasPrefix(words[i].Text, "-") {
		text := words[i].Text
		i++
		if text == "--" {
			break
		}
		if slices.Contains(strings.Fields(p.values), text) {
			i++
		}
	}
	return i + p.own
}

// assigns says that a word behind env is NAME=VALUE, whatever the value holds.
func (w Word) assigns() bool {
	name, _, ok := strings.Cut(w.String(), "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// Script says which word of a list is the text of a shell, as in "bash -c TEXT".
func Script(argv []string) (int, bool) {
	i := Program(Literals(argv...))
	if i < 0 || !slices.Contains([]string{"sh", "bash", "dash"}, path.Base(argv[i])) {
		return 0, false
	}
	found := false
	for i++; i < len(argv) && len(argv[i]) > 1 && (argv[i][0] == '-' || argv[i][0] == '+'); i++ {
		switch option := argv[i]; {
		case option == "--":
			return i + 1, found && i+1 < len(argv)
		case option == "--rcfile" || option == "--init-file":
			i++
		case !strings.HasPrefix(option, "--"):
			found = found || option[0] == '-' && strings.Contains(option, "c")
			i += strings.Count(strings.ToLower(option), "o") // -euo pipefail
		}
	}
	return i, found && i < len(argv)
}
