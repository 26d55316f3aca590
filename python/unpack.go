package python

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Unpack gives the environment that lies packed in an archive: a venv or a conda
// environment, at its root or in its one directory. inside is where the
// interpreter lies in it, if that is not bin/python.
func (s *Shelf) Unpack(ctx context.Context, address, inside string, open Open) (string, error) {
	key := sumOf("unpack 1", address, inside)
	dir, err := s.entry(ctx, key, "packed environment", func(ctx context.Context, w *work) error {
		begin := time.Now()
		w.tell("unpacks the environment")
		files := filepath.Join(w.dir, "files")
		if err := unpack(ctx, open, files); err != nil {
			return fmt.Errorf("python.archive: cannot be unpacked: %w", err)
		}
		root, err := rootOf(files, inside)
		if err != nil {
			return fmt.Errorf("python.archive: %w", err)
		}
		env := filepath.Join(w.dir, envDir)
		rel, err := filepath.Rel(w.dir, root)
		if err == nil {
			err = os.Symlink(rel, env)
		}
		if err != nil {
			return fmt.Errorf("%s: cannot be made: %w", env, cause(err))
		}
		if err := w.settle(ctx, env); err != nil {
			return fmt.Errorf("python.archive: %w", err)
		}
		w.tell("environment unpacked in %.1f s: %s", time.Since(begin).Seconds(), w.interpreter)
		return nil
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, envDir), nil
}

func sumOf(words ...string) string {
	h := sha256.New()
	for _, w := range words {
		fmt.Fprintf(h, "%d:%s,", len(w), w)
	}
	return short(hex.EncodeToString(h.Sum(nil)))
}

// rootOf finds the directory above bin/python.
func rootOf(files, inside string) (string, error) {
	if inside != "" {
		if !filepath.IsLocal(inside) {
			return "", fmt.Errorf("interpreter %s: leads out of the archive\nhint: name it as in the archive: venv/bin/python", inside)
		}
		path := filepath.Join(files, inside)
		return filepath.Dir(filepath.Dir(path)), thereIs(path, inside)
	}
	tops, err := os.ReadDir(files)
	if err != nil {
		return "", cause(err)
	}
	for _, top := range append([]string{"."}, only(tops)...) {
		root := filepath.Join(files, top)
		for _, name := range []string{"python", "python3"} {
			path := filepath.Join(root, "bin", name)
			if _, err := os.Lstat(path); err == nil {
				return root, errors.Join(thereIs(path, filepath.Join(top, "bin", name)), linkPython(root))
			}
		}
	}
	return "", errors.New("no bin/python at its root or in its one directory\nhint: python: {archive: …, interpreter: DIR/bin/python} says where it is in the archive")
}

// only gives the one directory of an archive.
func only(entries []os.DirEntry) []string {
	var dirs []string
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, e.Name())
		}
	}
	if len(dirs) == 1 {
		return dirs
	}
	return nil
}

// thereIs says what is wrong with an interpreter in an archive.
func thereIs(path, name string) error {
	info, err := os.Stat(path)
	if err == nil && (info.IsDir() || info.Mode()&0o111 == 0) {
		return fmt.Errorf("%s: is not executable", name)
	}
	if end := linked(path); err != nil && end != path {
		return fmt.Errorf("%s: is a link to %s, which is not on this machine\n"+
			"hint: conda-pack and venv-pack --python-prefix pack environments for other machines; requirements: makes one on each node", name, end)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, cause(err))
	}
	return nil
}

// linked is what is at the end of a chain of links.
func linked(path string) string {
	const most = 40 // as many as Linux follows
	for range most {
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return path
}

// linkPython gives an environment that has only python3 a python.
func linkPython(root string) error {
	err := os.Symlink("python3", filepath.Join(root, "bin", "python"))
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

// settle makes an environment at home where it was unpacked.
func (w *work) settle(ctx context.Context, env string) error {
	python := filepath.Join(env, "bin", "python")
	unpacker := filepath.Join(env, "bin", "conda-unpack")
	if exists(unpacker) {
		if err := w.run(ctx, env, python, unpacker); err != nil {
			return err
		}
	} else if exists(filepath.Join(env, "pyvenv.cfg")) {
		if err := readdress(env); err != nil {
			return err
		}
	}
	i, err := Ask(ctx, python, w.Environ)
	if err != nil {
		return fmt.Errorf("its interpreter does not run on this machine: %w", err)
	}
	w.interpreter = i
	return nil
}

// shebang is the start of a script that was made in an environment.
var shebang = regexp.MustCompile(`^#!(/[^\n]*/bin)/python[0-9.]*[^\n]*\n|^#!/bin/sh\n'''exec' "?(/[^\n"]*/bin)/python`)

// readdress makes scripts of a venv, which hold the path it was made at, start
// the interpreter where it is now.
func readdress(env string) error {
	dir := filepath.Join(env, "bin")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return cause(err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("bin/%s: %w", e.Name(), cause(err))
		}
		m := shebang.FindSubmatch(text)
		if m == nil {
			continue
		}
		old := string(m[1]) + string(m[2])
		head, rest := text[:len(m[0])], text[len(m[0]):]
		head = bytes.ReplaceAll(head, []byte(old), []byte(dir))
		if strings.HasPrefix(old, "/usr/") {
			continue // the system's own, which is meant
		}
		if err := os.WriteFile(path, append(head, rest...), info.Mode().Perm()); err != nil {
			return fmt.Errorf("bin/%s: %w", e.Name(), cause(err))
		}
	}
	return nil
}
