package cli

import (
	"strings"
	"testing"

	"github.com/muster-project/muster/plan"
)

func TestPick(t *testing.T) {
	all := []job{
		{ID: "m-7k3fa", Plan: &plan.Plan{Name: "digits"}},
		{ID: "m-7k9zz", Plan: &plan.Plan{Name: "digits"}},
		{ID: "m-abcde", Plan: &plan.Plan{Name: "mnist"}},
	}
	tests := map[string]struct{ word, want, problem string }{
		"whole id":             {word: "m-7k3fa", want: "m-7k3fa"},
		"unique beginning":     {word: "m-7k3", want: "m-7k3fa"},
		"beginning without m-": {word: "abc", want: "m-abcde"},
		"name":                 {word: "mnist", want: "m-abcde"},
		"name of two jobs":     {word: "digits", problem: "digits: could be 2 jobs"},
		"beginning of two":     {word: "m-7k", problem: "m-7k: could be 2 jobs"},
		"nobody":               {word: "m-zzzzzzzzz", problem: "m-zzzzzzzzz: no such job"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := pick(all, tc.word)
			if tc.problem != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tc.problem) {
					t.Fatalf("got %q, %v; want %q", got.ID, err, tc.problem)
				}
				return
			}
			if err != nil || got.ID != tc.want {
				t.Errorf("got %q, %v; want %q", got.ID, err, tc.want)
			}
		})
	}
}
