package kerberos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/types"
)

// name is a principal in its parts: alice@R is one part, nn/host@R two.
type name struct {
	parts []string
	realm string
}

// parseName reads a principal. A backslash takes the meaning of the character
// behind it; a missing realm is replaced.
func parseName(s, realm string) (name, error) {
	out := name{parts: []string{""}}
	into := &out.parts[0]
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			*into += string(s[i])
		case c == '/' && into != &out.realm:
			out.parts = append(out.parts, "")
			into = &out.parts[len(out.parts)-1]
		case c == '@' && into != &out.realm:
			into = &out.realm
		case c == '@':
			return name{}, fmt.Errorf("%q: two realms", s)
		default:
			*into += string(c)
		}
	}
	if out.realm == "" {
		out.realm = realm
	}
	if slices.Contains(out.parts, "") {
		return name{}, fmt.Errorf("%q: an empty part", s)
	}
	if out.realm == "" {
		return name{}, fmt.Errorf("%q: no realm, and krb5.conf has no default_realm", s)
	}
	return out, nil
}

// nameHint is for names that cannot be read.
const nameHint = "write it as NAME@REALM"

var escape = strings.NewReplacer(`\`, `\\`, `/`, `\/`, `@`, `\@`)

// short is the name without its realm.
func (n name) short() string {
	parts := make([]string, len(n.parts))
	for i, p := range n.parts {
		parts[i] = escape.Replace(p)
	}
	return strings.Join(parts, "/")
}

func (n name) String() string { return n.short() + "@" + n.realm }

func (n name) equal(o name) bool { return n.realm == o.realm && n.short() == o.short() }

// wire is the form of messages.
func (n name) wire() types.PrincipalName {
	kind := nametype.KRB_NT_PRINCIPAL
	if len(n.parts) == 2 {
		kind = nametype.KRB_NT_SRV_INST
	}
	return types.PrincipalName{NameType: kind, NameString: n.parts}
}

func nameOf(p types.PrincipalName, realm string) name { return name{parts: p.NameString, realm: realm} }

// tgs is the principal of a realm's ticket-granting service, as another realm,
// or the same one, knows it.
func tgs(realm, of string) name { return name{parts: []string{"krbtgt", realm}, realm: of} }
