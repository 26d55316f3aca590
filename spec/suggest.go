package spec

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Suggest returns the known word that word was probably meant to be, or "".
func Suggest(word string, known []string) string {
	if word == "" {
		return ""
	}
	plain := canonical(word)
	best, distance := "", 1+max(1, utf8.RuneCountInString(plain)/3)
	for _, k := range known {
		d := levenshtein.ComputeDistance(plain, canonical(k))
		if d == 2 && sameLetters(plain, canonical(k)) {
			d = 1 // two letters have changed places
		}
		if d < distance && d < utf8.RuneCountInString(k) {
			best, distance = k, d
		}
	}
	return best
}

func sameLetters(a, b string) bool {
	x, y := []rune(a), []rune(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

func canonical(word string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ToLower(toASCII(word)), "-", "_"))
}

// didYouMean is « (did you mean "x"?)», or nothing.
func didYouMean(word string, known []string) string {
	if s := Suggest(word, known); s != "" {
		return fmt.Sprintf(" (did you mean %q?)", s)
	}
	return ""
}

// elsewhere maps the words of other systems to ours, for people who come from
// there. Only hints are made of it.
var elsewhere = map[string]string{
	"mem": "memory", "ram": "memory", "cores": "cpus", "vcores": "cpus", "ncpus": "cpus",
	"nodes": "instances", "nnodes": "instances", "replicas": "instances", "num_nodes": "instances", "count": "instances", "tasks": "instances",
	"nproc_per_node": "procs", "processes": "procs", "gres": "gpus",
	"cmd": "command", "run": "command", "script": "command", "entrypoint": "command", "args": "command", "executes": "command",
	"environment": "env", "envs": "env", "variables": "env",
	"cwd": "workdir", "dir": "workdir", "working_dir": "workdir", "src_dir": "workdir",
	"time": "timeout.run", "walltime": "timeout.run", "time_limit": "timeout.run",
	"partition": "queue", "retries": "restarts", "max_restarts": "restarts", "backoff_limit": "restarts", "depends_on": "after",
	"backend": "on", "cluster": "on", "container": "image", "docker_image": "image", "tracked": "wait", "resources": "files",
}

// unknownField is the text and hint for a key that its place does not have.
func unknownField(key string, known []string) (text, hint string) {
	text = "unknown field " + quote(key) + didYouMean(key, known)
	if l, ok := findLookalike(key); ok {
		hint = l.say(key)
	} else if Suggest(key, known) == "" {
		hint = placeHint(canonical(key), known)
	}
	return text, hint
}

// placeHint says where a key that is known elsewhere belongs.
func placeHint(key string, known []string) string {
	if ours, ok := elsewhere[key]; ok && slices.Contains(known, strings.Split(ours, ".")[0]) {
		return "it is called " + ours + " here"
	}
	for _, s := range Settings() {
		parent, last := "", s.Path
		if i := strings.LastIndexByte(s.Path, '.'); i >= 0 {
			parent, last = s.Path[:i], s.Path[i+1:]
		}
		if last != key || strings.Contains(s.Path, "*") {
			continue
		}
		switch {
		case parent == "":
			return key + " belongs at the top level of the job file"
		case strings.HasPrefix(parent, "roles."):
			return key + " belongs to a role: " + s.Path
		}
		return key + " belongs under " + parent
	}
	if len(known) <= 12 {
		return "known here: " + strings.Join(known, ", ")
	}
	return ""
}
