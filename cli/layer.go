package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/muster-project/muster/spec"
)

// maxFile bounds what is read of a job file: a wrong argument may be anything.
const maxFile = 8 << 20

// settingsFiles adds the site's and the user's file, as far as they are there.
func (e *Env) settingsFiles(stack *spec.Stack) error {
	paths, err := e.Paths()
	if err != nil {
		return err
	}
	for _, l := range []struct {
		rank spec.Rank
		path string
	}{{spec.SiteFile, paths.Site}, {spec.UserFile, paths.User}} {
		if l.path == "" {
			continue
		}
		data, err := readFile(l.path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) && l.rank == spec.SiteFile {
			continue
		}
		if err != nil {
			return err
		}
		stack.Add(l.rank, e.relative(l.path), data)
	}
	return nil
}

func (e *Env) readJobFile(file string) (data []byte, name string, err error) {
	if file == "-" {
		data, err = io.ReadAll(io.LimitReader(e.Stdin, maxFile))
		return data, "standard input", err
	}
	data, err = readFile(e.abs(file))
	if errors.Is(err, fs.ErrNotExist) {
		f := faultf(exitJobFile, "%s: no such file", file)
		if near := spec.Suggest(filepath.Base(file), yamlFiles(filepath.Dir(e.abs(file)))); near != "" {
			f.hint("did you mean %s?", filepath.Join(filepath.Dir(file), near))
		}
		return nil, file, f
	}
	if f, ok := errors.AsType[*Fault](err); ok {
		return nil, file, faultf(exitJobFile, "%s: %w", file, errors.Unwrap(f.Err))
	}
	return data, file, err
}

// readFile reads a file that a person named.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, faultf(exitJobFile, "%s: %w", path, cause(err))
	case info.IsDir():
		return nil, faultf(exitJobFile, "%s: %w", path, errIsDir)
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, faultf(exitJobFile, "%s: %w", path, cause(err))
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxFile))
	if err != nil {
		return nil, faultf(exitJobFile, "%s: %w", path, cause(err))
	}
	return data, nil
}

var errIsDir = errors.New("is a directory, a file is expected")

func yamlFiles(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, entry := range entries {
		if looksLikeJobFile(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	return names
}
