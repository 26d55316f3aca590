package yarn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// number takes a JSON number, one in a string, true and false, or nothing at
// all. What is beyond an int64 is cut to it.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	text := strings.TrimSpace(string(bytes.Trim(b, `"`)))
	switch strings.ToLower(text) {
	case "", "null", "n/a", "nan", "false":
		*n = 0
		return nil
	case "true":
		*n = 1
		return nil
	case "infinity", "inf", "+inf", "+infinity":
		*n = number(math.Inf(1))
		return nil
	case "-infinity", "-inf":
		*n = number(math.Inf(-1))
		return nil
	}
	f, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || strings.ContainsAny(text, "xXpP_") {
		return fmt.Errorf("%.40q is not a number", text)
	}
	*n = number(f)
	return nil
}

func (n number) int64() int64 {
	switch {
	case math.IsNaN(float64(n)):
		return 0
	case n >= math.MaxInt64:
		return math.MaxInt64
	case n <= math.MinInt64:
		return math.MinInt64
	}
	return int64(n)
}

func (n number) int() int { return int(n.int64()) }

// text takes a JSON string, or any other single value as it is written.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(s)
		return nil
	}
	if string(b) == "null" {
		*t = ""
		return nil
	}
	*t = text(b)
	return nil
}

// list takes a JSON array, a single element where there is one, and nothing for
// null, an empty string and, where elements are objects, an empty object.
type list[T any] []T

func (l *list[T]) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	switch s := string(b); {
	case s == "null", s == `""`, s == "{}":
		*l = nil
		return nil
	case s != "" && s[0] == '[':
		var all []T
		if err := json.Unmarshal(b, &all); err != nil {
			return err
		}
		*l = all
		return nil
	}
	var one T
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	*l = list[T]{one}
	return nil
}

// wrapped takes {"<any key>": list} as well as the bare list: versions differ in
// whether a list of children has a name of its own inside. An object with more
// keys than one is a single element.
type wrapped[T any] []T

func (w *wrapped[T]) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '{' {
		var inner map[string]json.RawMessage
		if err := json.Unmarshal(b, &inner); err != nil {
			return err
		}
		if len(inner) == 1 {
			for _, only := range inner {
				b = only
			}
		}
	}
	return json.Unmarshal(b, (*list[T])(w))
}

// maxDepth bounds nesting. Decoders of one's own read what they hold once for
// every level, so a deep answer could cost its size times its depth.
const maxDepth = 100

var errDeep = fmt.Errorf("nested deeper than %d levels", maxDepth)

// decode is json.Unmarshal for answers.
func decode(b []byte, into any) error {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			if depth++; depth > maxDepth {
				return errDeep
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return json.Unmarshal(b, into)
}

// amount is a resource: "memory" and "vCores" and, from 3.0 on, a list of all.
type amount struct {
	Memory number `json:"memory"`
	VCores number `json:"vCores"`
	More   struct {
		List list[struct {
			Name  string `json:"name"`
			Units string `json:"units"`
			Value number `json:"value"`
		}] `json:"resourceInformation"`
	} `json:"resourceInformations"`
}

func (a *amount) resource() Resource {
	if a == nil {
		return Resource{}
	}
	r := Resource{Memory: a.Memory.int64(), VCores: a.VCores.int64()}
	for _, i := range a.More.List {
		if i.Name != memoryName && i.Name != vcoresName && i.Name != "" {
			r = r.With(i.Name, scale(i.Value.int64(), i.Units))
		}
	}
	return r
}

// rawPriority takes a number, or {"priority": number} as older versions have it.
type rawPriority int

func (p *rawPriority) UnmarshalJSON(b []byte) error {
	var n number
	if len(b) > 0 && b[0] == '{' {
		var o struct {
			Priority number `json:"priority"`
		}
		if err := json.Unmarshal(b, &o); err != nil {
			return err
		}
		n = o.Priority
	} else if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	*p = rawPriority(n.int())
	return nil
}
