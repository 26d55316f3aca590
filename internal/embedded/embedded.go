// Package embedded carries the small executor binary inside muster: a
// directory comes in, the path of an executable to start executors with out.
//
// "make build" builds bin/executor first, compresses it and builds muster with
// the tag embed_executor. A plain "go build" carries nothing; then muster
// itself is the executor, started with its hidden verb.
package embedded

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Executor returns the executable that runs as an executor. With none
// embedded, path is empty: the caller starts itself with the verb "executor".
//
// The file lies in dir under a name made of its content, so different versions
// of muster share a directory, and a file that is being executed is never
// written again.
func Executor(dir string) (path string, err error) {
	return extract(executor, dir)
}

func extract(packed []byte, dir string) (string, error) {
	if len(packed) == 0 {
		return "", nil
	}
	path := filepath.Join(dir, "executor-"+name(packed))
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return path, nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: cannot be looked at: %w", path, err)
	}
	if err := unpack(packed, path); err != nil {
		return "", fmt.Errorf("%s: the embedded executor cannot be written: %w", path, err)
	}
	return path, nil
}

// name tells contents apart by what gzip notes at the end of them, their check
// sum and length, and by the packed length. Nothing else is read: what is not
// looked at is not in memory, and every start of muster comes by here.
func name(packed []byte) string {
	return fmt.Sprintf("%x-%x", packed[max(0, len(packed)-8):], len(packed))
}

// unpack writes to a temporary name first: a second muster that looks at the
// same moment finds either nothing or all of it.
func unpack(packed []byte, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	source, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".executor-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // nothing is left to remove once it is renamed
	_, err = io.Copy(file, source)
	err = errors.Join(err, file.Chmod(0o755), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
