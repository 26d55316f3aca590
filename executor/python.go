package executor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// interpreter prepares what "python" is in the task. An interpreter that is
// given by its file becomes "python" and "python3" through two scripts, not
// links: Python finds its libraries from the path that it was started by.
func (e *executor) interpreter(dir string) error {
	p := e.Python
	if p.Venv != "" {
		return executable("python.venv", filepath.Join(p.Venv, "bin", "python"))
	}
	if p.Conda != "" {
		return executable("python.conda", filepath.Join(p.Conda, "bin", "python"))
	}
	if p.Interpreter == "" || !strings.Contains(p.Interpreter, "/") {
		if p.Requirements != "" || p.Archive != "" {
			return errors.New("python: requirements and archives are not installed by the executor: give venv or interpreter")
		}
		return nil
	}
	if err := executable("python.interpreter", p.Interpreter); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%s: cannot be made: %w", dir, cause(err))
	}
	script := "#!/bin/sh\nexec " + quote(p.Interpreter) + " \"$@\"\n"
	for _, name := range []string{"python", "python3"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil { // must be executable
			return fmt.Errorf("%s: cannot be written: %w", dir, cause(err))
		}
	}
	return nil
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
	switch p := e.Python; {
	case p.Venv != "":
		front(filepath.Join(p.Venv, "bin"))
		env["VIRTUAL_ENV"] = p.Venv
		delete(env, "PYTHONHOME")
	case p.Conda != "":
		front(filepath.Join(p.Conda, "bin"))
		env["CONDA_PREFIX"] = p.Conda
		delete(env, "PYTHONHOME")
	case strings.Contains(p.Interpreter, "/"):
		front(filepath.Join(dir, toolDir))
	}
}
