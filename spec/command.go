package spec

import (
	"encoding/json"
)

// Command is what a process executes: Shell by "bash -c", or Argv as it is.
type Command struct {
	Shell string
	Argv  []string
}

// IsZero says that no command was written.
func (c Command) IsZero() bool { return c.Shell == "" && len(c.Argv) == 0 }

// read takes a string or a list of strings.
func (c *Command) read(r *reader, n *node, path string) {
	switch n.kind {
	case scalar:
		if n.text == "" {
			r.report(n.at, path, "is empty", "")
			return
		}
		r.checkCommand(n, path, n.text)
		c.Shell = n.text
	case list:
		if len(n.items) == 0 {
			r.report(n.at, path, "is an empty list", "the first item is the program")
		}
		for i, item := range n.items {
			text, ok := r.plainText(item, joinIndex(path, i), true)
			if ok && item.style == plain {
				r.checkCommand(item, joinIndex(path, i), text)
			}
			c.Argv = append(c.Argv, text)
		}
	default:
		r.expected(n, path, "a string or a list", "")
	}
}

// MarshalJSON writes a string or a list.
func (c Command) MarshalJSON() ([]byte, error) {
	if c.Argv != nil {
		return json.Marshal(c.Argv)
	}
	return json.Marshal(c.Shell)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Command) UnmarshalJSON(b []byte) error {
	*c = Command{}
	if len(b) > 0 && b[0] == '[' {
		return json.Unmarshal(b, &c.Argv)
	}
	return json.Unmarshal(b, &c.Shell)
}

// EnvValue is a literal value, or text whose $VAR are replaced on the task's
// own node, after everything else in its environment is known.
type EnvValue struct {
	Value  string
	Expand bool
}

// read takes a scalar as it is written, or {expand: text}.
func (v *EnvValue) read(r *reader, n *node, path string) {
	const hint = `write NAME: "" for an empty value`
	switch n.kind {
	case scalar:
		v.Value, _ = r.plainText(n, path, true)
	case mapping:
		for _, e := range n.entries {
			if e.key != "expand" {
				text, hint := unknownField(e.key, []string{"expand"})
				r.report(e.at, "", text, hint)
			}
		}
		text := n.get("expand")
		switch {
		case text != nil:
			v.Expand = true
			v.Value, _ = r.plainText(text, joinPath(path, "expand"), true)
		case len(n.entries) == 0:
			r.expected(n, path, "text", hint)
		}
	case null:
		r.expected(n, path, "text", hint)
	default:
		r.expected(n, path, "text", "join the items into one text, in quotes")
	}
}

type expanded struct {
	Expand *string `json:"expand"`
}

// MarshalJSON writes a string, or {"expand": string}.
func (v EnvValue) MarshalJSON() ([]byte, error) {
	if v.Expand {
		return json.Marshal(expanded{&v.Value})
	}
	return json.Marshal(v.Value)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *EnvValue) UnmarshalJSON(b []byte) error { return fromJSON(b, v) }
