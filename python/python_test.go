package python

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// heard collects what a shelf tells.
type heard struct {
	mu    sync.Mutex
	steps []Step
}

func (h *heard) tell(s Step) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, s)
}

// String is what people read, without what passes.
func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, s := range h.steps {
		if !s.Passing {
			out = append(out, s.Text)
		}
	}
	return strings.Join(out, "\n")
}

// passed are the passing steps.
func (h *heard) passed() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, s := range h.steps {
		if s.Passing {
			out = append(out, s.Text)
		}
	}
	return out
}

// newShelf is an empty shelf and what it tells.
func newShelf(t *testing.T, environ []string) (*Shelf, *heard) {
	t.Helper()
	h := &heard{}
	return &Shelf{Dir: filepath.Join(t.TempDir(), "python"), Environ: environ, Tell: h.tell, Who: "a test"}, h
}

// files writes files into a directory.
func files(t *testing.T, dir string, content map[string]string) string {
	t.Helper()
	for name, text := range content {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// here is the interpreter of this machine.
func here(t *testing.T) Interpreter {
	t.Helper()
	i, err := Find(t.Context(), "", "", os.Environ())
	if err != nil {
		t.Fatalf("python3: these tests make real environments: %v", err)
	}
	return i
}

// without hides programs from an environment: PATH has only what is named, each
// as a link to the real one.
func without(t *testing.T, environ []string, keep ...string) []string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range keep {
		for _, path := range lookPath(name, environ) {
			if _, err := output(t.Context(), environ, path, "--version"); err == nil {
				if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
	}
	return set(environ, "PATH="+dir+":/usr/bin:/bin")
}

// set adds variables to an environment.
func set(environ []string, vars ...string) []string {
	out := slices.Clone(environ)
	for _, v := range vars {
		name, _, _ := strings.Cut(v, "=")
		out = slices.DeleteFunc(out, func(old string) bool { return strings.HasPrefix(old, name+"=") })
		out = append(out, v)
	}
	return out
}

func read(t *testing.T, dir, name string, i Interpreter) *Recipe {
	t.Helper()
	r, err := Read(t.Context(), filepath.Join(dir, name), i, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// says runs a program of an environment and gives what it prints.
func says(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := output(t.Context(), os.Environ(), argv...)
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(argv, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// version is what an environment has of a package.
func version(t *testing.T, env, name string) string {
	t.Helper()
	return says(t, filepath.Join(env, "bin", "python"), "-c", "import importlib.metadata as m; print(m.version('"+name+"'))")
}

// roads are the environments in which each installer is found.
func roads(t *testing.T) map[string][]string {
	t.Helper()
	pip := without(t, os.Environ())
	if found := uv(t.Context(), pip); found != "" {
		t.Fatalf("%s is found all the same", found)
	}
	if uv(t.Context(), os.Environ()) == "" {
		t.Fatal("uv: not found, or it does not run: install it")
	}
	return map[string][]string{"uv": os.Environ(), "pip": pip}
}

func TestManyJobsShareOneBuild(t *testing.T) {
	t.Parallel()
	i := here(t)
	dir := files(t, t.TempDir(), mine)
	s, h := newShelf(t, os.Environ())
	var wg sync.WaitGroup
	envs, errs := make([]string, 4), make([]error, 4)
	for n := range envs {
		wg.Go(func() {
			r, err := Read(t.Context(), filepath.Join(dir, "requirements.txt"), i, s.Environ)
			if err == nil {
				envs[n], err = s.Build(t.Context(), r, i)
			}
			if err == nil { // it is used while others still wait
				var held io.Closer
				if held, err = Hold(envs[n]); err == nil {
					t.Cleanup(func() { _ = held.Close() })
				}
			}
			errs[n] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil || envs[0] == "" || len(slices.Compact(envs)) != 1 {
		t.Fatal(envs, err)
	}
	if n := strings.Count(h.String(), "makes an environment"); n != 1 {
		t.Errorf("%d builds:\n%s", n, h)
	}
	if !strings.Contains(h.String(), "waits for a test, which makes the same: environment of ") {
		t.Errorf("nobody says that it waits:\n%s", h)
	}
}

func TestAFailureShowsTheInstallersLastLinesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	i := here(t)
	dir := files(t, t.TempDir(), map[string]string{"requirements.txt": "--no-index\nsix==0.0.12345\n"})
	for name, environ := range roads(t) {
		t.Run(name, func(t *testing.T) {
			s, _ := newShelf(t, environ)
			_, err := s.Build(t.Context(), read(t, dir, "requirements.txt", i), i)
			var f *Failure
			if !errors.As(err, &f) || !strings.Contains(strings.Join(f.Lines, "\n"), "six==0.0.12345") || len(f.Lines) > lastLines {
				t.Fatalf("error %v", err)
			}
			if !strings.HasPrefix(err.Error(), filepath.Join(dir, "requirements.txt")+": cannot be installed: ") {
				t.Errorf("error %v", err)
			}
			onlyLocks(t, s)
		})
	}
}

// onlyLocks demands that a shelf holds no environment, and nothing of one.
func onlyLocks(t *testing.T, s *Shelf) {
	t.Helper()
	for _, name := range namesIn(s.Dir) {
		if !strings.HasSuffix(name, lockSuffix) {
			t.Errorf("%s is left", name)
		}
	}
}

func TestAnInterruptedBuildEndsTheInstallerAndLeavesNothing(t *testing.T) {
	t.Parallel()
	i := here(t)
	dir := files(t, t.TempDir(), map[string]string{"requirements.txt": "./slow\n", "slow/pyproject.toml": inTree, "slow/backend.py": slowBackend})
	for name, environ := range roads(t) {
		t.Run(name, func(t *testing.T) {
			mark := filepath.Join(t.TempDir(), "mark")
			if err := mkfifo(mark); err != nil {
				t.Fatal(err)
			}
			s, _ := newShelf(t, set(environ, "MARK="+mark))
			ctx, cancel := context.WithCancel(t.Context())
			built := make(chan error, 1)
			go func() {
				_, err := s.Build(ctx, read(t, dir, "requirements.txt", i), i)
				built <- err
			}()
			f, err := os.Open(mark) // until the build has begun
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			cancel()
			if err := <-built; !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			// The end of the pipe is the end of the last process that had it open.
			if _, err := f.Read(make([]byte, 1)); err == nil {
				t.Error("the pipe says something")
			}
			onlyLocks(t, s)
		})
	}
}

// A build that opens a pipe and then never ends.
const slowBackend = `import os, signal
def stay():
    f = open(os.environ["MARK"], "w")
    signal.pause()
def build_wheel(*a, **k): stay()
def prepare_metadata_for_build_wheel(*a, **k): stay()
def get_requires_for_build_wheel(*a, **k): return []
`
