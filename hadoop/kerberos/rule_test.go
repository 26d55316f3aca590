package kerberos

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what comes out to testdata")

// ruleCases are what clusters have, and edges of Hadoop's own parser. The names
// are tried with each. The golden file was compared with what Hadoop 3.5.0's
// KerberosName makes of the same: nothing differs but the words of errors.
var ruleCases = []struct{ rules, mechanism string }{
	{"", ""},
	{"DEFAULT", "hadoop"},
	{"DEFAULT", "mit"},
	{"RULE:[2:$1@$0]([nd]n@.*)s/.*/hdfs/\nRULE:[2:$1@$0]([rn]m@.*)s/.*/yarn/\nDEFAULT", ""},
	{"RULE:[2:$1@$0]([nd]n@.*)s/.*/hdfs/ DEFAULT", "MIT"},
	{"RULE:[1:$1@$0](.*@CORP\\.EXAMPLE)s/@.*//L DEFAULT", ""},
	{"RULE:[1:$1@$0](.*@CORP\\.EXAMPLE)s/@.*///L DEFAULT", ""},
	{"RULE:[1:$1]L", ""},
	{"RULE:[1:$1]/L", ""},
	{"RULE:[2:$1;$2](^.*;admin$)s/;admin$//", ""},
	{"RULE:[2:$1;$2](^.*;admin$)s/(.*);(.*)/$2-$1/", ""},
	{"RULE:[1:$1]s/[aeiou]/X/g RULE:[2:$1.$2]s/[aeiou]/X/", ""},
	{"RULE:[1:$0]", ""},
	{"RULE:[1:$1@$0]", ""},
	{"RULE:[1:$1@$0]", "mit"},
	{"RULE:[1:$2]", ""},
	{"RULE:[1:$]", ""},
	{"RULE:[2:$1-$2@$0]s/@.*//", ""},
	{"RULE:[1:fixed]RULE:[2:two]", ""},
	{"RULE:[1:$1](alice|bob)s/^/\\$0_/", ""},
	{"RULE:[1:$1]s/.*/x/g", ""},
	{"RULE:[1:$1]s/l*/-/g RULE:[2:$1]s/(n)(.)|^r/[$2$1]/g", ""},
	{"RULE:[1:$1]s/^a|c|e$//g", ""},
	{"RULE:[1:$1]s/\\b/|/g", ""},
	{"RULE:[1:$1]s/(a)(l)/$12/", ""},
	{"RULE:[3:$1]", ""},
}

var ruleNames = []string{"alice@LAB.TEST", "Bob@CORP.EXAMPLE", "nn/host.example@LAB.TEST", "rm/host@ELSEWHERE", "eve/admin@LAB.TEST", "plain", "two/parts", "a/b/c@LAB.TEST", "@LAB.TEST", "x@", "a@b@c", "a/b/c"}

func TestRulesGolden(t *testing.T) {
	var b strings.Builder
	for _, c := range ruleCases {
		fmt.Fprintf(&b, "== %q %s\n", c.rules, c.mechanism)
		r, err := ParseRules(c.rules, c.mechanism, home)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range ruleNames {
			got, err := r.Short(n)
			if err != nil {
				if !errors.Is(err, ErrRule) {
					t.Errorf("%v is no %v", err, ErrRule)
				}
				got = "! " + err.Error()
			}
			fmt.Fprintf(&b, "%s\t%s\n", n, got)
		}
	}
	const path = "testdata/rules.golden"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got; -update writes it):\n%s", diff)
	}
}

func TestParseRulesRefuses(t *testing.T) {
	for _, c := range []struct{ rules, mechanism, says string }{
		{"NONSENSE", "", "neither RULE:[ nor DEFAULT"},
		{"DEFAULT RULE", "", "neither RULE:[ nor DEFAULT"},
		{"RULE:[1:$1", "", "no [parts:format]"},
		{"RULE:[1]", "", "no [parts:format]"},
		{"RULE:[x:$1]", "", "no number of parts"},
		{"RULE:[:$1]", "", "no number of parts"},
		{"RULE:[1:$1](a", "", "not closed"},
		{"RULE:[1:$1](a[)", "", "missing closing ]"},
		{"RULE:[1:$1]s/a/b", "", "not closed"},
		{"RULE:[1:$1]s/(?=a)/b/", "", "invalid or unsupported Perl syntax"},
		{"RULE:[1:$1]s/a/$1/", "", "a group that is not there"},
		{"RULE:[1:$1]s/a/b\\/", "", "backslash at the end"},
		{"DEFAULT", "heimdal", "neither hadoop nor mit"},
	} {
		if _, err := ParseRules(c.rules, c.mechanism, home); !errors.Is(err, ErrRule) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want %q", c.rules, err, c.says)
		}
	}
}

func FuzzRules(f *testing.F) {
	for _, c := range ruleCases {
		f.Add(c.rules, c.mechanism == "mit", "alice@LAB.TEST")
	}
	f.Fuzz(func(t *testing.T, rules string, mit bool, principal string) {
		mechanism := "hadoop"
		if mit {
			mechanism = "mit"
		}
		r, err := ParseRules(rules, mechanism, home)
		if err != nil {
			return
		}
		got, err := r.Short(principal)
		if err == nil && !mit && got != principal && strings.ContainsAny(got, "/@") {
			t.Fatalf("%q makes %q of %q", rules, got, principal)
		}
	})
}
