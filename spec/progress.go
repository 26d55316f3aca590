package spec

import (
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Progress is what is read from a task's output about how far it is. By default
// the bars of common frameworks are; Patterns stand in their place, Off looks at
// no output. What a task reports itself is always taken.
type Progress struct {
	Off      bool
	Patterns []string
}

// progressForm is the long form.
type progressForm struct {
	Patterns []string `yaml:"patterns" json:"patterns" doc:"regular expressions (RE2) whose named groups are what a line tells: step, total, epoch, epochs, step_time, and any other number"`
}

// read takes true, false or {patterns}.
func (p *Progress) read(r *reader, n *node, path string) {
	*p = Progress{}
	switch {
	case n.isBool():
		p.Off = n.text == "false"
	case n.kind == mapping:
		var long progressForm
		r.structure(n, reflect.ValueOf(&long).Elem(), path)
		p.Patterns = long.Patterns
		if all := n.get("patterns"); all != nil {
			checkPatterns(r, all, joinPath(path, "patterns"))
		}
	default:
		r.expected(n, path, "true, false or patterns", "write {patterns: ['"+examplePattern+"']}")
	}
}

const examplePattern = `step (?P<step>\d+)/(?P<total>\d+) loss (?P<loss>\S+)`

func checkPatterns(r *reader, all *node, path string) {
	if all.kind == list && len(all.items) == 0 {
		r.report(all.at, path, "is an empty list", "write false in place of the mapping to look at no output")
	}
	for i, item := range all.items {
		if item.kind != scalar {
			continue // told already
		}
		re, err := regexp.Compile(item.text)
		switch cause, known := errors.AsType[*syntax.Error](err); {
		case known:
			hint := ""
			if cause.Code == syntax.ErrInvalidPerlOp || strings.HasPrefix(cause.Expr, "(?<=") || strings.HasPrefix(cause.Expr, "(?<!") {
				hint = "the syntax is RE2's, which has no look-around and no back-references"
			}
			r.report(item.at, joinIndex(path, i), "is no pattern: "+cause.Code.String()+": "+quote(cause.Expr), hint)
		case err != nil:
			r.report(item.at, joinIndex(path, i), "is no pattern: "+err.Error(), "")
		case strings.Join(re.SubexpNames(), "") == "":
			r.report(item.at, joinIndex(path, i), "has no named group, so nothing would be read", "name what a line tells, as in '"+examplePattern+"'")
		}
	}
}

// MarshalJSON writes the shortest form.
func (p Progress) MarshalJSON() ([]byte, error) {
	if len(p.Patterns) > 0 {
		return json.Marshal(progressForm{p.Patterns})
	}
	return json.Marshal(!p.Off)
}

// UnmarshalJSON reads what MarshalJSON writes. Plans and journals come back by
// it, so it checks nothing again.
func (p *Progress) UnmarshalJSON(b []byte) error {
	*p = Progress{}
	if len(b) > 0 && b[0] == '{' {
		var long progressForm
		err := json.Unmarshal(b, &long)
		p.Patterns = long.Patterns
		return err
	}
	var on bool
	err := json.Unmarshal(b, &on)
	p.Off = !on && err == nil
	return err
}
