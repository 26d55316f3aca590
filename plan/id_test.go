package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/spec"
)

func TestNewIDIsReadBack(t *testing.T) {
	seen := map[string]bool{}
	for b := range 256 {
		id := NewID([IDBytes]byte{byte(b), 1, 2, 3, 4, 5, byte(255 - b)})
		got, err := ParseID(id)
		if err != nil || got != id {
			t.Fatalf("ParseID(%q) = %q, %v", id, got, err)
		}
		if seen[id] {
			t.Fatalf("%s came twice", id)
		}
		seen[id] = true
	}
}

func TestParseID(t *testing.T) {
	for in, want := range map[string]string{
		"m-7k3fq2aaxz":           "m-7k3fq2aaxz",
		" M-7K3FQ2AAXZ\n":        "m-7k3fq2aaxz",
		"m-7k3fq2aax":            "",
		"m-7k3fq2aaxzz":          "",
		"m-7k3fq2aax1":           "",
		"m-7k3f/2aaxz":           "",
		"7k3fq2aaxz":             "",
		"":                       "",
		"m-\u017f\u017fäöüßabcd": "",
	} {
		got, err := ParseID(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("ParseID(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("m-7k3fq2aaxz")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseID(s)
		if err != nil {
			return
		}
		if again, err := ParseID(id); err != nil || again != id {
			t.Errorf("ParseID(%q) = %q, which reads as %q, %v", s, id, again, err)
		}
	})
}

func FuzzParseTask(f *testing.F) {
	f.Add("worker/3")
	f.Add("a/b/1")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseTask(s)
		if err != nil || id.IsZero() {
			return
		}
		if again, err := ParseTask(id.String()); err != nil || again != id {
			t.Errorf("ParseTask(%q) = %v, which reads as %v, %v", s, id, again, err)
		}
	})
}

func TestTasksOfARange(t *testing.T) {
	p := &Plan{Roles: []Role{
		{Name: "ps", Instances: spec.Count{Min: 1, Max: 1}}, {Name: "worker", Instances: spec.Count{Min: 1, Max: 3}}}}
	if d := cmp.Diff([]TaskID{{"ps", 0}, {"worker", 0}, {"worker", 1}, {"worker", 2}}, p.Tasks()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]TaskID{{"ps", 0}, {"worker", 0}}, p.Minimum()); d != "" {
		t.Error(d)
	}
}
