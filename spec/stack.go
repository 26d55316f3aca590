package spec

import (
	"encoding/json"
	"reflect"
	"slices"
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
	unread          bool // a file is no YAML: what it says is unknown
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
	t, p := typeAt(reflect.TypeFor[Job](), keys)
	if p != nil {
		p.File = name
		s.problems = append(s.problems, *p)
		return
	}
	r := &reader{}
	r.value(value, reflect.New(t).Elem(), path)
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

// longForms are the types whose mapping form has fields of its own.
var longForms = map[reflect.Type]reflect.Type{
	reflect.TypeFor[Workdir]():  reflect.TypeFor[workdirForm](),
	reflect.TypeFor[File]():     reflect.TypeFor[fileForm](),
	reflect.TypeFor[EnvValue](): reflect.TypeFor[envForm](),
}

type envForm struct {
	Expand string `yaml:"expand" doc:"text whose $VAR are replaced on the task's node"`
}

// typeAt finds the type of a path, or says which of its keys is unknown.
func typeAt(t reflect.Type, keys []string) (reflect.Type, *Problem) {
	if len(keys) == 0 {
		return nil, &Problem{Text: "no path", Hint: "write NAME=VALUE, as in --set roles.worker.cpus=4"}
	}
	for i, key := range keys {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if long, ok := longForms[t]; ok {
			t = long
		}
		switch {
		case t == reflect.TypeFor[Roles]():
			t = reflect.TypeFor[Role]()
		case t.Kind() == reflect.Struct && len(fieldsOf(t)) > 0:
			f, ok := fieldsOf(t).get(key)
			if !ok {
				text, hint := unknownField(key, fieldsOf(t).names())
				return nil, &Problem{Text: text, Hint: hint}
			}
			t = f.typ
		case t.Kind() == reflect.Map:
			t = t.Elem()
		case t.Kind() == reflect.Slice:
			if n, err := strconv.Atoi(key); err != nil || n < 0 {
				return nil, &Problem{Text: quote(key) + " is no index", Hint: "items of a list are counted from 0: " + strings.Join(keys[:i], ".") + ".0"}
			}
			t = t.Elem()
		case t == reflect.TypeFor[Command]():
			t = reflect.TypeFor[string]()
		case t.Kind() == reflect.Interface:
		default:
			return nil, &Problem{Text: strings.Join(keys[:i], ".") + " has no fields, so no " + quote(key)}
		}
	}
	return t, nil
}

// merge lays upper over lower. Mappings whose keys stand for themselves (the
// job, its roles, env, ports, native, timeout, logs) are merged key by key;
// everything else is one value and replaced whole, lists too.
func merge(lower, upper *node, t reflect.Type) *node {
	if lower == nil || lower.kind == null {
		return upper
	}
	if upper == nil {
		return lower
	}
	if lower.kind != mapping || upper.kind != mapping || !mergeable(t) {
		return upper
	}
	out := lower
	for _, e := range upper.entries {
		inner := e.value
		if old := out.get(e.key); old != nil {
			inner = merge(old, e.value, innerType(t, e.key))
		}
		out = out.with(e.key, e.at, inner)
	}
	return out
}

var mergedTypes = []reflect.Type{reflect.TypeFor[Job](), reflect.TypeFor[Role](), reflect.TypeFor[Roles](), reflect.TypeFor[Timeout](), reflect.TypeFor[Logs]()}

func mergeable(t reflect.Type) bool {
	return t != nil && (slices.Contains(mergedTypes, t) || t.Kind() == reflect.Map || t.Kind() == reflect.Interface)
}

func innerType(t reflect.Type, key string) reflect.Type {
	inner, p := typeAt(t, []string{key})
	if p != nil {
		return nil
	}
	return inner
}

// put sets the value at keys, making the mappings and list items on the way.
// A mapping is laid over one that is there.
func put(n *node, t reflect.Type, keys []string, value *node) (*node, string) {
	at := value.at
	if len(keys) == 0 {
		if mergeable(t) {
			return merge(n, value, t), ""
		}
		return value, ""
	}
	inner := innerType(t, keys[0])
	if t != reflect.TypeFor[Roles]() && t.Kind() == reflect.Slice || t == reflect.TypeFor[Command]() {
		return putItem(n, inner, keys, value)
	}
	if n == nil || n.kind != mapping {
		n = &node{kind: mapping, at: at}
	}
	v, complaint := put(n.get(keys[0]), inner, keys[1:], value)
	if complaint != "" {
		return n, complaint
	}
	return n.with(keys[0], at, v), ""
}

func putItem(n *node, t reflect.Type, keys []string, value *node) (*node, string) {
	out := node{kind: list, at: value.at}
	if n != nil && n.kind == list {
		out.items = slices.Clone(n.items)
	}
	i, _ := strconv.Atoi(keys[0])
	if i > len(out.items) {
		return n, "there is no item " + keys[0] + ": the list has " + strconv.Itoa(len(out.items))
	}
	if i == len(out.items) {
		out.items = append(out.items, nil)
	}
	v, complaint := put(out.items[i], t, keys[1:], value)
	out.items[i] = v
	return &out, complaint
}
