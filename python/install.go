package python

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-project/muster/storage/archive"
)

// Open opens an archive, whose content the address sums up.
type Open func() (io.ReadCloser, error)

// Install gives the environment that an archive of wheels makes with an
// interpreter of this machine: the wanted one, or the one of the search path
// that fits. No index is asked.
func (s *Shelf) Install(ctx context.Context, address, wanted string, open Open) (string, error) {
	key := sumOf("install 1", address, wanted)
	dir, err := s.entry(ctx, key, "environment of wheels", func(ctx context.Context, w *work) error {
		begin := time.Now()
		files := filepath.Join(w.dir, "files")
		if err := unpack(ctx, open, files); err != nil {
			return fmt.Errorf("python: the wheels cannot be unpacked: %w", err)
		}
		m, err := readManifest(files)
		if err != nil {
			return err
		}
		if w.interpreter, err = Find(ctx, wanted, m.Interpreter.Tag, w.Environ); err != nil {
			return fmt.Errorf("python: the wheels are for %s, and this node has none: %w", m.Interpreter, err)
		}
		if err := m.fits(w.interpreter); err != nil {
			return err
		}
		w.tell("installs %s for %s", counted(len(m.Wheels), "wheel"), w.interpreter)
		if err := w.installWheels(ctx, m, files); err != nil {
			return fmt.Errorf("python: the wheels cannot be installed: %w", err)
		}
		w.tell("%s installed in %.1f s, for %s", counted(len(m.Wheels), "wheel"), time.Since(begin).Seconds(), w.interpreter)
		return remove(files)
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, envDir), nil
}

func unpack(ctx context.Context, open Open, dir string) error {
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	return archive.Unpack(ctx, in, dir)
}

func readManifest(dir string) (*manifest, error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return nil, fmt.Errorf("python: no archive of wheels: %s: %w", manifestFile, cause(err))
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil || m.Version != manifestVersion || m.Pip == "" {
		return nil, fmt.Errorf("python: no archive of wheels that this muster reads: %.200s", text)
	}
	return &m, nil
}

// installWheels makes an environment without pip and lets the pip that came
// along fill it. Nothing is compiled beforehand: that costs more than it spares
// where a task imports a part of what it has.
func (w *work) installWheels(ctx context.Context, m *manifest, files string) error {
	i := w.interpreter
	if !i.Venv {
		return fmt.Errorf("%s: has no module venv\nhint: python: {interpreter: FILE} names one that has it", i.Path)
	}
	env := filepath.Join(w.dir, envDir)
	if err := w.run(ctx, "/", i.Path, "-I", "-m", "venv", "--without-pip", env); err != nil || len(m.Wheels) == 0 {
		return err
	}
	list := filepath.Join(w.dir, "wheels.txt")
	text := ""
	for _, name := range m.Wheels {
		text += filepath.Join(files, wheelDir, filepath.Base(name)) + "\n"
	}
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		return fmt.Errorf("%s: cannot be written: %w", list, cause(err))
	}
	// pip's own settings on this node are for people who reach an index.
	return w.run(ctx, "/", filepath.Join(env, "bin", "python"), filepath.Join(files, pipDir, filepath.Base(m.Pip), "pip"), "--isolated",
		"install", "--no-index", "--no-deps", "--no-compile", "--no-cache-dir", "-r", list)
}
