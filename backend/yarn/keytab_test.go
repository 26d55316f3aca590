package yarn

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/hadoop/token"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/storage/local"
)

func TestSettingsOfAKeytab(t *testing.T) {
	for name, tc := range map[string]struct {
		keytab, principal any
		want              []string // problems
	}{
		"none":             {nil, nil, nil},
		"both":             {"/home/alice/alice.keytab", "alice@EXAMPLE.COM", nil},
		"at home":          {"~/alice.keytab", "alice/host.example.com@EXAMPLE.COM", nil},
		"no principal":     {"/a.keytab", nil, []string{"native.yarn: keytab and principal go together: the one holds the keys of the other"}},
		"no keytab":        {nil, "alice@EXAMPLE.COM", []string{"native.yarn: keytab and principal go together: the one holds the keys of the other"}},
		"relative":         {"alice.keytab", "alice@EXAMPLE.COM", []string{`native.yarn.keytab: "alice.keytab" is not a whole path`}},
		"without a realm":  {"/a.keytab", "alice", []string{`native.yarn.principal: "alice" is not a whole principal`}},
		"two in one":       {"/a.keytab", "alice@A bob@A", []string{`native.yarn.principal: "alice@A bob@A" has a blank, a comma or a control character in it`}},
		"something else":   {1.0, "alice@A", []string{"native.yarn.keytab: not text", "native.yarn: keytab and principal go together: the one holds the keys of the other"}},
		"an empty keytab ": {"", "", nil},
	} {
		native := map[string]any{}
		if tc.keytab != nil {
			native["keytab"] = tc.keytab
		}
		if tc.principal != nil {
			native["principal"] = tc.principal
		}
		s, findings := Decode(testPlan(1, size1, native))
		var got []string
		for _, f := range findings {
			got = append(got, f.Path+": "+f.Problem)
		}
		if name == "something else" && len(got) == 2 {
			got[0] = tc.want[0] // the decoder's own words
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got): %s", name, diff)
		}
		if k, ok := tc.keytab.(string); ok && s.Keytab != k {
			t.Errorf("%s: %q", name, s.Keytab)
		}
	}
}

func TestAJobThatOutlivesItsTokensIsToldBefore(t *testing.T) {
	for run, warned := range map[time.Duration]bool{0: false, week: false, week + time.Minute: true} {
		p := &plan.Plan{Timeout: spec.Timeout{Run: spec.Duration(run)}}
		f := outlives(p, week)
		if (len(f) == 1) != warned || warned && (!f[0].Warning || f[0].Path != "timeout.run") {
			t.Errorf("%v: %v", run, f)
		}
	}
}

// What a node reads after its own krb5.conf includes nothing of the client's machine.
func TestTheKrb5ConfOfTheClient(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	first := write("a", "include /etc/x\n[realms]\n  includedir /etc/y\nA = {\n kdc = a:88\n}\nmodule z")
	write("b", "never")
	list := filepath.Join(dir, "none") + ":" + first + ":" + filepath.Join(dir, "b")
	got, err := readKrb5(func(string) string { return list })
	if err != nil || string(got) != "[realms]\nA = {\n kdc = a:88\n}\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := readKrb5(func(string) string { return filepath.Join(dir, "none") }); err != nil || len(got) > 0 {
		t.Errorf("of nothing: %q, %v", got, err)
	}
}

func TestAKeytabLiesInItsJobsDirectoryUntilTheEnd(t *testing.T) {
	dir := t.TempDir()
	jobDir := JobDir(filepath.Join(dir, "m-1"))
	if err := os.Mkdir(string(jobDir), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{jobDir.Keytab(): modeKey, jobDir.Krb5(): modeData} {
		if err := os.WriteFile(name, []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // an attempt may find it done
		if err := removeKeytab(t.Context(), local.FS{}, jobDir); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{jobDir.Keytab(), jobDir.Krb5()} {
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
}

func TestACoordinatorWithAKeytabTrustsNoTokens(t *testing.T) {
	env := map[string]string{"HADOOP_TOKEN_FILE_LOCATION": "/tokens", "X": "y"}
	getenv := func(name string) string { return env[name] }
	cred := &token.Credentials{Tokens: []token.Token{{Kind: token.KindHDFS}}}
	bare := (&Attempt{AM: &AM{User: "alice"}}).loginOptions("/c", cred, getenv)
	if bare.Tokens != cred || bare.Keytab != "" || bare.User != "alice" {
		t.Errorf("without a keytab: %+v", bare)
	}
	keyed := (&Attempt{AM: &AM{User: "alice", Principal: "alice@A"}}).loginOptions("/c", cred, getenv)
	if keyed.Tokens != nil || keyed.Keytab != "/c/keytab" || keyed.Principal != "alice@A" || keyed.User != "alice" {
		t.Errorf("with a keytab: %+v", keyed)
	}
	got := []string{keyed.Getenv("HADOOP_TOKEN_FILE_LOCATION"), keyed.Getenv("KRB5_CONFIG"), keyed.Getenv("X")}
	if diff := cmp.Diff([]string{"", "/etc/krb5.conf:/c/krb5.conf", "y"}, got); diff != "" {
		t.Error(diff)
	}
	env["KRB5_CONFIG"] = "/opt/krb5.conf"
	if got := keyed.Getenv("KRB5_CONFIG"); got != "/opt/krb5.conf:/c/krb5.conf" {
		t.Error(got)
	}
}
