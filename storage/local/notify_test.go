package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestNotifyTellsOfFilesThatAreMadeAndGrow(t *testing.T) {
	dir := t.TempDir()
	n, err := FS{}.Notify(dir)
	if err != nil {
		t.Fatal(err)
	}
	told := func() {
		t.Helper()
		select {
		case <-n.C():
		case <-time.After(10 * time.Second):
			t.Fatal("no word of a change")
		}
	}
	f, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	told()
	if _, err := f.WriteString("more"); err != nil {
		t.Fatal(err)
	}
	told()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestNotifyOfWhatIsNotThere(t *testing.T) {
	if _, err := (FS{}).Notify(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want ErrNotExist", err)
	}
}
