package spec

import (
	"encoding/json"
	"maps"
	"reflect"
)

// The patterns of the schema are wider than the parsers: an editor marks what
// is surely wrong, and reading the file says the rest in words.
const (
	sizePattern     = `^[0-9.]+ ?([KMGTPkmgtp]([Ii][Bb])?|[Bb])$`
	durationPattern = `^([0-9]+-)?[0-9]+:[0-9]{2}(:[0-9]{2})?$|^([0-9.]+ ?(d|h|m|s|ms|us|µs|ns) ?)+$`
)

type object = map[string]any

func anyOf(forms ...any) object { return object{"anyOf": forms} }

func ofType(names ...string) object {
	if len(names) == 1 {
		return object{"type": names[0]}
	}
	return object{"type": names}
}

// shortForms are the notations that are no structure.
var shortForms = map[reflect.Type]object{
	reflect.TypeFor[Size]():     {"type": "string", "pattern": sizePattern, "examples": []string{"4GiB", "512MiB"}},
	reflect.TypeFor[Duration](): {"type": "string", "pattern": durationPattern, "examples": []string{"90s", "1h30m", "1-12:00:00"}},
	reflect.TypeFor[Count]():    anyOf(object{"type": "integer", "minimum": 1}, object{"type": "string", "pattern": `^[0-9]+( ?\.\. ?[0-9]+)?$`, "examples": []string{"3..4"}}),
	reflect.TypeFor[Failures](): anyOf(object{"type": "integer", "minimum": 1}, object{"type": "string", "pattern": `^[0-9]+%?$`, "examples": []string{"10%"}}),
	reflect.TypeFor[Command]():  anyOf(ofType("string"), object{"type": "array", "minItems": 1, "items": ofType("string", "number", "boolean")}),
	reflect.TypeFor[EnvValue](): ofType("string", "number", "boolean"),
	reflect.TypeFor[Workdir]():  anyOf(ofType("string"), object{"const": false}),
	reflect.TypeFor[File]():     ofType("string"),
	reflect.TypeFor[Python]():   ofType("string"),
	reflect.TypeFor[After]():    ofType("string"),
	reflect.TypeFor[Progress](): ofType("boolean"),
	reflect.TypeFor[Linger]():   {"type": "string", "pattern": durationPattern},
	reflect.TypeFor[People]():   anyOf(object{"type": "string", "examples": []string{"alice,bob research", "*"}}, object{"type": "array", "items": ofType("string")}),
}

// Schema is the JSON schema of a job file, for editors.
func Schema() []byte {
	s := schemaOf(jobType)
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "muster job file"
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("spec: schema: " + err.Error()) // only maps, strings and numbers are in it
	}
	return append(out, '\n')
}

func schemaOf(t reflect.Type) object {
	if short, ok := shortForms[t]; ok {
		long := t
		if form, ok := longForms[t]; ok {
			long = form
		}
		if long.Kind() != reflect.Struct || len(fieldsOf(long)) == 0 {
			return copied(short)
		}
		return anyOf(copied(short), structSchema(long))
	}
	if w, ok := reflect.Zero(t).Interface().(worded); ok {
		return object{"enum": w.words()}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Struct:
		return structSchema(t)
	case reflect.Slice:
		if t == reflect.TypeFor[Roles]() {
			return object{"type": "object", "propertyNames": object{"pattern": roleName().String()},
				"additionalProperties": anyOf(structSchema(reflect.TypeFor[Role]()), ofType("null"))}
		}
		return object{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Bool:
		return ofType("boolean")
	case reflect.Int:
		return ofType("integer")
	case reflect.Float64:
		return ofType("number")
	case reflect.Interface:
		return object{}
	}
	return ofType("string", "number")
}

func structSchema(t reflect.Type) object {
	properties := object{}
	for _, f := range fieldsOf(t) {
		s := schemaOf(f.typ)
		if f.doc != "" {
			s["description"] = f.doc
		}
		properties[f.name] = s
	}
	return object{"type": "object", "additionalProperties": false, "properties": properties}
}

func copied(o object) object {
	out := object{}
	maps.Copy(out, o)
	return out
}
