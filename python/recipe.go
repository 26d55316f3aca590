package python

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Recipe is what is to be installed. All kinds of files become requirements, in
// the form that uv and pip read alike.
type Recipe struct {
	Path        string   // as it was named
	Lines       []string // requirements and options, includes written out
	Constraints []string
	Complete    bool     // a lock: nothing is to be added to it
	Notes       []string // what a reader should know
	sources     []source // local files and directories that are installed
}

// source is something local that a requirement names.
type source struct{ path, sum string }

// Kinds of recipes.
const (
	kindRequirements = "requirements"
	kindPyproject    = "pyproject.toml"
	kindUV           = "uv.lock"
	kindPylock       = "pylock.toml"
)

// refusals are files that say what to install, to others.
var refusals = map[string]string{
	"poetry.lock":      "poetry export -f requirements.txt -o requirements.txt makes a file that is understood",
	"Pipfile":          "pipenv requirements > requirements.txt makes a file that is understood",
	"Pipfile.lock":     "pipenv requirements > requirements.txt makes a file that is understood",
	"pdm.lock":         "pdm export -o requirements.txt makes a file that is understood",
	"setup.py":         "write a requirements.txt with one line: .",
	"setup.cfg":        "write a requirements.txt with one line: .",
	"environment.yml":  "conda env create -f environment.yml makes the environment, python: {conda: NAME} uses it",
	"environment.yaml": "conda env create -f environment.yaml makes the environment, python: {conda: NAME} uses it",
}

// Known tells what kind of recipe a file's name means, or why it is none.
func Known(path string) error {
	_, err := kindOf(path)
	return err
}

func kindOf(path string) (string, error) {
	base := filepath.Base(path)
	if hint, ok := refusals[base]; ok {
		return "", fmt.Errorf("%s: is not read here\nhint: %s", base, hint)
	}
	switch ext := filepath.Ext(base); {
	case base == kindPyproject || base == kindUV:
		return base, nil
	case base == kindPylock, strings.HasPrefix(base, "pylock.") && ext == ".toml":
		return kindPylock, nil
	case slices.Contains([]string{".toml", ".lock", ".yml", ".yaml", ".json", ".py", ".cfg"}, ext):
		return "", fmt.Errorf("%s: is no file of requirements\nhint: a requirements.txt, pyproject.toml, uv.lock or pylock.toml is", base)
	}
	return kindRequirements, nil
}

// Read reads a recipe and everything that it includes.
func Read(ctx context.Context, path string, i Interpreter, environ []string) (*Recipe, error) {
	kind, err := kindOf(path)
	if err != nil {
		return nil, err
	}
	r := &Recipe{Path: path}
	switch kind {
	case kindRequirements:
		err = r.readFile(path, nil)
	case kindUV:
		err = r.readUV(ctx, environ)
	default:
		err = r.readTOML(ctx, kind, i, environ)
	}
	if err == nil {
		err = r.sum(ctx)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// readUV lets uv write out its lock.
func (r *Recipe) readUV(ctx context.Context, environ []string) error {
	program := uv(ctx, environ)
	if program == "" {
		return fmt.Errorf("%s: only uv reads it, and there is none in PATH\n"+
			"hint: install uv, or name the file that this makes: uv export --frozen --no-emit-project -o requirements.txt", r.Path)
	}
	out, err := output(ctx, installing(environ), program, "export", "--frozen", "--no-emit-project", "--no-default-groups", "--no-editable",
		"--no-header", "--no-annotate", "--quiet", "--format", "requirements-txt", "--project", filepath.Dir(r.Path))
	if err != nil {
		return fmt.Errorf("%s: uv export: %w", r.Path, err)
	}
	r.Complete = true
	return r.readText(r.Path, string(out), nil)
}

// loadTOML is run by an interpreter; those before 3.11 read TOML by their pip.
const loadTOML = `import json, sys
try: import tomllib
except ImportError:
    try: from pip._vendor import tomli as tomllib
    except ImportError: sys.exit("this Python reads no TOML: Python 3.11 does, or one with pip")
with open(sys.argv[1], "rb") as f: json.dump(tomllib.load(f), sys.stdout, default=str)`

// document is what is looked at in pyproject.toml and pylock.toml.
type document struct {
	Project *struct {
		Dependencies []string `json:"dependencies"`
		Dynamic      []string `json:"dynamic"`
	} `json:"project"`
	Tool struct {
		UV struct {
			Sources map[string]any `json:"sources"`
			Index   []any          `json:"index"`
		} `json:"uv"`
		Poetry map[string]any `json:"poetry"`
	} `json:"tool"`
	LockVersion string        `json:"lock-version"`
	Packages    []lockPackage `json:"packages"`
}

func (r *Recipe) readTOML(ctx context.Context, kind string, i Interpreter, environ []string) error {
	if _, err := os.Stat(r.Path); err != nil {
		return fmt.Errorf("%s: %w", r.Path, cause(err))
	}
	out, err := output(ctx, environ, i.Path, "-I", "-c", loadTOML, r.Path)
	if err != nil {
		return fmt.Errorf("%s: cannot be read by %s: %w", r.Path, i.Path, err)
	}
	var d document
	if err := json.Unmarshal(out, &d); err != nil {
		return fmt.Errorf("%s: %w", r.Path, err)
	}
	lines, err := d.lines(kind)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Path, err)
	}
	r.Complete = kind == kindPylock
	return r.readText(r.Path, strings.Join(lines, "\n"), nil)
}

