package python

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestARecipeIsReadWithEverythingItIncludes(t *testing.T) {
	dir := files(t, t.TempDir(), map[string]string{
		"requirements.txt": "\ufeff# what we need\r\n--index-url https://example.org/simple\r\n-r base/base.txt\r\nnumpy >= 1.2 ; python_version > '3' # why not\r\n" +
			"torch==2.1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\r\n",
		"base/base.txt":   "--requirement=deep.txt\n-c../limits.txt\n./pkg[extra] ; sys_platform == 'linux'\n-e ../here\n",
		"base/deep.txt":   "six#egg\nname @ https://example.org/x.whl\n-e git+https://example.org/x.git#egg=x\n-f ../wheels\n",
		"limits.txt":      "six<2\n-c more.txt\n",
		"more.txt":        "idna<4\n",
		"base/pkg/a.py":   "",
		"here/setup.py":   "",
		"wheels/w.whl":    "",
		"unrelated/x.txt": "",
	})
	r, err := Read(t.Context(), filepath.Join(dir, "requirements.txt"), Interpreter{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"--index-url https://example.org/simple", "six#egg", "name @ https://example.org/x.whl", "git+https://example.org/x.git#egg=x",
		"--find-links " + dir + "/wheels", dir + "/base/pkg[extra] ; sys_platform == 'linux'", dir + "/here",
		"numpy >= 1.2 ; python_version > '3'", "torch==2.1      --hash=sha256:00      --hash=sha256:11",
	}
	squeeze := func(list []string) []string {
		var out []string
		for _, l := range list {
			out = append(out, strings.Join(strings.Fields(l), " "))
		}
		return out
	}
	if diff := cmp.Diff(squeeze(want), squeeze(r.Lines)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"six<2", "idna<4"}, r.Constraints); diff != "" {
		t.Error(diff)
	}
	if want := []string{"../here: is installed as it is now, not as -e says: tasks do not see later changes"}; !cmp.Equal(want, r.Notes) {
		t.Errorf("notes %q", r.Notes)
	}
	if r.Count() != 7 {
		t.Errorf("%d requirements", r.Count())
	}
}

