package access_test

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-project/muster/access"
	"github.com/muster-project/muster/spec"
)

func list(t interface{ Fatal(...any) }, text string) spec.People {
	p, err := spec.ParsePeople(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWhoMay(t *testing.T) {
	for name, tc := range map[string]struct {
		admins, view, modify string
		person               access.Person
		see, act             bool
	}{
		"the owner":                       {person: access.Person{Name: "alice"}, see: true, act: true},
		"another":                         {person: access.Person{Name: "bob"}},
		"nobody in particular":            {person: access.Person{}},
		"an administrator":                {admins: "root", person: access.Person{Name: "root"}, see: true, act: true},
		"of an administrators' group":     {admins: " wheel", person: access.Person{Name: "dan", Groups: []string{"users", "wheel"}}, see: true, act: true},
		"a viewer":                        {view: "bob", person: access.Person{Name: "bob"}, see: true},
		"of a viewers' group":             {view: "carol research", person: access.Person{Name: "bob", Groups: []string{"research"}}, see: true},
		"a group of the name of a viewer": {view: "research", person: access.Person{Name: "bob", Groups: []string{"research"}}},
		"a user of the name of a group":   {view: " research", person: access.Person{Name: "research"}},
		"who may act may see":             {modify: "bob", person: access.Person{Name: "bob"}, see: true, act: true},
		"everybody may see":               {view: "*", person: access.Person{Name: "bob"}, see: true},
		"everybody, also who has no name": {view: "*", person: access.Person{}, see: true},
		"everybody may act":               {modify: "*", person: access.Person{Name: "bob"}, see: true, act: true},
		"an owner without a name is none": {person: access.Person{Name: ""}},
	} {
		r := access.Rule{Owner: "alice", Admins: list(t, tc.admins), ACLs: spec.ACLs{View: list(t, tc.view), Modify: list(t, tc.modify)}}
		if see, act := r.May(tc.person, access.View), r.May(tc.person, access.Modify); see != tc.see || act != tc.act {
			t.Errorf("%s: see %t, act %t; want %t, %t", name, see, act, tc.see, tc.act)
		}
	}
	if (access.Rule{}).May(access.Person{}, access.View) {
		t.Error("a job without an owner is nobody's")
	}
}

// Whatever the lists are: who may act may see, naming more takes nothing from
// anybody, and groups that do not matter change nothing.
func TestRights(t *testing.T) {
	names := rapid.SampledFrom([]string{"alice", "bob", "carol", "ops"})
	people := rapid.Custom(func(t *rapid.T) spec.People {
		return spec.People{All: rapid.IntRange(0, 9).Draw(t, "all") == 0, Users: rapid.SliceOfN(names, 0, 2).Draw(t, "users"), Groups: rapid.SliceOfN(names, 0, 2).Draw(t, "groups")}
	})
	rapid.Check(t, func(t *rapid.T) {
		r := access.Rule{Owner: names.Draw(t, "owner"), Admins: people.Draw(t, "admins"), ACLs: spec.ACLs{View: people.Draw(t, "view"), Modify: people.Draw(t, "modify")}}
		p := access.Person{Name: names.Draw(t, "name"), Groups: rapid.SliceOfN(names, 0, 2).Draw(t, "of")}
		see, act := r.May(p, access.View), r.May(p, access.Modify)
		if act && !see {
			t.Fatal("acts on what they may not see")
		}
		if p.Name == r.Owner && !act {
			t.Fatal("the owner may not act")
		}
		for _, right := range []access.Right{access.View, access.Modify} {
			if !r.Grouped(right) && r.May(p, right) != r.May(access.Person{Name: p.Name}, right) {
				t.Fatal("groups matter and are said not to")
			}
		}
		if see != (p.Name == r.Owner || access.In(p, r.Viewers())) || act != (p.Name == r.Owner || access.In(p, r.Modifiers())) {
			t.Fatal("Viewers or Modifiers is another list than that of May")
		}
		wider := r
		wider.ACLs.View = r.ACLs.View.And(people.Draw(t, "more"))
		if see && !wider.May(p, access.View) {
			t.Fatal("naming more people took a right away")
		}
		if act != wider.May(p, access.Modify) {
			t.Fatal("the view list changes who may act")
		}
	})
}

func TestDeniedSaysWhoAndWhose(t *testing.T) {
	d := &access.Denied{Job: "m-x", Owner: "alice", Person: "bob", Right: access.Modify}
	if got, want := d.Error(), "m-x: bob may not act on it: it is alice's job"; got != want {
		t.Errorf("%q", got)
	}
	if !errors.Is(d, fs.ErrPermission) || !slices.Contains([]string{"alice names who else may, by acls.modify in the job file"}, d.Hint()) {
		t.Errorf("hint %q", d.Hint())
	}
}
