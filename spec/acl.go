package spec

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// ACLs say who else than the job's owner and the administrators may see it and
// act on it. Who may act may see.
type ACLs struct {
	View   People `yaml:"view,omitempty" json:"view,omitzero" doc:"who else may see the job: status, events, logs, its page"`
	Modify People `yaml:"modify,omitempty" json:"modify,omitzero" doc:"who else may stop and signal it; they may see it, too"`
}

// IsZero says that nobody is named.
func (a ACLs) IsZero() bool { return a.View.IsZero() && a.Modify.IsZero() }

// People is a list of users and groups, or everybody. Zero names nobody.
type People struct {
	All    bool
	Users  []string
	Groups []string
}

const peopleForm = `write users, a blank, groups: "alice,bob research"; or a list: [alice, bob, "group:research"]; or "*"`

// groupMark stands before the name of a group in a list.
const groupMark = "group:"

// ParsePeople reads what YARN reads: users parted by commas, a blank, groups
// parted by commas; or * for everybody. It is the only reader of this notation.
func ParsePeople(text string) (People, error) {
	if strings.TrimSpace(text) == "*" {
		return People{All: true}, nil
	}
	users, groups, _ := strings.Cut(text, " ")
	p := People{Users: names(users), Groups: names(groups)}
	for _, name := range slices.Concat(p.Users, p.Groups) {
		if problem := badName(name); problem != "" {
			return People{}, &faulty{quote(text) + ": " + problem, peopleForm}
		}
	}
	return p.sorted(), nil
}

func names(text string) []string {
	var out []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// badName says why a word is no user and no group.
func badName(name string) string {
	switch {
	case name == "*":
		return "* means everybody and stands alone"
	case strings.HasPrefix(name, groupMark):
		return quote(name) + " is the notation of a list"
	case !utf8.ValidString(name), strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`,:/\"'`, r) }):
		return quote(name) + " is no name of a user or a group"
	}
	return ""
}

func (p People) sorted() People {
	for _, list := range []*[]string{&p.Users, &p.Groups} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return p
}

// IsZero says that nobody is named.
func (p People) IsZero() bool { return !p.All && len(p.Users)+len(p.Groups) == 0 }

// String is the list as YARN writes it.
func (p People) String() string {
	switch {
	case p.All:
		return "*"
	case len(p.Groups) == 0:
		return strings.Join(p.Users, ",")
	}
	return strings.Join(p.Users, ",") + " " + strings.Join(p.Groups, ",")
}

// And are all that one of both names.
func (p People) And(more People) People {
	if p.All || more.All {
		return People{All: true}
	}
	return People{Users: slices.Concat(p.Users, more.Users), Groups: slices.Concat(p.Groups, more.Groups)}.sorted()
}

func (p *People) read(r *reader, n *node, path string) {
	*p = People{}
	if n.kind != list {
		if n.kind != scalar {
			r.expected(n, path, "text or a list", peopleForm)
			return
		}
		text, ok := r.plainText(n, path, false)
		if !ok {
			return
		}
		if users, groups, _ := strings.Cut(text, " "); strings.HasSuffix(users, ",") && strings.TrimSpace(groups) != "" {
			// YARN takes bob of "alice, bob" for a group; who writes that means a user.
			r.report(n.at, path, quote(text)+": what stands after the blank are groups", `write no blank after a comma: "alice,bob"; or a list: [alice, bob, "group:research"]`)
			return
		}
		var err error
		if *p, err = ParsePeople(text); err != nil {
			text, hint := split(err)
			r.report(n.at, path, text, hint)
		}
		return
	}
	for i, item := range n.items {
		var name string
		r.string(item, reflect.ValueOf(&name).Elem(), joinIndex(path, i))
		group, grouped := strings.CutPrefix(name, groupMark)
		problem := badName(group)
		switch {
		case name == "": // told already
		case name == "*":
			p.All = true
		case problem != "" || group == "":
			r.report(item.at, joinIndex(path, i), quote(name)+" is no name of a user or a group", peopleForm)
		case grouped:
			p.Groups = append(p.Groups, group)
		default:
			p.Users = append(p.Users, name)
		}
	}
	if p.All {
		*p = People{All: true}
	}
	*p = p.sorted()
}

// MarshalJSON writes YARN's form.
func (p People) MarshalJSON() ([]byte, error) { return json.Marshal(p.String()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (p *People) UnmarshalJSON(b []byte) error {
	var text string
	err := json.Unmarshal(b, &text)
	if err == nil {
		*p, err = ParsePeople(text)
	}
	return err
}
