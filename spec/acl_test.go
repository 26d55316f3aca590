package spec

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPeopleAreReadAsYARNReadsThem(t *testing.T) {
	for text, want := range map[string]People{
		"":                      {},
		" ":                     {},
		"*":                     {All: true},
		" * ":                   {All: true},
		"alice":                 {Users: []string{"alice"}},
		"bob,alice,bob":         {Users: []string{"alice", "bob"}},
		"alice research,ops":    {Users: []string{"alice"}, Groups: []string{"ops", "research"}},
		" research":             {Groups: []string{"research"}},
		"alice  ops , research": {Users: []string{"alice"}, Groups: []string{"ops", "research"}},
	} {
		got, err := ParsePeople(text)
		if err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"alice,*", "alice bob ops", "a:b", `a"b`, "group:ops", "a/b", "\xa8"} {
		if got, err := ParsePeople(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func FuzzParsePeople(f *testing.F) {
	for _, text := range []string{"alice,bob research", "*", " ops", ",", "a  b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePeople(text)
		if err != nil {
			return
		}
		data, err := json.Marshal(p)
		var back People
		if err == nil {
			err = json.Unmarshal(data, &back)
		}
		if err != nil || cmp.Diff(p, back) != "" {
			t.Errorf("%q: %+v is written as %s and read as %+v, %v", text, p, data, back, err)
		}
	})
}

func TestPeopleTogether(t *testing.T) {
	a, b := People{Users: []string{"bob"}, Groups: []string{"ops"}}, People{Users: []string{"alice", "bob"}}
	if got := a.And(b).String(); got != "alice,bob ops" {
		t.Errorf("%q", got)
	}
	if got := a.And(People{All: true}).String(); got != "*" {
		t.Errorf("%q", got)
	}
	if got := a.And(People{}).String(); got != "bob ops" {
		t.Errorf("%q", got)
	}
}
