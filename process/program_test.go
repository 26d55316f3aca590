package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhyAProgramDidNotStart(t *testing.T) {
	bin := t.TempDir()
	script := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	script("plain", "#!/bin/sh\n", 0o644)
	script("ok", "#!/bin/sh\n", 0o755)
	script("missing", "#!/no/such/interpreter -x\n", 0o755)
	script("dos", "#!/bin/sh\r\necho\r\n", 0o755)
	script("bare", "echo hello\n", 0o755)
	if err := os.Mkdir(filepath.Join(bin, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		argv   []string
		dir    string
		env    []string
		want   string
		status int
	}{
		"no argv":            {nil, "", nil, "command: is empty", 127},
		"not in PATH":        {[]string{"no-such-program"}, "", []string{"PATH=/bin:/x"}, "no-such-program: no such program in PATH: /bin:/x", 127},
		"lies here":          {[]string{"ok"}, bin, []string{"PATH=/x"}, "ok: no such program in PATH: /x\nhint: a file of that name is in the work directory: ./ok runs it", 127},
		"no file":            {[]string{"./train.py"}, bin, nil, "./train.py: no such file", 127},
		"directory":          {[]string{"./folder"}, bin, nil, "./folder: is a directory, not a program", 126},
		"not executable":     {[]string{"./plain"}, bin, nil, "./plain: is not executable\nhint: chmod +x ./plain, or name its interpreter: python ./plain", 126},
		"only in PATH, dead": {[]string{"plain"}, "", []string{"PATH=/x:" + bin}, "plain: is not executable\nhint: chmod +x plain, or name its interpreter: python plain", 126},
		"interpreter":        {[]string{"./missing"}, bin, nil, `./missing: its first line asks for "/no/such/interpreter": no such program`, 126},
		"dos":                {[]string{"./dos"}, bin, nil, `./dos: its first line asks for "/bin/sh\r": no such program` + "\nhint: the file has DOS line ends: sed -i 's/\\r$//' ./dos", 126},
		"no first line":      {[]string{"./bare"}, bin, nil, "./bare: has no #! line and is no program for this machine", 126},
		"no work directory":  {[]string{"true"}, "/no/such", nil, "/no/such: work directory does not exist", 126},
		"work file":          {[]string{"true"}, "/etc/passwd", nil, "/etc/passwd: work directory is not a directory", 126},
		"nul":                {[]string{"true", "a\x00b"}, "", nil, "true: an argument or environment variable contains a NUL byte", 126},
		"too long":           {[]string{"true", strings.Repeat("x", 3<<20)}, "", nil, "true: arguments and environment are too long: 3145734 bytes", 126},
	} {
		t.Run(name, func(t *testing.T) {
			s := task(t, "")
			p := &s.Procs[0]
			p.Argv, p.Dir, p.Env = tc.argv, tc.dir, tc.env
			got := run(t, s)
			if diff := cmp.Diff([]Exit{{Status: tc.status, Error: tc.want}}, got.Procs, ignoreRun); diff != "" {
				t.Error(diff)
			}
			if got.First != 0 || got.Procs[0].PID != 0 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAProgramIsFoundByItsOwnPath(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "mine"), []byte("#!/bin/sh\necho \"$0 $*\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/x:" + dir + "/bin": dir + "/bin/mine a b\n", "bin": "./bin/mine a b\n"} {
		s := task(t, "")
		s.Procs[0].Argv, s.Procs[0].Dir, s.Procs[0].Env = []string{"mine", "a b"}, dir, []string{"PATH=" + path}
		if got := run(t, s); got.Procs[0].Error != "" {
			t.Error(got.Procs[0].Error)
		}
		if got := content(t, s.Procs[0].Stdout); got != want {
			t.Errorf("PATH=%s: got %q, want %q", path, got, want)
		}
	}
}

func TestOneThatDoesNotStartStopsTheOthers(t *testing.T) {
	s := task(t, "sleep 300", "", "sleep 300")
	s.Procs[1].Argv = []string{"no-such-program"}
	tree := begin(t, s)
	got := result(t, tree)
	if got.First != 1 || !got.Procs[0].Stopped || got.Procs[1].Status != 127 || got.Procs[2].Error == "" || tree.PIDs()[2] != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestOutputThatCannotBeKeptIsSaidBeforeTheStart(t *testing.T) {
	s := task(t, "touch ran")
	s.Procs[0].Stdout = "/proc/nowhere/0.out"
	got := run(t, s)
	if want := "/proc/nowhere/0.out: output cannot be kept: no such file or directory"; got.Procs[0].Error != want {
		t.Errorf("got %q, want %q", got.Procs[0].Error, want)
	}
	if _, err := os.Stat(filepath.Join(s.Procs[0].Dir, "ran")); err == nil {
		t.Error("it ran without a log")
	}
}

func TestBytesInTheEnvironmentAreUnchanged(t *testing.T) {
	s := task(t, `printf %s "$V"`)
	want := "caf\xe9 'quoted' \"twice\", comma\nline\ttab 日"
	s.Procs[0].Env = append(s.Procs[0].Env, "V="+want)
	run(t, s)
	if got := content(t, s.Procs[0].Stdout); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
