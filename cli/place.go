package cli

import (
	"errors"
	"strings"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// faults gives findings their places in the job file.
func (a *assembly) faults(code int, findings []plan.Finding) []error {
	var out []error
	for _, f := range findings {
		out = append(out, a.fault(code, f.Path, f.Problem, f.Hint))
	}
	return out
}

func (a *assembly) fault(code int, path, problem, hint string) error {
	text, origin := problem, a.written(path)
	if path != "" && origin != commandLine && !sameWord(origin, path) {
		text = path + ": " + text
	}
	if origin != "" && origin != commandLine {
		text = origin + ": " + text
	}
	f := faultf(code, "%s", text)
	if hint != "" {
		f.hint("%s", hint)
	}
	return f
}

// sameWord says that a flag has the name of the key that it sets: --queue for
// queue, --memory for roles.worker.memory, --files for files[0].
func sameWord(origin, path string) bool {
	flag, is := strings.CutPrefix(origin, "--")
	path, _, _ = strings.Cut(path, "[")
	return is && flag == path[strings.LastIndexByte(path, '.')+1:]
}

// written says where a value was written: itself, what is above it, or, for
// what a role took over, the same key at the top level. Built-in values were
// written nowhere.
func (a *assembly) written(path string) string {
	for _, candidate := range []string{path, withoutRole(path)} {
		for candidate != "" {
			for _, v := range a.resolved.Values {
				if (v.Path == candidate || strings.HasPrefix(v.Path, candidate+".") || strings.HasPrefix(v.Path, candidate+"[")) && v.Origin != "built in" {
					return v.Origin
				}
			}
			candidate = candidate[:max(0, strings.LastIndexAny(candidate, ".["))]
			if strings.HasPrefix(candidate, "roles") && strings.Count(candidate, ".") < 2 {
				break // roles.NAME stands in the first line of anything in it
			}
		}
	}
	return ""
}

func withoutRole(path string) string {
	parts := strings.SplitN(path, ".", 3)
	if len(parts) == 3 && parts[0] == "roles" {
		return parts[2]
	}
	return ""
}

// specFault gives the problems of a job file the exit status of what they stand
// in: flags or files.
func (e *Env) specFault(err error) error {
	var list spec.Problems
	if !errors.As(err, &list) {
		return fault(exitJobFile, err)
	}
	var out []error
	for _, p := range list {
		code := exitJobFile
		if strings.HasPrefix(p.File, "--") {
			code = exitUsage
		}
		hint := p.Hint
		p.Hint = ""
		f := fault(code, p)
		if hint != "" {
			f.hint("%s", hint)
		}
		out = append(out, f)
	}
	return errors.Join(out...)
}
