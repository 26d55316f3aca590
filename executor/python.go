package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-project/muster/python"
	"github.com/muster-project/muster/wire"
)

// home is the Python environment of the task: found or made when the first
// incarnation is prepared, and used by all. Preparing writes it, and a launch
// that follows reads it.
type home struct {
	dir   string // empty: none, python is an interpreter alone
	conda bool
	held  io.Closer // keeps it from being cleaned away
}

// interpreter prepares what "python" is in the task. An interpreter that is
// given by its file, or by a name that this node's PATH has, becomes "python" and
// "python3" through two scripts, not links: Python finds its libraries from the
// path that it was started by.
func (e *executor) interpreter(ctx context.Context, dir string) error {
	if e.home.dir == "" {
		if err := e.environment(ctx); err != nil {
			return err
		}
	}
	path := e.Python.Interpreter
	if e.home.dir != "" || path == "" {
		return nil
	}
	if !strings.Contains(path, "/") {
		found, err := python.Find(ctx, path, "", e.inherited())
		if err != nil {
			return fmt.Errorf("python.interpreter: %w", err)
		}
		path = found.Path
	}
	if err := executable("python.interpreter", path); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%s: cannot be made: %w", dir, cause(err))
	}
	script := "#!/bin/sh\nexec " + quote(path) + " \"$@\"\n"
	for _, name := range []string{"python", "python3"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil { // must be executable
			return fmt.Errorf("%s: cannot be written: %w", dir, cause(err))
		}
	}
	return nil
}

// environment finds or makes the environment that the job names, if it names one.
func (e *executor) environment(ctx context.Context) error {
	p := e.Python
	var dir string
	var err error
	shelf := &python.Shelf{Dir: e.Shelf, Environ: e.inherited(), Who: "the executor of " + e.Task.String(), Tell: func(s python.Step) { e.say(ctx, s) }}
	open := func() (io.ReadCloser, error) { return e.source(ctx, p.Blob, p.Archive) }
	switch {
	case p.Env != "":
		dir = p.Env
	case p.Venv != "":
		if err := executable("python.venv", filepath.Join(p.Venv, "bin", "python")); err != nil {
			return err
		}
		e.home.dir = p.Venv
		return nil
	case p.Conda != "":
		return e.conda()
	case p.Archive == "" && p.Requirements == "":
		return nil
	case e.Shelf == "" || p.Archive == "" && p.Blob == "":
		return errors.New("python: nobody made the environment of this job before it was submitted\nhint: submit it again")
	case p.Archive != "":
		dir, err = shelf.Unpack(ctx, p.File().Key(), p.Interpreter, open)
	default:
		dir, err = shelf.Install(ctx, p.Blob, p.Interpreter, open)
	}
	if err != nil {
		return err
	}
	held, err := python.Hold(dir)
	if err != nil {
		return err
	}
	if err := executable("python", filepath.Join(dir, "bin", "python")); err != nil {
		return errors.Join(err, held.Close())
	}
	e.home = home{dir: dir, conda: isDir(filepath.Join(dir, "conda-meta")), held: held}
	return nil
}

func (e *executor) conda() error {
	dir, err := python.Conda(e.Python.Conda, e.inherited())
	if err != nil {
		return err
	}
	if list := python.Activations(dir); len(list) > 0 {
		e.log.Warn("the environment has scripts that conda would run, and that are not run here", "scripts", list)
	}
	e.home.dir, e.home.conda = dir, true
	return nil
}

// inherited is the environment that the task begins with.
func (e *executor) inherited() []string {
	out := make([]string, 0, len(e.Environ))
	for _, name := range slices.Sorted(maps.Keys(e.Environ)) {
		out = append(out, name+"="+e.Environ[name])
	}
	return out
}

// say tells the job what is being made on this node. What passes is for people
// at a terminal.
func (e *executor) say(ctx context.Context, s python.Step) {
	if s.Passing {
		return
	}
	e.log.Info("python", "step", s.Text)
	e.tell(ctx, report{published: []wire.Published{{Key: "python", Value: s.Text}}})
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func executable(key, path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %s: %w", key, path, cause(err))
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fmt.Errorf("%s: %s: is not executable", key, path)
	}
	return nil
}

// quote makes one word of a shell of s.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// python adds what makes the interpreter found first.
func (e *executor) python(env map[string]string, dir string) {
	front := func(bin string) {
		path := env["PATH"]
		if path == "" {
			path = "/usr/local/bin:/usr/bin:/bin"
		}
		env["PATH"] = bin + ":" + path
	}
	switch h, p := e.home, e.Python; {
	case h.dir != "":
		front(filepath.Join(h.dir, "bin"))
		delete(env, "PYTHONHOME")
		if !h.conda {
			env["VIRTUAL_ENV"] = h.dir
			return
		}
		env["CONDA_PREFIX"], env["CONDA_DEFAULT_ENV"] = h.dir, filepath.Base(h.dir)
		if p.Conda != "" && !strings.Contains(p.Conda, "/") {
			env["CONDA_DEFAULT_ENV"] = p.Conda
		}
	case p.Interpreter != "":
		front(filepath.Join(dir, toolDir))
	}
}
