package spec

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Cases of the field log that are about the job file. The files with their
// exact messages are in testdata, named by case.

func refusal(t *testing.T, job string) string {
	t.Helper()
	_, err := resolve("job.yaml", []byte(job))
	if err == nil {
		t.Fatalf("accepted:\n%s", job)
	}
	return err.Error()
}

// A setting in another place is never ignored: the right place is named.
func TestF058SettingInAnotherPlace(t *testing.T) {
	for job, want := range map[string]string{
		"command: x\nroles: {a: {queue: q}}": "queue belongs at the top level of the job file",
		"command: x\nkeep: 3":                "keep belongs under logs",
		"command: x\ntimeout: {gpus: 1}":     "gpus belongs to a role: roles.NAME.gpus",
	} {
		if got := refusal(t, job); !strings.Contains(got, want) {
			t.Errorf("%q: %s; want %q", job, got, want)
		}
	}
}

// Of two policies that contradict each other the message says which holds.
func TestF059TwoRestartPolicies(t *testing.T) {
	for job, want := range map[string]string{
		"command: x\non_failure: stop\nrestarts: 3":                      "on_failure: stop holds",
		"command: x\non_failure: ignore\nrestart_scope: job":             "on_failure: ignore holds",
		"command: x\non_failure: restart\nrestarts: 0":                   "0 holds",
		"command: x\non_failure: stop\nmax_failures: 1":                  "on_failure: stop holds",
		"command: x\nwait: false\nends_job: true":                        "ends_job: true holds",
		"command: x\non_failure: stop\nroles: {a: {restarts: 3}, b: {}}": "on_failure: stop holds",
	} {
		if got := refusal(t, job); !strings.Contains(got, want) {
			t.Errorf("%q: %s; want %q", job, got, want)
		}
	}
}

func TestF065RoleNames(t *testing.T) {
	const rule = "letters, digits, - and _, beginning with a letter"
	for _, name := range []string{"2nd", "MÄSTER", `"a b"`, "a.b", "-x", "_x", `""`} {
		if got := refusal(t, "command: x\nroles: {"+name+": {}}"); !strings.Contains(got, rule) {
			t.Errorf("%s: %s; want the rule", name, got)
		}
	}
	for _, name := range []string{"trainer-0", "data_loader", "A"} {
		if _, err := resolve("job.yaml", []byte("command: x\nroles: {"+name+": {}}")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, two := range []string{"a-b: {}, a_b: {}", "A: {}, a: {}"} {
		if got := refusal(t, "command: x\nroles: {"+two+"}"); !strings.Contains(got, "the same in the name of a variable") {
			t.Errorf("%s: %s", two, got)
		}
	}
}

// No value ends in a carriage return, and the places are those of the editor.
func TestF073JobFileWithDOSLineEnds(t *testing.T) {
	const text = "name: digits\ncommand: |\n  echo one\n  echo two\nenv:\n  A: \"x\"\n  B: y z\n  C: \"two\n    lines\"\n"
	want, err := resolve("job.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	dos := strings.ReplaceAll(text, "\n", "\r\n")
	for name, variant := range map[string]string{
		"DOS": dos, "first line only": strings.Replace(text, "\n", "\r\n", 1), "byte-order mark": "\ufeff" + text, "both": "\ufeff" + dos,
	} {
		got, err := resolve("job.yaml", []byte(variant))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want.Job, got.Job); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := refusal(t, "\ufeffname: x\r\ncommand: x\r\n\r\nmemry: 1\r\n"); !strings.HasPrefix(got, "job.yaml:4:1: ") {
		t.Errorf("%s; want line 4", got)
	}
	if got := refusal(t, "\ufeffmemry: 1\r\n"); !strings.HasPrefix(got, "job.yaml:1:1: ") {
		t.Errorf("%s; want column 1, the mark does not count", got)
	}
}

func TestF083CommaInAnExportedValue(t *testing.T) {
	for _, text := range []string{"env: {KEYS: 'a,b'}", "env:\n  KEYS: a,b"} {
		res, err := resolve("job.yaml", []byte("command: x\n"+text))
		if err != nil || res.Job.Env["KEYS"].Value != "a,b" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Arguments with signs of the shell arrive as they were written, by a file and by flags.
func TestF085ShellSignsInArguments(t *testing.T) {
	want := []string{"x", "a b", `a"b`, "it's", "$HOME", "*.py", "(x)", "line\nbreak", "", `back\`, "é", "--weird=1;2"}
	text, err := YAML(map[string]any{"command": want})
	if err != nil {
		t.Fatal(err)
	}
	file, err := resolve("job.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	var s Stack
	s.SetValue("--", "command", want)
	flags, err := s.Resolve("alice")
	if err != nil {
		t.Fatal(err)
	}
	for name, job := range map[string]*Job{"file": file.Job, "flags": flags.Job} {
		if diff := cmp.Diff(want, job.Roles[0].Command.Argv); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestF106LettersBeyondASCII(t *testing.T) {
	const word = "é実e\u0301🚀"
	res, err := resolve("job.yaml", []byte("name: "+word+"\ncommand: [echo, "+word+"]\nenv: {A: "+word+"}\nfiles: ["+word+".txt]\n"))
	if err != nil {
		t.Fatal(err)
	}
	j := res.Job
	got := []string{j.Name, j.Roles[0].Command.Argv[1], j.Env["A"].Value, j.Files[0].Source}
	if diff := cmp.Diff([]string{word, word, word, word + ".txt"}, got); diff != "" {
		t.Error(diff)
	}
}

// Every look-alike is named and its ASCII sign proposed; nothing is guessed.
func TestF107TypographicSigns(t *testing.T) {
	names, err := filepath.Glob("testdata/F107-*.bad.txt")
	if err != nil || len(names) < 6 {
		t.Fatal(names, err)
	}
	for job, want := range map[string]string{
		"command: python –l":          "– (U+2013, en dash)",
		"command: x\nname: “a”":       `write "a"`,
		"command: x\ninstances: 3…4":  "write 3..4",
		"command:\u00a0x":             "U+00A0 (no-break space)",
		"command: x\nmemory：4GiB":     "： (U+FF1A, full-width colon)",
		"command: x\nmax–failures: 1": "did you mean \"max_failures\"?",
	} {
		if got := refusal(t, job); !strings.Contains(got, want) {
			t.Errorf("%q: %s; want %q", job, got, want)
		}
	}
	// Text that an author put into quotes is text.
	for _, job := range []string{"command: x\nenv: {A: '“a” – b'}", "command: echo '“a” – b'", "command: [echo, '–l']", "command: x\nname: naïve – test"} {
		if _, err := resolve("job.yaml", []byte(job)); err != nil {
			t.Errorf("%q: %v", job, err)
		}
	}
}
