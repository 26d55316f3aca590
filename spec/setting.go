package spec

import (
	"encoding"
	"reflect"
	"sync"
)

// Setting is one thing that a job file can say. A * in the path stands for a
// name that the author chooses; NAME for that of a role.
type Setting struct {
	Path string `json:"path"`
	Type string `json:"type"`
	Doc  string `json:"doc"`
}

// Settings lists everything that a job file can say, in the order of the
// types. Settings of a role are listed once, as roles.NAME.KEY.
var Settings = sync.OnceValue(func() []Setting {
	var out []Setting
	role := map[string]bool{}
	for _, f := range fieldsOf(reflect.TypeFor[Role]()) {
		role[f.name] = true
	}
	for _, f := range fieldsOf(jobType) {
		switch {
		case f.name == "roles":
			for _, inner := range fieldsOf(reflect.TypeFor[Role]()) {
				out = addSetting(out, "roles.NAME."+inner.name, inner)
			}
		case !role[f.name]:
			out = addSetting(out, f.name, f)
		}
	}
	return out
})

func addSetting(out []Setting, path string, f field) []Setting {
	out = append(out, Setting{path, typeName(f.typ), f.doc})
	t := f.typ
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Slice {
		t, path = t.Elem(), path+"[0]"
	}
	if t.Kind() == reflect.Map && longForms[t.Elem()] != nil {
		t, path = t.Elem(), path+".*"
	}
	if long, ok := longForms[t]; ok {
		t = long
	}
	if t.Kind() == reflect.Struct {
		for _, inner := range fieldsOf(t) {
			out = addSetting(out, path+"."+inner.name, inner)
		}
	}
	return out
}

// typeName is what a setting takes, for people.
func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[Size]():
		return "size"
	case reflect.TypeFor[Duration]():
		return "duration"
	case reflect.TypeFor[Count]():
		return "number or range"
	case reflect.TypeFor[Failures]():
		return "number or percentage"
	case reflect.TypeFor[Command]():
		return "string or list"
	case reflect.TypeFor[EnvValue]():
		return "text or {expand}"
	case reflect.TypeFor[Workdir]():
		return "path, {path, in_place} or none"
	case reflect.TypeFor[File]():
		return "SOURCE[::NAME][#archive] or {source, name, archive}"
	case reflect.TypeFor[Python]():
		return "interpreter or mapping"
	case reflect.TypeFor[After]():
		return "role or {role, is}"
	case reflect.TypeFor[Progress]():
		return "true, false or {patterns}"
	case reflect.TypeFor[Linger]():
		return "duration or {for, then}"
	case reflect.TypeFor[People]():
		return "people"
	}
	if w, ok := reflect.Zero(t).Interface().(worded); ok && !isText(t) {
		return joinWords(w.words())
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Map:
		return "mapping of NAME to " + typeName(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Float64:
		return "number"
	case reflect.Struct:
		return "mapping"
	case reflect.Interface:
		return "anything"
	}
	return "text"
}

func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func joinWords(words []string) string {
	s := words[0]
	for i, w := range words[1:] {
		if i == len(words)-2 {
			s += " or " + w
		} else {
			s += ", " + w
		}
	}
	return s
}