func TestPathsMayHaveSpaces(t *testing.T) {
	dir := files(t, filepath.Join(t.TempDir(), "my job"), map[string]string{
		"r.txt":       "./my lib[a b] ; python_version > '3'\n-e ./my lib\n. --config-settings x=y\n--find-links my wheels\n",
		"my lib/a.py": "1", "my wheels/w.whl": "", "setup.py": "",
	})
	read := func() *Recipe {
		r, err := Read(t.Context(), filepath.Join(dir, "r.txt"), Interpreter{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := read()
	want := []string{dir + "/my lib[a b] ; python_version > '3'", dir + "/my lib", dir + " --config-settings x=y",
		"--find-links file://" + strings.ReplaceAll(dir, " ", "%20") + "/my%20wheels"}
	if diff := cmp.Diff(want, r.Lines); diff != "" {
		t.Error(diff)
	}
	files(t, dir, map[string]string{"my lib/a.py": "2"})
	if key := r.Key("env", Interpreter{}, nil); key == read().Key("env", Interpreter{}, nil) {
		t.Error("the content of a local package does not count")
	}
}

// What is asked for at an address alone is asked for: no environment stays empty.
func TestAFileThatIsIncludedByItsAddressCounts(t *testing.T) {
	dir := files(t, t.TempDir(), map[string]string{"r.txt": "--no-binary six\n-r https://example.org/base.txt\n", "none.txt": "# nothing\n--pre\n"})
	for name, want := range map[string]int{"r.txt": 1, "none.txt": 0} {
		r, err := Read(t.Context(), filepath.Join(dir, name), Interpreter{}, nil)
		if err != nil || r.Count() != want {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestWhatCannotBeReadIsToldWithTheFileThatIncludesIt(t *testing.T) {
	dir := files(t, t.TempDir(), map[string]string{
		"missing.txt": "-r a.txt\n-r b.txt\n./gone\n", "loop.txt": "-r loop.txt\n", "gone.txt": "./gone\n",
		"poetry.lock": "", "environment.yml": "", "x.json": "",
	})
	for name, want := range map[string]string{
		"missing.txt":     "missing.txt: DIR/a.txt: no such file or directory\nDIR/missing.txt: DIR/b.txt: no such",
		"loop.txt":        "loop.txt: includes itself",
		"gone.txt":        "gone.txt: DIR/gone: no such file or directory",
		"none.txt":        "none.txt: no such file or directory",
		"poetry.lock":     "poetry.lock: is not read here\nhint: poetry export",
		"environment.yml": "environment.yml: is not read here\nhint: conda env create",
		"x.json":          "x.json: is no file of requirements\nhint: ",
	} {
		_, err := Read(t.Context(), filepath.Join(dir, name), Interpreter{}, nil)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), dir, "DIR"), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

func TestTheAddressChangesWithWhatDecidesAndWithNothingElse(t *testing.T) {
	dir := files(t, t.TempDir(), map[string]string{"requirements.txt": "-r more.txt\n./pkg\n", "more.txt": "six\n", "pkg/a.py": "x = 1\n"})
	i := Interpreter{Path: "/usr/bin/python3", Prefix: "/usr", Name: "CPython", Version: "3.11.2", Tag: "cp311", Machine: "x86_64", Libc: "glibc 2.36"}
	home := files(t, t.TempDir(), map[string]string{"pip.conf": "[global]\nindex-url = https://ada:secret@example.org/simple\n"})
	environ := []string{"PIP_INDEX_URL=https://ada:secret@example.org/simple", "PIP_CONFIG_FILE=" + home + "/pip.conf", "HOME=" + home}
	key := func(environ []string, i Interpreter) string {
		t.Helper()
		r, err := Read(t.Context(), filepath.Join(dir, "requirements.txt"), i, environ)
		if err != nil {
			t.Fatal(err)
		}
		return r.Key("env", i, settings("pip", environ))
	}
	first := key(environ, i)
	write := func(name, text string) func() {
		return func() { files(t, dir, map[string]string{name: text}) }
	}
	for name, same := range map[string]func(){
		"a comment":                    write("more.txt", "six  # of course\n"),
		"compiled code in the package": write("pkg/__pycache__/a.pyc", "x"),
		"an installer's leftovers":     write("pkg/pkg.egg-info/PKG-INFO", "x"),
		"another password":             func() { environ[0] = "PIP_INDEX_URL=https://bob:other@example.org/simple" },
		"another password in a file": func() {
			files(t, home, map[string]string{"pip.conf": "[global]\nindex-url = https://example.org/simple\n"})
		},
		"how loud it is":       func() { environ = append(environ, "PIP_VERBOSE=1") },
		"another way to start": func() { i.Path = "/bin/python3" },
	} {
		if same(); key(environ, i) != first {
			t.Errorf("%s: another address", name)
		}
	}
	seen := map[string]string{first: "the first"}
	for name, differs := range map[string]func(){
		"an included file":         write("more.txt", "six==1\n"),
		"a file of the package":    write("pkg/a.py", "x = 2\n"),
		"another index":            func() { environ[0] = "PIP_INDEX_URL=https://example.com/simple" },
		"another index in a file":  func() { files(t, home, map[string]string{"pip.conf": "[global]\nno-index = true\n"}) },
		"another version":          func() { i.Version, i.Tag = "3.12.1", "cp312" },
		"another machine":          func() { i.Machine = "aarch64" },
		"another interpreter":      func() { i.Prefix = "/opt/python" },
		"another system's library": func() { i.Libc = "glibc 2.17" },
	} {
		differs()
		k := key(environ, i)
		if old := seen[k]; old != "" {
			t.Errorf("%s: the address of %s", name, old)
		}
		seen[k] = name
	}
}

func TestHashesOfALockAreWrittenWhereAllHaveSome(t *testing.T) {
	p := []lockPackage{
		{Name: "a", Version: "1", Marker: "os_name == 'posix'", Wheels: []lockedFile{{Hashes: map[string]string{"sha256": "00"}}}, Sdist: &lockedFile{Hashes: map[string]string{"sha256": "11"}}},
		{Name: "b", Archive: &lockedFile{URL: "https://example.org/b.zip", Hashes: map[string]string{"sha256": "22"}}},
		{Name: "c", Version: "3", Marker: "'train' in extras", Wheels: []lockedFile{{Hashes: map[string]string{"sha256": "33"}}}},
	}
	want := []string{"a==1 ; os_name == 'posix' --hash=sha256:00 --hash=sha256:11", "b @ https://example.org/b.zip --hash=sha256:22"}
	got, err := locked(p)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	p[0].Wheels, p[0].Sdist = nil, nil
	got, err = locked(append(p, lockPackage{Name: "d"}))
	if diff := cmp.Diff([]string{"a==1 ; os_name == 'posix'", "b @ https://example.org/b.zip"}, got); diff != "" || err == nil {
		t.Error(diff, err)
	}
}

func FuzzLogical(f *testing.F) {
	f.Add("a \\\n b # c\n\n-r x")
	f.Add("# x \\\ny")
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range logical(text) {
			if l == "" || strings.TrimSpace(l) != l || strings.Contains(l, "\n") {
				t.Errorf("%q", l)
			}
		}
	})
}
