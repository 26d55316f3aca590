package spec

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// reader fills Go values from nodes and goes on after every problem, so that
// all of them are told at once. What a key may hold follows from the type of
// its field; types with a notation of their own implement valued or
// encoding.TextUnmarshaler.
type reader struct {
	problems Problems
}

// valued is a type that may be written in more than one form.
type valued interface {
	read(r *reader, n *node, path string)
}

// worded is a string type with a fixed set of values.
type worded interface {
	words() []string
}

func (r *reader) report(at place, path, text, hint string) {
	r.problems = append(r.problems, at.problem(path, text, hint))
}

// expected reports a value of the wrong kind.
func (r *reader) expected(n *node, path, what, hint string) {
	if n.kind == null {
		r.report(n.at, path, "has no value: "+what+" is expected", cmp.Or(hint, "leave the line out, or write a value"))
		return
	}
	r.report(n.at, path, what+" is expected, not "+n.what(), hint)
}

// value reads n into v, which must be settable.
func (r *reader) value(n *node, v reflect.Value, path string) {
	if n.broken {
		return
	}
	if v.CanAddr() {
		switch t := v.Addr().Interface().(type) {
		case valued:
			t.read(r, n, path)
			return
		case encoding.TextUnmarshaler:
			r.text(n, t, path)
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		r.value(n, p.Elem(), path)
		v.Set(p)
	case reflect.Struct:
		r.structure(n, v, path)
	case reflect.Map:
		r.mapping(n, v, path)
	case reflect.Slice:
		r.list(n, v, path)
	case reflect.Interface:
		r.free(n, v, path)
	case reflect.String:
		r.string(n, v, path)
	case reflect.Bool:
		if !n.isBool() {
			r.expected(n, path, "true or false", "")
			return
		}
		v.SetBool(n.text == "true")
	case reflect.Int:
		if i, ok := r.integer(n, path); ok {
			v.SetInt(int64(i))
		}
	case reflect.Float64:
		if f, ok := r.number(n, path); ok {
			v.SetFloat(f)
		}
	default:
		panic("spec: no notation for " + v.Type().String())
	}
}

// text reads a scalar by the type's own parser.
func (r *reader) text(n *node, t encoding.TextUnmarshaler, path string) {
	if n.kind != scalar {
		r.expected(n, path, example(t), "")
		return
	}
	if err := t.UnmarshalText([]byte(n.text)); err != nil {
		text, hint := split(err)
		if l, ok := findLookalike(n.text); ok {
			hint = l.say(n.text)
		}
		r.report(n.at, path, text, hint)
	}
}

// example names a type to the author of a file.
func example(t any) string {
	switch t.(type) {
	case *Size:
		return "a size as in 4GiB"
	case *Duration:
		return "a time as in 90s"
	case *Count:
		return "a number, or a range as in 3..4,"
	case *Failures:
		return "a number, or a percentage as in 10%,"
	}
	return "text"
}

func (r *reader) integer(n *node, path string) (int, bool) {
	if n.kind != scalar || n.style != plain || !integerText().MatchString(n.text) {
		hint := ""
		if n.kind == scalar && integerText().MatchString(strings.TrimSpace(toASCII(n.text))) {
			hint = "write " + strings.TrimSpace(toASCII(n.text)) + ", in plain digits and without quotes"
		}
		r.expected(n, path, "a whole number", hint)
		return 0, false
	}
	i, err := strconv.ParseInt(n.text, 10, 32)
	if err != nil {
		r.report(n.at, path, n.text+" is too large", "")
		return 0, false
	}
	return int(i), true
}

func (r *reader) number(n *node, path string) (float64, bool) {
	if !n.isNumber() {
		hint := ""
		if milli, ok := strings.CutSuffix(n.text, "m"); ok && integerText().MatchString(milli) {
			if i, err := strconv.Atoi(milli); err == nil {
				hint = "write " + strconv.FormatFloat(float64(i)/1000, 'g', -1, 64)
			}
		}
		r.expected(n, path, "a number", hint)
		return 0, false
	}
	f, err := strconv.ParseFloat(n.text, 64)
	if err != nil {
		r.report(n.at, path, n.text+" is too large", "")
		return 0, false
	}
	return f, true
}

// plainText is the text of a scalar. Numbers are taken as they are written,
// so that an image 1.10 does not become 1.1; true and false only where loose.
func (r *reader) plainText(n *node, path string, loose bool) (string, bool) {
	switch {
	case n.kind != scalar:
		r.expected(n, path, "text", "")
	case n.isBool() && !loose:
		r.expected(n, path, "text", "write "+strconv.Quote(n.text)+" in quotes if that is meant")
	case r.checkScalar(n, path):
		return n.text, true
	}
	return "", false
}

func (r *reader) string(n *node, v reflect.Value, path string) {
	text, ok := r.plainText(n, path, false)
	if !ok {
		return
	}
	if w, ok := v.Interface().(worded); ok && !slices.Contains(w.words(), text) {
		hint := "known: " + strings.Join(w.words(), ", ")
		if l, odd := findLookalike(text); odd {
			hint = l.say(text)
		}
		r.report(n.at, path, quote(text)+" is unknown"+didYouMean(text, w.words()), hint)
		return
	}
	if text == "" {
		r.report(n.at, path, "is empty", "leave the line out, or write a value")
		return
	}
	v.SetString(text)
}

func (r *reader) structure(n *node, v reflect.Value, path string) {
	if n.kind != mapping {
		hint := ""
		if path == "" && n.kind == scalar {
			hint = "write KEY: value, as in command: " + strings.TrimSpace(n.text)
			if l, odd := findLookalike(n.text); odd {
				hint = l.say(n.text)
			}
		}
		r.expected(n, path, "a mapping of "+someKeys(v.Type()), hint)
		return
	}
	for _, e := range n.entries {
		f, ok := fieldsOf(v.Type()).get(e.key)
		if !ok {
			text, hint := unknownField(e.key, fieldsOf(v.Type()).names())
			r.report(e.at, "", text, hint)
			continue
		}
		r.field(e.value, v.FieldByIndex(f.index), f, joinPath(path, e.key))
	}
}

// field reads the value of one key, wherever it is written: in a file or on the
// command line.
func (r *reader) field(n *node, v reflect.Value, f field, path string) {
	before := len(r.problems)
	r.value(n, v, path)
	if f.positive && len(r.problems) == before && v.IsZero() {
		r.report(n.at, path, n.text+" is nothing: more than zero is expected", "leave it out for the default")
	}
}

func someKeys(t reflect.Type) string {
	names := fieldsOf(t).names()
	if len(names) > 4 {
		return strings.Join(names[:3], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

func (r *reader) mapping(n *node, v reflect.Value, path string) {
	if n.kind != mapping {
		r.expected(n, path, "a mapping", "write NAME: value")
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), len(n.entries))
	for _, e := range n.entries {
		item := reflect.New(v.Type().Elem()).Elem()
		r.value(e.value, item, joinPath(path, e.key))
		out.SetMapIndex(reflect.ValueOf(e.key), item)
	}
	v.Set(out)
}

func (r *reader) list(n *node, v reflect.Value, path string) {
	if n.kind != list {
		hint := "write one item a line, each after a dash"
		if n.kind == scalar {
			hint = "write [" + strings.Join(strings.Split(strings.TrimSuffix(n.text, ","), ","), ",") + "]"
		}
		r.expected(n, path, "a list", hint)
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		r.value(item, out.Index(i), joinIndex(path, i))
	}
	v.Set(out)
}

// free reads what is passed on to a backend as it is. Numbers become float64,
// as encoding/json makes them when a stored plan is read back.
func (r *reader) free(n *node, v reflect.Value, path string) {
	var out any
	switch {
	case n.kind == mapping:
		m := map[string]any{}
		r.mapping(n, reflect.ValueOf(&m).Elem(), path)
		out = m
	case n.kind == list:
		l := []any{}
		r.list(n, reflect.ValueOf(&l).Elem(), path)
		out = l
	case n.kind == null:
		return
	case n.isBool():
		out = n.text == "true"
	case n.isNumber():
		f, _ := r.number(n, path)
		out = f
	default:
		out = n.text
	}
	v.Set(reflect.ValueOf(out))
}

// field is one key of a structure.
type field struct {
	name     string
	doc      string
	index    []int
	typ      reflect.Type
	positive bool // zero would read as "not written", so it is refused
}

type fields []field

func (fs fields) get(name string) (field, bool) {
	for _, f := range fs {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

func (fs fields) names() []string {
	out := make([]string, len(fs))
	for i, f := range fs {
		out[i] = f.name
	}
	return out
}

var fieldCache sync.Map // reflect.Type → fields

// fieldsOf lists the keys of a structure in the order of its type.
func fieldsOf(t reflect.Type) fields {
	if c, ok := fieldCache.Load(t); ok {
		return c.(fields)
	}
	var out fields
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case option == "inline":
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				out = append(out, inner)
			}
		case name != "" && name != "-":
			out = append(out, field{name, f.Tag.Get("doc"), []int{i}, f.Type, f.Tag.Get("zero") == "no"})
		}
	}
	fieldCache.Store(t, out)
	return out
}

// decodeNode reads a whole tree into v, which is a pointer.
func decodeNode(n *node, v any) Problems {
	r := &reader{}
	r.value(n, reflect.ValueOf(v).Elem(), "")
	return r.problems
}

// parseWhole is the error for text that a value's parser does not know.
func parseWhole(text, what, hint string) error {
	if text == "" {
		return &faulty{"is empty: " + what + " is expected", hint}
	}
	return &faulty{fmt.Sprintf("%s is not %s", quote(text), what), hint}
}
