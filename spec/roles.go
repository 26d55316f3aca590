package spec

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Roles keeps the order of the file: ranks and start order follow it.
type Roles []NamedRole

// NamedRole is one entry of the roles mapping.
type NamedRole struct {
	Name string `json:"-"`
	Role
}

// Get returns the role called name, or nil.
func (r Roles) Get(name string) *Role {
	for i := range r {
		if r[i].Name == name {
			return &r[i].Role
		}
	}
	return nil
}

// Names lists the roles in the order of the file.
func (r Roles) Names() []string {
	out := make([]string, len(r))
	for i := range r {
		out[i] = r[i].Name
	}
	return out
}

// read takes a mapping of names to roles. A role with nothing in it is one
// task that takes everything from the top level.
func (rs *Roles) read(r *reader, n *node, path string) {
	if n.kind != mapping {
		hint := "write roles: {worker: {instances: 2}}"
		r.expected(n, path, "a mapping of role names", hint)
		return
	}
	for _, e := range n.entries {
		named := NamedRole{Name: e.key}
		if e.value.kind != null {
			r.structure(e.value, reflect.ValueOf(&named.Role).Elem(), joinPath(path, e.key))
		}
		*rs = append(*rs, named)
	}
}

// MarshalJSON writes a mapping in the order of the file.
func (r Roles) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, named := range r {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(named.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(named.Role)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Roles) UnmarshalJSON(b []byte) error { return fromJSON(b, r) }
