package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-project/muster/storage/archive"
)

// An archive of wheels holds all that an environment is made of where there is
// no index and no pip:
//
//	manifest.json   for which interpreter, and what there is
//	wheels/*.whl    the recipe's packages and what these need
//	pip/pip-*.whl   installs them: a wheel of pip runs as it is
const (
	manifestFile = "manifest.json"
	wheelDir     = "wheels"
	pipDir       = "pip"
	packFile     = "wheels.tar.zst"
)

// manifest says what an archive of wheels holds.
type manifest struct {
	Version     int         `json:"version"` // manifestVersion
	Interpreter Interpreter `json:"interpreter"`
	Pip         string      `json:"pip"`
	Wheels      []string    `json:"wheels"`
}

const manifestVersion = 1

// Wheels gives an archive of all wheels that a recipe needs, which is made now
// if it was not yet. What has no wheel is built here.
func (s *Shelf) Wheels(ctx context.Context, r *Recipe, i Interpreter) (string, error) {
	dir, err := s.entry(ctx, r.Key("wheels", i, settings("pip", s.Environ)), "wheels of "+r.Path, func(ctx context.Context, w *work) error {
		w.interpreter = i
		begin := time.Now()
		w.tell("gathers wheels of %s (%s) for %s", filepath.Base(r.Path), counted(r.Count(), "requirement"), i)
		for _, n := range r.Notes {
			w.tell("%s", n)
		}
		n, err := w.gather(ctx, r, i)
		if err != nil {
			return fmt.Errorf("%s: no wheels of it: %w", r.Path, err)
		}
		w.tell("%s gathered in %.1f s", counted(n, "wheel"), time.Since(begin).Seconds())
		return nil
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, packFile), nil
}

// gather packs the wheels of a recipe and says how many there are.
func (w *work) gather(ctx context.Context, r *Recipe, i Interpreter) (int, error) {
	pip, err := w.pip(ctx, i)
	if err != nil {
		return 0, err
	}
	args, err := r.write(w.dir)
	if err != nil {
		return 0, err
	}
	pack := filepath.Join(w.dir, "pack")
	wheels, tool := filepath.Join(pack, wheelDir), filepath.Join(pack, pipDir)
	for _, d := range []string{pack, wheels, tool} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return 0, fmt.Errorf("%s: cannot be made: %w", d, cause(err))
		}
	}
	if r.Count() > 0 {
		if err := w.run(ctx, filepath.Dir(r.Path), append(append(pip, "wheel", "--wheel-dir", wheels), args...)...); err != nil {
			return 0, err
		}
	}
	if err := w.run(ctx, "/", append(pip, "wheel", "--no-deps", "--wheel-dir", tool, "pip")...); err != nil {
		return 0, err
	}
	m := manifest{Version: manifestVersion, Interpreter: i, Wheels: namesIn(wheels)}
	m.Interpreter.Path, m.Interpreter.Prefix = "", "" // of this machine
	if names := namesIn(tool); len(names) == 1 {
		m.Pip = names[0]
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(pack, manifestFile), text, 0o600)
	}
	if err == nil {
		err = packTo(ctx, filepath.Join(w.dir, packFile), pack)
	}
	return len(m.Wheels), errors.Join(err, remove(pack), remove(filepath.Join(w.dir, "tools")))
}

// pip gives a pip that runs under an interpreter: its own, or one that is made.
func (w *work) pip(ctx context.Context, i Interpreter) ([]string, error) {
	if i.Pip != "" {
		return []string{i.Path, "-I", "-m", "pip"}, nil
	}
	tools := filepath.Join(w.dir, "tools")
	pip := []string{filepath.Join(tools, "bin", "python"), "-I", "-m", "pip"}
	if program := uv(ctx, w.Environ); program != "" {
		return pip, w.run(ctx, "/", program, "venv", "--no-project", "--seed", "--python", i.Path, tools)
	}
	if i.Venv && i.Ensure {
		return pip, w.run(ctx, "/", i.Path, "-I", "-m", "venv", tools)
	}
	return nil, fmt.Errorf("%s: has neither pip nor ensurepip\nhint: install your system's python3-pip, or uv", i.Path)
}

func namesIn(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func packTo(ctx context.Context, file, dir string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("%s: cannot be written: %w", file, cause(err))
	}
	_, err = archive.Pack(ctx, f, dir, archive.Options{})
	return errors.Join(err, f.Close())
}
