package python

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Build gives the environment of a recipe, which is made now if it was not yet.
func (s *Shelf) Build(ctx context.Context, r *Recipe, i Interpreter) (string, error) {
	program := uv(ctx, s.Environ)
	installer := "pip"
	if program != "" {
		installer = "uv"
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	what := "environment of " + r.Path
	dir, err := s.entry(ctx, r.Key("env", i, settings(installer, s.Environ)), what, func(ctx context.Context, w *work) error {
		begin := time.Now()
		w.interpreter = i
		w.tell("makes an environment of %s (%s) with %s for %s", filepath.Base(r.Path), counted(r.Count(), "requirement"), installer, i)
		for _, n := range r.Notes {
			w.tell("%s", n)
		}
		if err := w.install(ctx, r, i, program); err != nil {
			return fmt.Errorf("%s: cannot be installed: %w", r.Path, err)
		}
		w.tell("environment made in %.1f s: %s", time.Since(begin).Seconds(), filepath.Join(w.dir, envDir))
		return nil
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, envDir), nil
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// install makes the environment of an entry, by uv if there is a program.
func (w *work) install(ctx context.Context, r *Recipe, i Interpreter, program string) error {
	args, err := r.write(w.dir)
	if err != nil {
		return err
	}
	env := filepath.Join(w.dir, envDir)
	start := filepath.Dir(r.Path)
	if program != "" {
		err := w.run(ctx, start, program, "venv", "--no-project", "--python", i.Path, env)
		if err == nil && r.Count() > 0 {
			err = w.run(ctx, start, append([]string{program, "pip", "install", "--python", filepath.Join(env, "bin", "python")}, args...)...)
		}
		return err
	}
	pip, err := w.venv(ctx, i, env)
	if err != nil || r.Count() == 0 {
		return err
	}
	return w.run(ctx, start, append(append(pip, "install"), args...)...)
}

// venv makes an empty environment without uv, and gives the pip that installs
// into it: the interpreter's own where that can, else one that is put into it.
// Debian's Python has neither pip nor ensurepip before its packages are there.
func (w *work) venv(ctx context.Context, i Interpreter, env string) ([]string, error) {
	switch {
	case !i.Venv:
		return nil, fmt.Errorf("%s: has no module venv\nhint: install your system's python3-venv, or uv", i.Path)
	case pipReaches(i.Pip):
		err := w.run(ctx, "/", i.Path, "-I", "-m", "venv", "--without-pip", env)
		return []string{i.Path, "-I", "-m", "pip", "--python", filepath.Join(env, "bin", "python")}, err
	case i.Ensure:
		err := w.run(ctx, "/", i.Path, "-I", "-m", "venv", env)
		return []string{filepath.Join(env, "bin", "python"), "-I", "-m", "pip"}, err
	}
	return nil, fmt.Errorf("%s: has neither pip nor ensurepip\nhint: install your system's python3-venv and python3-pip, or uv", i.Path)
}

// pipReaches says that a pip installs into environments other than its own,
// which came with 22.3.
func pipReaches(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	return errors.Join(err1, err2) == nil && (a > 22 || a == 22 && b >= 3)
}
