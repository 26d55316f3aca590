package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/storage"
	"github.com/muster-project/muster/storage/storagetest"
)

func TestConformance(t *testing.T) {
	for name, fsys := range map[string]FS{"synced": {}, "lazy": {Lazy: true}} {
		t.Run(name, func(t *testing.T) {
			storagetest.Run(t, func(t *testing.T) (storage.FS, string) { return fsys, t.TempDir() })
		})
	}
}

func TestRenameByHandKeepsThePromises(t *testing.T) {
	for name, tc := range map[string]struct {
		from, to string
		want     error
	}{
		"a file":                      {"file", "new", nil},
		"a file onto a file":          {"file", "other", fs.ErrExist},
		"a file onto a directory":     {"file", "empty", fs.ErrExist},
		"a directory":                 {"full", "new", nil},
		"a directory onto an empty":   {"full", "empty", fs.ErrExist},
		"a directory onto a file":     {"full", "file", fs.ErrExist},
		"what is not there":           {"none", "new", fs.ErrNotExist},
		"a directory into itself":     {"full", "full/below", unix.EINVAL},
		"into a missing directory":    {"file", "none/new", fs.ErrNotExist},
		"a dangling link":             {"dangling", "new", nil},
		"a file onto a dangling link": {"file", "dangling", fs.ErrExist},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, err := range []error{
				os.WriteFile(filepath.Join(dir, "file"), []byte("file"), 0o600),
				os.WriteFile(filepath.Join(dir, "other"), []byte("other"), 0o600),
				os.Mkdir(filepath.Join(dir, "empty"), 0o700),
				os.MkdirAll(filepath.Join(dir, "full", "sub"), 0o700),
				os.Symlink("nowhere", filepath.Join(dir, "dangling")),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			err := renameByHand(filepath.Join(dir, tc.from), filepath.Join(dir, tc.to))
			if !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			_, gone := os.Lstat(filepath.Join(dir, tc.from))
			if tc.from != "none" && errors.Is(gone, fs.ErrNotExist) != (tc.want == nil) {
				t.Errorf("the old name: %v", gone)
			}
			if data, err := os.ReadFile(filepath.Join(dir, "other")); err != nil || string(data) != "other" {
				t.Errorf("the other file holds %q, %v", data, err)
			}
		})
	}
}

func TestModesAreExactWhateverTheUmask(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	dir := t.TempDir()
	w, err := FS{}.Create(t.Context(), filepath.Join(dir, "f"), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), FS{}.Mkdir(t.Context(), filepath.Join(dir, "d"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"f": 0o644, "d": 0o755} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %v", name, info.Mode(), err, want)
		}
	}
}

func TestErrorsNameThePathFirstAndTheCauseLast(t *testing.T) {
	dir := t.TempDir()
	_, err := FS{}.Open(t.Context(), filepath.Join(dir, "none"), 0)
	want := filepath.Join(dir, "none") + ": cannot open: no such file or directory"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = FS{}.Open(t.Context(), "relative", 0)
	if err == nil || err.Error() != "relative: not an absolute path" {
		t.Errorf("got %v", err)
	}
}

func TestRemoveTakesDirectoriesThatTheirOwnerMayNotWrite(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "cache", "module")
	if err := errors.Join(os.MkdirAll(deep, 0o755), os.WriteFile(filepath.Join(deep, "f"), nil, 0o444),
		os.Chmod(deep, 0o555), os.Chmod(filepath.Dir(deep), 0o000)); err != nil {
		t.Fatal(err)
	}
	asUser(t, dir, func() {
		if err := (FS{}).Remove(t.Context(), filepath.Join(dir, "cache")); err != nil {
			t.Error(err)
		}
	})
	if _, err := os.Lstat(filepath.Join(dir, "cache")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}

func TestPermissionIsTold(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "ro"), 0o555)); err != nil {
		t.Fatal(err)
	}
	asUser(t, dir, func() {
		_, err := FS{}.Create(t.Context(), filepath.Join(dir, "ro", "f"), 0o600)
		if !errors.Is(err, fs.ErrPermission) || !strings.HasSuffix(err.Error(), "cannot create: permission denied") {
			t.Errorf("got %v", err)
		}
	})
}
