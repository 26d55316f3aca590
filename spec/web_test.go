package spec

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPatternsOfProgressAreCheckedWhereTheyStand(t *testing.T) {
	for job, want := range map[string]string{
		"command: x\nprogress: {patterns: ['step (\\d+)']}":                              "job.yaml:2:23: progress.patterns[0]: has no named group, so nothing would be read",
		"command: x\nprogress:\n  patterns:\n  - 'step (?P<step>\\d+)'\n  - '(?P<loss>'": `job.yaml:5:5: progress.patterns[1]: is no pattern: missing closing ): "(?P<loss>"`,
		"command: x\nprogress: {patterns: ['(?<=x)(?P<step>\\d+)']}":                     "look-around",
		"command: x\nprogress: {patterns: []}":                                           "is an empty list",
		"command: x\nprogress: some":                                                     "true, false or patterns is expected",
		"command: x\nprogress: {pattern: [a]}":                                           `did you mean "patterns"`,
	} {
		if got := refusal(t, job); !strings.Contains(got, want) {
			t.Errorf("%q: %s; want %q", job, got, want)
		}
	}
}

func TestProgressIsOfTheJobOrOfARole(t *testing.T) {
	r, err := stack("", "", "command: x\nprogress: false\nroles: {a: {}, b: {progress: true}, c: {progress: {patterns: ['(?P<step>\\d+)']}}}").Resolve("ada")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Progress{}
	for _, role := range r.Job.Roles {
		text, err := json.Marshal(role.Progress)
		if err != nil {
			t.Fatal(err)
		}
		var again Progress
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got[role.Name] = again
	}
	want := map[string]Progress{"a": {Off: true}, "b": {}, "c": {Patterns: []string{`(?P<step>\d+)`}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestARoleWithAProgramOfItsOwnDoesNotTakeTheWork(t *testing.T) {
	r, err := stack("", "", "command: x\ngpus: 2\nprocs: 2\nmemory: 4GiB\nimage: i\nroles: {worker: {}, tensorboard: {}, notebook: {command: y, gpus: 1}}",
		"gpus=4", "env.A=1").Resolve("ada")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Role{}
	for _, role := range r.Job.Roles {
		role.StopGrace = 0 // built in
		got[role.Name] = role.Role
	}
	env := map[string]EnvValue{"A": {Value: "1"}}
	want := map[string]Role{
		"worker":      {Env: env, Command: Command{Shell: "x"}, GPUs: 4, Procs: 2, Memory: 4 << 30, Image: "i"},
		"tensorboard": {Env: env, Image: "i"},
		"notebook":    {Env: env, Command: Command{Shell: "y"}, GPUs: 1, Image: "i"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := refusal(t, "roles: {tensorboard: {}, worker: {}}"); !strings.Contains(got, "roles.worker.command: missing") || strings.Contains(got, "tensorboard.command") {
		t.Error(got)
	}
}
