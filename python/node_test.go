package python

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// opens opens a file.
func opens(path string) Open { return func() (io.ReadCloser, error) { return os.Open(path) } }

// A project with a build of its own, which needs no index.
const (
	inTree = "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n"
	zipper = `import os, zipfile
def build_wheel(directory, config_settings=None, metadata_directory=None):
    name, info = "mine-1.5-py3-none-any.whl", "mine-1.5.dist-info/"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as z:
        z.write("mine.py")
        z.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: mine\nVersion: 1.5\n")
        z.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(info + "entry_points.txt", "[console_scripts]\nmoo = mine:moo\n")
        z.writestr(info + "RECORD", "mine.py,,\n%sMETADATA,,\n%sWHEEL,,\n%sentry_points.txt,,\n%sRECORD,,\n" % (info, info, info, info))
    return name
`
)

// mine is a recipe of such a project, which has the script moo.
var mine = map[string]string{
	"requirements.txt":    "./mine\n",
	"mine/pyproject.toml": inTree,
	"mine/backend.py":     zipper,
	"mine/mine.py":        "def moo(): print('moo')\n",
}

func TestAnInterpreterThatWheelsAreNotForIsToldAndLeavesNothing(t *testing.T) {
	t.Parallel()
	i := here(t)
	dir := files(t, t.TempDir(), map[string]string{
		"manifest.json": `{"version": 1, "interpreter": {"name": "CPython", "version": "3.5.9", "tag": "cp35", "machine": "x86_64"}, "pip": "pip.whl", "wheels": ["six-1-py3-none-any.whl"]}`,
	})
	pack := filepath.Join(t.TempDir(), "pack")
	if err := packTo(t.Context(), pack, dir); err != nil {
		t.Fatal(err)
	}
	s, _ := newShelf(t, os.Environ())
	_, err := s.Install(t.Context(), "sha", i.Path, opens(pack))
	var m *Mismatch
	want := "python: the wheels are for CPython 3.5.9 (cp35), this node's " + i.Path + " is CPython " + i.Version
	if !errors.As(err, &m) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = s.Install(t.Context(), "other", "/no/python", opens(pack))
	if want := "python: the wheels are for CPython 3.5.9 for x86_64, and this node has none: /no/python: does not run: no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	onlyLocks(t, s)
}

// TestHelperBuild is a process of its own, to be killed: see below.
func TestHelperBuild(t *testing.T) {
	dir := os.Getenv("PYTHON_TEST_BUILD")
	if dir == "" {
		return // it is not for itself
	}
	i := here(t)
	s := &Shelf{Dir: filepath.Join(dir, "shelf"), Environ: os.Environ(), Who: "process X"}
	_, err := s.Build(t.Context(), read(t, dir, "requirements.txt", i), i)
	t.Fatal("it ended: ", err)
}

