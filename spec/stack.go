package spec

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// Rank orders the layers of a job: a higher one wins.
type Rank int

// The layers, from the weakest to the strongest.
const (
	BuiltIn Rank = iota
	SiteFile
	UserFile
	JobFile
	Flags
)

// builtIn is what holds where nobody wrote anything else, as far as it does
// not depend on the framework or a role's name.
const builtIn = `{framework: plain, "on": local, stop_grace: 30s, logs: {max_size: 256MiB, keep: 3}}`

// Stack collects the layers of one job. The zero Stack is ready for use. It
// keeps every problem until Resolve, so that all of them are told at once.
type Stack struct {
	site, user, job *node
	flags           []flagValue
	problems        Problems
	unread          bool // a file is no YAML or no mapping: what it says is unknown
}

// flagValue is one value given on the command line.
type flagValue struct {
	name  string
	keys  []string
	value *node
}

// Decode reads one job file strictly, alone and as it is written. The error is
// of type Problems.
func Decode(name string, data []byte) (*Job, error) {
	root, problems := parse(name, data)
	var job Job
	if root != nil {
		problems = append(problems, decodeNode(root, &job)...)
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	return &job, nil
}

// Add puts a file into its layer; a second file of a rank replaces the first.
func (s *Stack) Add(rank Rank, name string, data []byte) {
	root, problems := parse(name, data)
	s.problems = append(s.problems, problems...)
	if root == nil {
		s.unread = true
		return
	}
	r := &reader{}
	switch rank {
	case SiteFile:
		r.value(root, reflect.ValueOf(&Site{}).Elem(), "")
		checkDefaults(r, root.get("defaults"), "defaults")
		checkShares(r, root, "users")
		checkShares(r, root, "queues")
		s.site = root
	case UserFile:
		r.value(root, reflect.ValueOf(&Personal{}).Elem(), "")
		checkDefaults(r, root.get("defaults"), "defaults")
		s.user = root
	case JobFile:
		r.value(root, reflect.ValueOf(&Job{}).Elem(), "")
		s.job = root
	default:
		panic("spec: not a rank for files: " + strconv.Itoa(int(rank)))
	}
	s.problems = append(s.problems, r.problems...)
	s.unread = s.unread || root.kind != mapping
}

// SetFlag sets one value by its path, as --set roles.worker.cpus=4 does. The
// value is read as YAML. The flag's name is for messages.
func (s *Stack) SetFlag(name, path, value string) {
	n, problems := parse(name, []byte(value))
	if problems != nil {
		for _, p := range problems {
			s.problems = append(s.problems, Problem{File: name, Path: path, Text: p.Text, Hint: p.Hint})
		}
		return
	}
	if strings.TrimSpace(value) == "" {
		n = &node{}
	}
	s.set(name, path, n)
}

// SetValue sets one value by its path to what v is in JSON, without reading
// text as YAML: for environment values and the user's command.
func (s *Stack) SetValue(name, path string, v any) {
	data, err := json.Marshal(v)
	if err == nil {
		var n *node
		if n, err = nodeFromJSON(data); err == nil {
			s.set(name, path, n)
			return
		}
	}
	s.problems = append(s.problems, Problem{File: name, Path: path, Text: err.Error()})
}

func (s *Stack) set(name, path string, value *node) {
	at := place{file: name}
	value = value.moved(at)
	keys := splitPath(path)
	f, p := fieldAt(reflect.TypeFor[Job](), keys)
	if p != nil {
		if p.File = name; !strings.HasSuffix(name, path) {
			p.Path = path // the flag is "--set" alone
		}
		s.problems = append(s.problems, *p)
		return
	}
	r := &reader{}
	r.field(value, reflect.New(f.typ).Elem(), f, path)
	s.problems = append(s.problems, r.problems...)
	if len(r.problems) == 0 {
		s.flags = append(s.flags, flagValue{name, keys, value})
	}
}

// moved is n with another place throughout.
func (n *node) moved(at place) *node {
	out := *n
	out.at = at
	out.entries, out.items = nil, nil
	for _, e := range n.entries {
		out.entries = append(out.entries, entry{e.key, at, e.value.moved(at)})
	}
	for _, item := range n.items {
		out.items = append(out.items, item.moved(at))
	}
	return &out
}
