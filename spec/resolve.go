package spec

import (
	"reflect"
	"slices"
	"strings"
)

// Resolved is a job with all its layers merged, normalized and checked.
type Resolved struct {
	Job    *Job
	Values []Value // every value that was written, and where, in the order of the job
	Limits []Limit // what the site, the queue and the user allow
}

// Value is one value and where it came from.
type Value struct {
	Path   string `json:"path"`
	Value  string `json:"value"` // as YAML on one line
	Origin string `json:"origin"`
}

// Resolve merges the layers for a user and checks the result. The error is of
// type Problems and tells everything that is wrong in all layers.
func (s *Stack) Resolve(user string) (*Resolved, error) {
	if s.unread {
		return nil, s.problems.err()
	}
	m := merger{stack: s, user: user}
	root := m.merged()
	res := &Resolved{Job: &Job{}, Limits: m.limits(root.get("queue"))}
	root = capRun(root, res.Limits)
	res.Values = values(nil, root, reflect.TypeFor[Job](), "")

	_ = decodeNode(pushDown(root), res.Job) // its problems are those of the layers
	Normalize(res.Job)
	problems := append(slices.Clone(s.problems), m.problems...)
	problems = append(problems, s.locate(root, unspoiled(Validate(res.Job), problems))...)
	if len(problems) == 0 {
		problems = s.locate(root, checkLimits(res.Job, res.Limits))
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	return res, nil
}

// unspoiled drops what only follows from an earlier problem: a command that
// could not be read is not missing.
func unspoiled(found, earlier Problems) Problems {
	return slices.DeleteFunc(found, func(p Problem) bool {
		inner := p.Path
		if keys := splitPath(p.Path); keys[0] == "roles" && len(keys) > 2 {
			inner = strings.Join(keys[2:], ".")
		}
		missing := strings.HasSuffix(p.Path, ".command")
		return slices.ContainsFunc(earlier, func(e Problem) bool {
			if e.Path == "" {
				return missing
			}
			return within(p.Path, e.Path) || within(inner, e.Path)
		})
	})
}

// within says that path is outer or lies in it.
func within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// values lists the leaves of a merged tree.
func values(out []Value, n *node, t reflect.Type, path string) []Value {
	if n.kind == mapping && mergeable(t) && len(n.entries) > 0 {
		for _, e := range inTypeOrder(n.entries, t) {
			out = values(out, e.value, innerType(t, e.key), joinPath(path, e.key))
		}
		return out
	}
	if path == "" {
		return out
	}
	return append(out, Value{path, flow(n), n.at.String()})
}

// inTypeOrder sorts the keys of a structure as its type does; other mappings
// keep the order of their file.
func inTypeOrder(entries []entry, t reflect.Type) []entry {
	if t.Kind() != reflect.Struct {
		return entries
	}
	names := fieldsOf(t).names()
	return slices.SortedStableFunc(slices.Values(entries), func(a, b entry) int {
		return slices.Index(names, a.key) - slices.Index(names, b.key)
	})
}

// locate gives problems of the merged job their places. What a role took over
// from the top level is found there.
func (s *Stack) locate(root *node, problems Problems) Problems {
	for i, p := range problems {
		if p.File != "" {
			continue
		}
		keys := splitPath(p.Path)
		at, exact := root.locate(keys)
		if !exact && len(keys) > 2 && keys[0] == "roles" {
			top, ok := root.locate(keys[2:])
			if ok || root.get("roles") == nil {
				at = top
				problems[i].Path = strings.Join(keys[2:], ".")
			}
		}
		if at == (place{}) && s.job != nil {
			at.file = s.job.at.file
		}
		problems[i].File, problems[i].Line, problems[i].Column = at.file, at.line, at.column
	}
	return problems
}
