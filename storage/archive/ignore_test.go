package archive

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The values of this table were compared with "git check-ignore" of git 2.39.
// One differs on purpose: there "?" is one byte, here it is one letter, é too.
func TestPatternsMeanWhatTheyMeanToGit(t *testing.T) {
	for pattern, tc := range map[string]struct{ ignored, kept string }{
		"*.pyc":           {"a.pyc;d/a.pyc;.pyc;d.pyc/x", "a.py;a.pyc2"},
		"build":           {"build;d/build;build/x", "builds;abuild"},
		"build/":          {"build/x;d/build/x", "build;d/build"},
		"/build":          {"build;build/x", "d/build"},
		"d/build":         {"d/build;d/build/x", "build;e/d/build"},
		"/d/build/":       {"d/build/x", "d/build;e/d/build/x"},
		"**/logs":         {"logs;a/logs;a/b/logs/x", "logsx"},
		"logs/**":         {"logs/a;logs/a/b", "logs;x/logs/a"},
		"a/**/b":          {"a/b;a/x/b;a/x/y/b", "b;ab;a/xb"},
		"a**b":            {"ab;axb;d/axxb", "a/b;a/xb"},
		"*/x":             {"d/x", "x;d/e/x"},
		"?.txt":           {"a.txt;é.txt;d/b.txt", "ab.txt;.txt"},
		"[a-c]1":          {"a1;c1", "d1;-1"},
		"[!a-c]1":         {"d1;-1", "a1"},
		"[^a]1":           {"b1", "a1"},
		"[]]1":            {"]1", "a1"},
		"[a-]1":           {"-1;a1", "b1"},
		"[[:digit:]]x":    {"5x", "ax;:x"},
		`[\]]1`:           {"]1", `\1`},
		"[a":              {"", "[a;a"},
		"a[/]b":           {"", "a/b"},
		"#comment":        {"", "#comment"},
		`\#file`:          {"#file", "file"},
		`\!file`:          {"!file", "file"},
		`a\*`:             {"a*", "ab;a"},
		"trailing  ":      {"trailing", ""},
		`trailing\ `:      {"trailing ", "trailing"},
		"crlf\r":          {"crlf", ""},
		" lead":           {" lead", "lead"},
		"実験/":             {"実験/x", "実験"},
		"a/***/b":         {"a/b;a/x/b", "ab"},
		"(a|b)+.{1}":      {"(a|b)+.{1}", "a;b"},
		"a.b":             {"a.b", "axb"},
		"*":               {"a;d/x", ""},
		"*\n!keep\n!d/":   {"a", "keep;d/keep"},
		"d/*\n!d/keep":    {"d/a", "d/keep;a"},
		"d/\n!d/keep":     {"d/a;d/keep", ""},
		"a\n!a\na":        {"a", ""},
		"a\n!a":           {"", "a;d/a"},
		"!":               {"", "!;a"},
		"/":               {"", "a"},
		"\\":              {"", "\\"},
		"":                {"", "a"},
		"\xef\xbb\xbfbom": {"bom", ""},
		".git":            {".git/config;d/.git", ".gitignore;.github/x"},
	} {
		t.Run(strings.ReplaceAll(pattern, "/", "∕"), func(t *testing.T) {
			for _, name := range strings.Split(tc.ignored, ";") {
				checkIgnored(t, pattern, name, true)
			}
			for _, name := range strings.Split(tc.kept, ";") {
				checkIgnored(t, pattern, name, false)
			}
		})
	}
}

func checkIgnored(t *testing.T, pattern, name string, want bool) {
	t.Helper()
	if name == "" {
		return
	}
	dir := files{".gitignore": pattern, name: "x"}.write(t, t.TempDir())
	data, _ := pack(t, dir, Options{})
	_, packed := read(t, unpackTo(t, data))[name]
	if packed == want {
		t.Errorf("%q: ignored is %t, want %t", name, !packed, want)
	}
}

func TestIgnoreFilesRuleTheirOwnDirectoryAndBelow(t *testing.T) {
	dir := files{
		".gitignore":     "*.log\n/data/\n!root.log\n",
		"a.log":          "", // ignored here
		"root.log":       "", // taken back
		"sub/.gitignore": "!b.log\n/only\nroot.log\n",
		"sub/b.log":      "", // taken back by the deeper file
		"sub/root.log":   "", // ignored by the deeper file
		"sub/only":       "", // anchored to the deeper file's directory
		"sub/x/only":     "",
		"only":           "",
		"data/x":         "",
		"sub/data/x":     "", // the pattern is anchored above
		".git/config":    "",
		"sub/.git":       "gitdir: elsewhere",
		".github/ci.yml": "",
	}.write(t, t.TempDir())
	data, _ := pack(t, dir, Options{})
	var got []string
	for name := range read(t, unpackTo(t, data)) {
		if !strings.HasSuffix(name, "/") {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	want := []string{".github/ci.yml", ".gitignore", "only", "root.log", "sub/.gitignore", "sub/b.log", "sub/data/x", "sub/x/only"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMusterignoreHasTheLastWordBeforeTheCaller(t *testing.T) {
	dir := files{
		".gitignore":      "data/\nvenv/\n",
		".musterignore":   "!data/\n*.ckpt\n!.git\n",
		"data/.gitignore": "*\n",
		"data/digits":     "", // git's deeper file ignores it; nobody of ours takes it back
		"x.ckpt":          "",
		"best.ckpt":       "",
		"venv/x":          "",
		".git/HEAD":       "",
	}.write(t, t.TempDir())
	data, _ := pack(t, dir, Options{Ignore: []string{"!best.ckpt", "/.gitignore"}})
	want := files{".musterignore": "!data/\n*.ckpt\n!.git\n", "data/": "", "best.ckpt": "", ".git/": "", ".git/HEAD": ""}
	if diff := cmp.Diff(want, read(t, unpackTo(t, data))); diff != "" {
		t.Error(diff)
	}
}

func TestAnIgnoreFileThatIsNoFileSaysNothing(t *testing.T) {
	dir := files{".gitignore/": "", ".musterignore": "-> a", "a": "*"}.write(t, t.TempDir())
	data, _ := pack(t, dir, Options{})
	if diff := cmp.Diff(files{".gitignore/": "", ".musterignore": "-> a", "a": "*"}, read(t, unpackTo(t, data))); diff != "" {
		t.Error(diff)
	}
}

func TestAnUnreadableIgnoreFileIsAnError(t *testing.T) {
	dir := files{".gitignore 000": "secret", "secret": "x"}.write(t, t.TempDir())
	asUser(t, dir, func() {
		_, err := Pack(t.Context(), os.Stderr, dir, Options{})
		if want := dir + "/.gitignore: cannot read: permission denied"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// Without special characters a pattern is a name.
func TestAPlainPatternMatchesItselfAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z.é(){}+^$|]{1,8}`).Draw(t, "name")
		other := rapid.StringMatching(`[a-z.é(){}+^$|]{1,8}`).Draw(t, "other")
		p, ok := parsePattern(name)
		if !ok || !p.match(name, false) || !p.match("d/"+name, true) {
			t.Errorf("%q does not match itself", name)
		}
		if name != other && p.match(other, false) {
			t.Errorf("%q matches %q", name, other)
		}
	})
}
