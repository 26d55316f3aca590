package python

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Interpreter is what a Python says of itself.
type Interpreter struct {
	Path    string `json:"path"`    // by which it is started
	Prefix  string `json:"prefix"`  // where its own libraries lie
	Name    string `json:"name"`    // CPython, PyPy
	Version string `json:"version"` // 3.11.7
	Tag     string `json:"tag"`     // cp311, as in the names of wheels
	Machine string `json:"machine"` // x86_64
	Libc    string `json:"libc"`    // glibc 2.36
	Pip     string `json:"pip"`     // version of its pip; empty: it has none
	Venv    bool   `json:"venv"`    // it can make environments
	Ensure  bool   `json:"ensure"`  // and can put a pip into them
}

// ask is run by an interpreter, of whatever version, to say what it is.
const ask = `import importlib.util, json, os, platform, sys, sysconfig
def has(name):
    try: return importlib.util.find_spec(name) is not None
    except Exception: return False
def pip():
    try:
        import pip
        return pip.__version__
    except Exception: return ""
def libc():
    try: return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except Exception: return "musl" if "musl" in (sysconfig.get_config_var("HOST_GNU_TYPE") or "") else ""
name = platform.python_implementation()
tag = {"CPython": "cp", "PyPy": "pp"}.get(name, name.lower()) + "%d%d" % sys.version_info[:2]
if sysconfig.get_config_var("Py_GIL_DISABLED"): tag += "t"
print(json.dumps({"prefix": os.path.realpath(sys.base_prefix), "name": name, "version": platform.python_version(), "tag": tag,
    "machine": platform.machine(), "libc": libc(), "pip": pip(), "venv": has("venv"), "ensure": has("ensurepip")}))`

// askTime bounds the question. Interpreters on a network file system take long
// when they are started first.
const askTime = 2 * time.Minute

// Ask starts an interpreter and hears what it is.
func Ask(ctx context.Context, path string, environ []string) (Interpreter, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	i := Interpreter{Path: path}
	out, err := output(ctx, environ, path, "-I", "-c", ask)
	if err != nil {
		return i, fmt.Errorf("%s: does not run: %w", path, err)
	}
	if err := json.Unmarshal(out, &i); err != nil || i.Tag == "" {
		return i, fmt.Errorf("%s: is no Python: it says %.80q", path, out)
	}
	return i, nil
}

// output runs a short program. Its error holds the last line of what it said.
func output(ctx context.Context, environ []string, argv ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = environ, &stdout, &stderr, time.Second
	cmd.SysProcAttr = apart()
	cmd.Cancel = func() error { return killGroup(cmd) }
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		if said := lastLine(stderr.String()); said != "" {
			return nil, fmt.Errorf("%w: %s", cause(err), said)
		}
		return nil, cause(err)
	}
	return stdout.Bytes(), nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// cause is what the system said, without the path that our sentence names.
func cause(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err
	}
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err
	}
	return err
}

// Find asks the interpreter that is wanted, or else the first of the search path
// that runs, those called like tag (python3.11 for cp311) before the others. A
// name that is a shim for nothing does not run, and is passed over.
func Find(ctx context.Context, wanted, tag string, environ []string) (Interpreter, error) {
	if strings.Contains(wanted, "/") {
		return Ask(ctx, wanted, environ)
	}
	names := []string{"python3", "python"}
	if digits := strings.TrimPrefix(tag, "cp"); digits != tag && len(digits) > 1 {
		names = append([]string{"python" + digits[:1] + "." + strings.TrimSuffix(digits[1:], "t")}, names...)
	}
	if wanted != "" {
		names = []string{wanted}
	}
	first, found, wrong := Interpreter{}, false, error(nil)
	for _, name := range names {
		for _, path := range lookPath(name, environ) {
			i, err := Ask(ctx, path, environ)
			if ctx.Err() != nil {
				return i, context.Cause(ctx)
			}
			switch {
			case err != nil && wrong == nil:
				wrong = err
			case err == nil && (tag == "" || i.Tag == tag):
				return i, nil
			case err == nil && !found:
				first, found = i, true
			}
		}
	}
	switch {
	case found:
		return first, nil
	case wrong != nil:
		return first, wrong
	}
	return first, fmt.Errorf("%s: none in PATH\nhint: python: {interpreter: FILE} names one", strings.Join(names, ", "))
}

// lookPath gives all programs of a name, in the order of PATH.
func lookPath(name string, environ []string) []string {
	var out []string
	for dir := range strings.SplitSeq(variable(environ, "PATH"), ":") {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); filepath.IsAbs(dir) && err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			out = append(out, path)
		}
	}
	return out
}

func variable(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// String is what people call it: CPython 3.11.7 for x86_64, glibc 2.36.
func (i Interpreter) String() string {
	s := i.Name + " " + i.Version + " for " + i.Machine
	if i.Libc != "" {
		s += ", " + i.Libc
	}
	return s
}