func TestAKilledBuilderLeavesNothingThatIsUsed(t *testing.T) {
	t.Parallel()
	dir := files(t, t.TempDir(), map[string]string{"requirements.txt": "./slow\n", "slow/pyproject.toml": inTree, "slow/backend.py": slowBackend})
	mark := filepath.Join(dir, "mark")
	if err := mkfifo(mark); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestHelperBuild$")
	cmd.Env = set(os.Environ(), "PYTHON_TEST_BUILD="+dir, "MARK="+mark)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(mark) // until the build has begun
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()

	// The installer goes on without its parent, and holds the lock.
	s, h := newShelf(t, os.Environ())
	s.Dir = filepath.Join(dir, "shelf")
	i := here(t)
	waiting := make(chan struct{}, 1)
	s.Tell = func(st Step) {
		h.tell(st)
		if strings.HasPrefix(st.Text, "waits for process X") {
			waiting <- struct{}{}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	r := read(t, dir, "requirements.txt", i)
	go func() {
		_, err := s.entry(ctx, r.Key("env", i, settings("uv", s.Environ)), "the same", func(_ context.Context, w *work) error {
			if exists(filepath.Join(w.dir, envDir)) {
				t.Error("the leftovers are still there")
			}
			return nil
		})
		done <- err
	}()
	select {
	case <-waiting:
	case err := <-done:
		t.Fatalf("nobody held the lock: %v", err)
	}
	end(t, f)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// end ends the process that has the other end of a pipe open, and waits until
// nobody has: it is an orphan of a killed test.
func end(t *testing.T, f *os.File) {
	t.Helper()
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err != nil || target != f.Name() || strings.HasPrefix(fd, "/proc/"+itoa(os.Getpid())+"/") {
			continue
		}
		pid := atoi(t, strings.Split(fd, "/")[2])
		pgid, err := syscall.Getpgid(pid)
		if err != nil || pgid == syscall.Getpgrp() {
			t.Fatalf("process group of %d: %d, %v", pid, pgid, err)
		}
		if err := syscall.Kill(-pgid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := f.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		t.Errorf("the pipe: %d, %v", n, err)
	}
}

func TestOldEnvironmentsGoUnlessSomebodyUsesThem(t *testing.T) {
	s, h := newShelf(t, nil)
	make := func(key string) string {
		t.Helper()
		dir, err := s.entry(t.Context(), key, key, func(_ context.Context, w *work) error { return os.Mkdir(filepath.Join(w.dir, envDir), 0o500) })
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	old, used, young := make("old"), make("used"), make("young")
	long := time.Now().Add(-Unused - time.Hour)
	held, err := Hold(filepath.Join(used, envDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{old, used} {
		if err := os.Chtimes(filepath.Join(dir, completeFile), long, long); err != nil {
			t.Fatal(err)
		}
	}
	// What a killed builder left.
	if err := os.Mkdir(filepath.Join(s.Dir, "half"), 0o700); err != nil {
		t.Fatal(err)
	}
	make("new")
	for dir, want := range map[string]bool{old: false, used: true, young: true, filepath.Join(s.Dir, "half"): false} {
		if exists(dir) != want {
			t.Errorf("%s is there: %t", dir, !want)
		}
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	make("newer") // looks again: used was touched when it was held, then made old
	if exists(used) {
		t.Errorf("%s is still there", used)
	}
	_, err = Hold(filepath.Join(old, envDir))
	if err == nil || !strings.Contains(err.Error(), "is not there any more") {
		t.Errorf("error %v", err)
	}
	if h.String() != "" {
		t.Errorf("told: %s", h)
	}
	if n := len(slices.DeleteFunc(namesIn(s.Dir), func(n string) bool { return strings.HasSuffix(n, lockSuffix) })); n != 3 {
		t.Errorf("%d environments are left", n)
	}
}

// zipped packs a directory as zip does with links kept (-y).
func zipped(t *testing.T, dir, top string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "env.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	walk(t, dir, func(name string, info fs.FileInfo, content []byte) error {
		h, err := zip.FileInfoHeader(info)
		if err != nil {
			return err
		}
		h.Name = filepath.Join(top, name)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(content)
		}
		return err
	})
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// tarred packs a directory as tar.gz.
func tarred(t *testing.T, dir, top string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "env.tar.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	g := gzip.NewWriter(f)
	w := tar.NewWriter(g)
	walk(t, dir, func(name string, info fs.FileInfo, content []byte) error {
		link := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			link, content = string(content), nil
		}
		h, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		h.Name = filepath.Join(top, name)
		if err = w.WriteHeader(h); err == nil {
			_, err = w.Write(content)
		}
		return err
	})
	if err := errors.Join(w.Close(), g.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// walk gives all files and links of a directory with their content.
func walk(t *testing.T, dir string, do func(name string, info fs.FileInfo, content []byte) error) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var content []byte
		if info.Mode()&fs.ModeSymlink != 0 {
			var target string
			target, err = os.Readlink(path)
			content = []byte(target)
		} else {
			content, err = os.ReadFile(path)
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return do(name, info, content)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAPackedEnvironmentRunsWhereItIsUnpacked(t *testing.T) {
	t.Parallel()
	i := here(t)
	dir := files(t, t.TempDir(), mine)
	s, _ := newShelf(t, os.Environ())
	env, err := s.Build(t.Context(), read(t, dir, "requirements.txt", i), i)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ path, inside string }{
		"a zip":                       {zipped(t, env, ""), ""},
		"a tar.gz with one directory": {tarred(t, env, "venv"), ""},
		"a zip whose place is given":  {zipped(t, env, "deep/venv"), "deep/venv/bin/python3"},
	} {
		t.Run(name, func(t *testing.T) {
			s, h := newShelf(t, os.Environ())
			unpacked, err := s.Unpack(t.Context(), "sha", tc.inside, opens(tc.path))
			if err != nil {
				t.Fatal(err)
			}
			if got := version(t, unpacked, "mine"); got != "1.5" {
				t.Errorf("mine %s", got)
			}
			script := filepath.Join(unpacked, "bin", "moo")
			if text, err := os.ReadFile(script); err != nil || !strings.Contains(string(text), unpacked) {
				t.Errorf("%s: %v\n%s", script, err, text)
			}
			if got := says(t, script); got != "moo" {
				t.Errorf("moo says %s", got)
			}
			if !strings.Contains(h.String(), "environment unpacked in ") {
				t.Errorf("told: %s", h)
			}
			if again, err := s.Unpack(t.Context(), "sha", tc.inside, func() (io.ReadCloser, error) { t.Error("opened again"); return nil, fs.ErrNotExist }); err != nil || again != unpacked {
				t.Errorf("again: %s, %v", again, err)
			}
		})
	}
}

func TestCondaUnpackIsRunOnceAndWrongArchivesAreTold(t *testing.T) {
	i := here(t)
	conda := files(t, t.TempDir(), map[string]string{
		"conda-meta/history": "",
		"bin/conda-unpack":   "import sys, os\nopen(os.path.join(os.path.dirname(sys.argv[0]), '..', 'ran'), 'a').write('once\\n')\n",
		"bin/python":         "#!/bin/sh\nexec '" + i.Path + "' \"$@\"\n",
	})
	if err := os.Chmod(filepath.Join(conda, "bin/python"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, _ := newShelf(t, os.Environ())
	for range 2 {
		env, err := s.Unpack(t.Context(), "sha", "", opens(tarred(t, conda, "")))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(env, "ran")); err != nil || string(text) != "once\n" {
			t.Errorf("ran %q, %v", text, err)
		}
	}

	dangling := files(t, t.TempDir(), map[string]string{"pyvenv.cfg": "home = /opt/gone/bin\n"})
	if err := errors.Join(os.Mkdir(filepath.Join(dangling, "bin"), 0o755), os.Symlink("python3.9", filepath.Join(dangling, "bin/python")),
		os.Symlink("/opt/gone/bin/python3.9", filepath.Join(dangling, "bin/python3.9"))); err != nil {
		t.Fatal(err)
	}
	broken := files(t, t.TempDir(), map[string]string{"bin/python": "#!/bin/sh\necho no module named encodings >&2\nexit 1\n"})
	if err := os.Chmod(filepath.Join(broken, "bin/python"), 0o755); err != nil {
		t.Fatal(err)
	}
	for want, tc := range map[string]struct{ dir, inside string }{
		"python.archive: bin/python: is a link to /opt/gone/bin/python3.9, which is not on this machine\nhint: conda-pack": {dangling, ""},
		"python.archive: no bin/python at its root or in its one directory\nhint: ":                                        {files(t, t.TempDir(), map[string]string{"a": "", "b/c": ""}), ""},
		"python.archive: x/bin/python: no such file or directory":                                                          {dangling, "x/bin/python"},
		"python.archive: interpreter /usr/bin/python3: leads out of the archive":                                           {dangling, "/usr/bin/python3"},
		"python.archive: its interpreter does not run on this machine: ":                                                   {broken, ""},
	} {
		s, _ := newShelf(t, os.Environ())
		_, err := s.Unpack(t.Context(), "sha", tc.inside, opens(tarred(t, tc.dir, "")))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		onlyLocks(t, s)
	}
}

func TestACondaEnvironmentIsFoundByItsName(t *testing.T) {
	home := files(t, t.TempDir(), map[string]string{
		"miniforge3/bin/python":            "",
		"miniforge3/envs/train/bin/python": "",
		"elsewhere/noted/bin/python":       "",
		"set/path/bin/python":              "",
	})
	files(t, home, map[string]string{".conda/environments.txt": home + "/miniforge3\n" + home + "/elsewhere/noted\n"})
	environ := []string{"HOME=" + home, "CONDA_ENVS_PATH=/nowhere:" + home + "/set"}
	for name, want := range map[string]string{
		"train": "miniforge3/envs/train", "noted": "elsewhere/noted", "path": "set/path", "base": "miniforge3", home + "/elsewhere/noted": "elsewhere/noted",
	} {
		if got, err := Conda(name, environ); err != nil || got != filepath.Join(home, want) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	_, err := Conda("tarin", environ)
	for _, want := range []string{"python.conda: tarin: no such environment on this machine; looked in " + home + "/set, " + home + "/miniforge3/envs and ",
		" places that are not there\nhint: there are: path, train"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Conda(home+"/set", environ); err == nil || !strings.Contains(err.Error(), "no bin/python in it") {
		t.Errorf("got %v", err)
	}
	if got := Activations(files(t, home, map[string]string{"x/etc/conda/activate.d/a.sh": ""}) + "/x"); len(got) != 1 {
		t.Errorf("scripts %v", got)
	}
}