// lines are the requirements of a document.
func (d *document) lines(kind string) ([]string, error) {
	if kind == kindPylock {
		if !strings.HasPrefix(d.LockVersion, "1.") && d.LockVersion != "1" {
			return nil, fmt.Errorf("lock-version %q: only 1.x is known", d.LockVersion)
		}
		return locked(d.Packages)
	}
	switch {
	case d.Project == nil && d.Tool.Poetry != nil:
		return nil, errors.New("its dependencies are poetry's own\nhint: " + refusals["poetry.lock"])
	case d.Project == nil:
		return nil, errors.New("has no [project]\nhint: write the dependencies there, or into a requirements.txt")
	case slices.Contains(d.Project.Dynamic, "dependencies"):
		return nil, errors.New("its dependencies are worked out when it is built\nhint: a requirements.txt with the one line . installs what it needs")
	case len(d.Tool.UV.Sources) > 0 || len(d.Tool.UV.Index) > 0:
		return nil, errors.New("[tool.uv] says where its dependencies come from, which uv alone understands\nhint: uv lock makes uv.lock: name that")
	}
	return d.Project.Dependencies, nil
}

// Key is the content address of what comes of a recipe: everything that decides
// it, and nothing else. settings are those of the installer.
func (r *Recipe) Key(what string, i Interpreter, settings []string) string {
	h := sha256.New()
	put := func(list ...string) {
		for _, s := range list {
			fmt.Fprintf(h, "%d:%s,", len(s), s)
		}
		fmt.Fprint(h, ";")
	}
	put("muster python 1", what, i.Prefix, i.Name, i.Version, i.Tag, i.Machine, i.Libc)
	put(r.Lines...)
	put(r.Constraints...)
	for _, s := range r.sources {
		put(s.path, s.sum)
	}
	put(settings...)
	return short(hex.EncodeToString(h.Sum(nil)))
}

// short is as much of a hash as a name needs: paths of interpreters stand in the
// first line of scripts, which Linux reads up to 127 characters in places.
func short(sum string) string { return sum[:16] }

// Count is how many requirements there are, as far as they are written here: a
// file at an address that is included counts as one.
func (r *Recipe) Count() int {
	n := 0
	for _, l := range r.Lines {
		if !strings.HasPrefix(l, "-") || strings.HasPrefix(l, "-r ") {
			n++
		}
	}
	return n
}

// write puts the recipe where an installer reads it and gives its arguments.
func (r *Recipe) write(dir string) ([]string, error) {
	file, constraints := filepath.Join(dir, "requirements.txt"), filepath.Join(dir, "constraints.txt")
	args := []string{"-r", file}
	write := func(name string, lines []string) error {
		return os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
	}
	err := write(file, r.Lines)
	if len(r.Constraints) > 0 {
		err = errors.Join(err, write(constraints, r.Constraints))
		args = append(args, "-c", constraints)
	}
	if r.Complete {
		args = append(args, "--no-deps")
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("%s: cannot be written: %w", p.Path, p.Err)
	}
	return args, err
}
