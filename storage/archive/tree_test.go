package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// files describes a directory: a name that ends in "/" is a directory, a
// content that starts with "-> " a symbolic link. "name 755" gives a mode.
type files map[string]string

func (f files) write(t *testing.T, dir string) string {
	t.Helper()
	for entry, content := range f {
		name, mode := splitMode(entry)
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		target, link := strings.CutPrefix(content, "-> ")
		switch {
		case strings.HasSuffix(name, "/"):
			err = errors.Join(err, os.MkdirAll(path, 0o755))
		case link:
			err = errors.Join(err, os.Symlink(target, path))
		default:
			err = errors.Join(err, os.WriteFile(path, []byte(content), 0o644))
		}
		if mode != same {
			err = errors.Join(err, os.Chmod(path, mode))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const same = ^fs.FileMode(0)

func splitMode(entry string) (string, fs.FileMode) {
	var mode fs.FileMode
	if i := strings.LastIndex(entry, " "); i > 0 {
		if n, err := fmt.Sscanf(entry[i+1:], "%o", &mode); n == 1 && err == nil && len(entry)-i == 4 {
			return entry[:i], mode
		}
	}
	return entry, same
}

// read is the reverse; modes are told where they are not 644 and 755.
func read(t *testing.T, dir string) files {
	t.Helper()
	f := files{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, usual := strings.TrimPrefix(path, dir+"/"), fs.FileMode(0o644)
		content := ""
		switch {
		case d.IsDir():
			name, usual = name+"/", 0o755
		case d.Type()&fs.ModeSymlink != 0:
			content, err = os.Readlink(path)
			f[name] = "-> " + content
			return err
		default:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(data)
		}
		if m := info.Mode().Perm(); m != usual {
			name += fmt.Sprintf(" %03o", m)
		}
		f[name] = content
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func pack(t *testing.T, dir string, o Options) ([]byte, Summary) {
	t.Helper()
	var b bytes.Buffer
	sum, err := Pack(t.Context(), &b, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), sum
}

func unpackTo(t *testing.T, data []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	if err := Unpack(t.Context(), bytes.NewReader(data), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// wantNothing says that a directory holds nothing at all, not even leftovers.
func wantNothing(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("%s: holds %v, %v", dir, entries, err)
	}
}
