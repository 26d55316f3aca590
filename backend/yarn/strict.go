package yarn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// decoder reads values strictly and collects all that is wrong with them, each
// under the path that its author wrote.
type decoder struct {
	path     []string
	findings []plan.Finding
}

// in reads something one level deeper.
func (d *decoder) in(key string, read func()) {
	d.path = append(d.path, key)
	read()
	d.path = d.path[:len(d.path)-1]
}

func (d *decoder) refuse(problem, hint string) {
	d.findings = append(d.findings, plan.Finding{Path: strings.Join(d.path, "."), Problem: problem, Hint: hint})
}

func (d *decoder) wrong(want string, got any) {
	d.refuse(fmt.Sprintf("%s is not %s", show(got), want), "")
}

// show prints a value as its author would know it again.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("%q", v)
	case map[string]any:
		return "a mapping"
	case []any:
		return "a list"
	}
	return fmt.Sprint(v)
}

// object reads a mapping with these keys and no other.
func (d *decoder) object(v any, fields map[string]func(any)) {
	m, ok := v.(map[string]any)
	if !ok {
		d.wrong("a mapping", v)
		return
	}
	known := slices.Sorted(maps.Keys(fields))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		d.in(key, func() {
			read, ok := fields[key]
			if !ok {
				d.refuse("unknown key", meant(key, known))
				return
			}
			read(m[key])
		})
	}
}

// meant is the hint for a word that is none of the known ones.
func meant(word string, known []string) string {
	if near := spec.Suggest(word, known); near != "" {
		return "did you mean " + near + "?"
	}
	if len(known) == 0 {
		return ""
	}
	return "known here: " + strings.Join(known, ", ")
}

func (d *decoder) text(v any) string {
	s, ok := v.(string)
	if !ok {
		d.wrong("text", v)
	}
	return s
}

// word reads text without blanks, commas and control characters.
func (d *decoder) word(v any) string {
	s := d.text(v)
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == ',' || r == 0x7f }) {
		d.refuse(fmt.Sprintf("%q has a blank, a comma or a control character in it", s), "")
	}
	return s
}

// plain reads a word that neither a shell nor YARN reads as more than text.
func (d *decoder) plain(v any) string {
	s := d.word(v)
	if i := strings.IndexAny(s, "\"'$`\\{}<>;&|"); i >= 0 {
		d.refuse(fmt.Sprintf("%q has a %q in it, which a node would not take as text", s, s[i]), "")
	}
	return s
}

// words reads a list of words, or one.
func (d *decoder) words(v any) []string {
	if s, ok := v.(string); ok {
		return []string{d.word(s)}
	}
	list, ok := v.([]any)
	if !ok {
		d.wrong("a list of words", v)
		return nil
	}
	var out []string
	for i, v := range list {
		d.in(fmt.Sprint(i), func() { out = append(out, d.word(v)) })
	}
	return out
}

func (d *decoder) oneOf(v any, choices ...string) string {
	s := d.text(v)
	if !slices.Contains(choices, s) {
		d.refuse(fmt.Sprintf("%q is none of %s", s, strings.Join(choices, ", ")), meant(s, choices))
	}
	return s
}

func (d *decoder) boolean(v any) bool {
	b, ok := v.(bool)
	if !ok {
		d.wrong("true or false", v)
	}
	return b
}
