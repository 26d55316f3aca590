package spec

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// joinPath appends a key to a path; keys with a dot are quoted.
func joinPath(path, key string) string {
	if key == "" || strings.ContainsAny(key, ".\"") {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// joinIndex appends the index of a list's element to a path.
func joinIndex(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// splitPath undoes joinPath and joinIndex; an index may be written as files.0
// too. An unclosed quote is taken as it is.
func splitPath(path string) []string {
	var out []string
	for path != "" {
		if path[0] == '"' {
			if q, err := strconv.QuotedPrefix(path); err == nil {
				key, _ := strconv.Unquote(q)
				out = append(out, key)
				path = strings.TrimPrefix(path[len(q):], ".")
				continue
			}
		}
		key, rest, _ := strings.Cut(path, ".")
		path = rest
		name, index, ok := strings.Cut(key, "[")
		if out = append(out, name); ok {
			out = append(out, strings.Split(strings.TrimSuffix(index, "]"), "][")...)
		}
	}
	return out
}

// longForms are the types whose mapping form has fields of its own.
var longForms = map[reflect.Type]reflect.Type{
	reflect.TypeFor[Workdir]():  reflect.TypeFor[workdirForm](),
	reflect.TypeFor[File]():     reflect.TypeFor[fileForm](),
	reflect.TypeFor[EnvValue](): reflect.TypeFor[envForm](),
	reflect.TypeFor[Progress](): reflect.TypeFor[progressForm](),
}

type envForm struct {
	Expand string `yaml:"expand" doc:"text whose $VAR are replaced on the task's node"`
}

// fieldAt finds what a path leads to, or says which of its keys is unknown. An
// item of a list or of a map has a type and nothing else.
func fieldAt(t reflect.Type, keys []string) (field, *Problem) {
	var at field
	if len(keys) == 0 {
		return at, &Problem{Text: "no path", Hint: "write NAME=VALUE, as in --set roles.worker.cpus=4"}
	}
	for i, key := range keys {
		at = field{}
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
				return at, &Problem{Text: text, Hint: hint}
			}
			t, at = f.typ, f
		case t.Kind() == reflect.Map:
			t = t.Elem()
		case t.Kind() == reflect.Slice:
			if n, err := strconv.Atoi(key); err != nil || n < 0 {
				return at, &Problem{Text: quote(key) + " is no index", Hint: "items of a list are counted from 0: " + strings.Join(keys[:i], ".") + ".0"}
			}
			t = t.Elem()
		case t == reflect.TypeFor[Command]():
			t = reflect.TypeFor[string]()
		case t.Kind() == reflect.Interface:
		default:
			return at, &Problem{Text: strings.Join(keys[:i], ".") + " has no fields, so no " + quote(key)}
		}
	}
	at.typ = t
	return at, nil
}

// merge lays upper over lower. Mappings whose keys stand for themselves (the
// job, its roles, env, ports, native, timeout, logs, acls) are merged key by key;
// everything else is one value and replaced whole, lists too.
func merge(lower, upper *node, t reflect.Type) *node {
	if lower == nil || lower.kind == null {
		return upper
	}
	if upper == nil || upper.kind == null && t == reflect.TypeFor[Role]() { // "worker:" alone says nothing
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

var mergedTypes = []reflect.Type{reflect.TypeFor[Job](), reflect.TypeFor[Role](), reflect.TypeFor[Roles](), reflect.TypeFor[Timeout](), reflect.TypeFor[Logs](), reflect.TypeFor[ACLs]()}

func mergeable(t reflect.Type) bool {
	return t != nil && (slices.Contains(mergedTypes, t) || t.Kind() == reflect.Map || t.Kind() == reflect.Interface)
}

func innerType(t reflect.Type, key string) reflect.Type {
	inner, p := fieldAt(t, []string{key})
	if p != nil {
		return nil
	}
	return inner.typ
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
