package embedded

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func packed(t *testing.T, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestNothingEmbeddedGivesNoPath(t *testing.T) {
	dir := t.TempDir()
	path, err := extract(nil, dir)
	if path != "" || err != nil {
		t.Fatalf("got %q, %v; want no path and no error", path, err)
	}
}

func TestManyAtOnceGetOneWholeExecutable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	data := packed(t, "the executor")
	paths := make([]string, 8)
	var all sync.WaitGroup
	for i := range paths {
		all.Go(func() {
			path, err := extract(data, dir)
			if err != nil {
				t.Errorf("extract: %v", err)
			}
			paths[i] = path
			got, err := os.ReadFile(path)
			if err != nil || string(got) != "the executor" {
				t.Errorf("%s holds %q, %v", path, got, err)
			}
		})
	}
	all.Wait()
	for _, path := range paths {
		if path != paths[0] {
			t.Errorf("two paths for one content: %s and %s", path, paths[0])
		}
	}
	info, err := os.Stat(paths[0])
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v, %v; want 0755", info.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files left in %s, %v; want the executable alone", len(entries), dir, err)
	}
}

func TestAnotherVersionGetsAnotherName(t *testing.T) {
	dir := t.TempDir()
	one, err := extract(packed(t, "one"), dir)
	if err != nil {
		t.Fatal(err)
	}
	two, err := extract(packed(t, "two"), dir)
	if err != nil {
		t.Fatal(err)
	}
	if one == two {
		t.Errorf("both versions are called %s", one)
	}
}

func TestTheNameIsFoundWithoutReadingTheContent(t *testing.T) {
	data := packed(t, "the executor")
	want := name(data)
	clear(data[:len(data)-8])
	if got := name(data); got != want {
		t.Errorf("the name is %s and was %s: it depends on more than the last eight bytes", got, want)
	}
}

func TestABrokenArchiveLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	data := packed(t, "the executor, cut short")
	if _, err := extract(data[:len(data)-6], dir); err == nil {
		t.Fatal("no error for a cut archive")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Errorf("%d files left, %v; want none", len(entries), err)
	}
}
