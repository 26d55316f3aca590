// Package storagetest holds every storage.FS to its promises: a way to make a
// file system comes in, failed tests come out.
package storagetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/storage"
)

// Factory makes a file system and an empty directory in it, anew for every case.
type Factory func(t *testing.T) (fsys storage.FS, dir string)

// Run runs every case as a subtest.
func Run(t *testing.T, make Factory) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, s *suite)
	}{
		{"create is won by exactly one", createRace},
		{"create refuses what exists", createExisting},
		{"create needs its directory", createWithoutDirectory},
		{"what was synced is seen by others", visibility},
		{"appends are read from an offset", offsets},
		{"rename never replaces", rename},
		{"rename is won by exactly one", renameRace},
		{"directories are renamed", renameDirectory},
		{"mkdir makes parents and takes what exists", mkdir},
		{"list and stat", listAndStat},
		{"remove", remove},
		{"what is not there", notThere},
		{"times", times},
		{"modes", modes},
		{"names in all scripts", names},
		{"big files", big},
		{"a context that is over", cancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys, dir := make(t)
			c.run(t, &suite{FS: fsys, dir: dir})
		})
	}
}

type suite struct {
	storage.FS
	dir string
}

func (s *suite) path(elem ...string) string { return path.Join(append([]string{s.dir}, elem...)...) }

// put makes a file with content.
func (s *suite) put(t *testing.T, name, content string) {
	t.Helper()
	w, err := s.Create(t.Context(), s.path(name), 0o600)
	must(t, err)
	_, err = io.WriteString(w, content)
	must(t, err)
	must(t, w.Sync(t.Context()))
	must(t, w.Close())
}

func (s *suite) get(t *testing.T, name string, offset int64) string {
	t.Helper()
	r, err := s.Open(t.Context(), s.path(name), offset)
	must(t, err)
	data, err := io.ReadAll(r)
	must(t, err)
	must(t, r.Close())
	return string(data)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantIs(t *testing.T, what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: got %v, want %v", what, err, target)
	}
}

func wantEqual(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: -want +got\n%s", what, diff)
	}
}

// race runs eight attempts at once and gives those that succeeded; the others
// must fail with fs.ErrExist.
func race(t *testing.T, attempt func(i int) error) []int {
	t.Helper()
	const runners = 8
	var wg sync.WaitGroup
	start := make(chan struct{})
	errs := make([]error, runners)
	for i := range runners {
		wg.Go(func() {
			<-start
			errs[i] = attempt(i)
		})
	}
	close(start)
	wg.Wait()
	var won []int
	for i, err := range errs {
		if err == nil {
			won = append(won, i)
		} else if !errors.Is(err, fs.ErrExist) {
			t.Errorf("loser %d: got %v, want %v", i, err, fs.ErrExist)
		}
	}
	return won
}

func createRace(t *testing.T, s *suite) {
	for round := range 20 {
		name := strconv.Itoa(round)
		won := race(t, func(i int) error {
			w, err := s.Create(t.Context(), s.path(name), 0o600)
			if err != nil {
				return err
			}
			_, err = io.WriteString(w, strconv.Itoa(i))
			return errors.Join(err, w.Sync(t.Context()), w.Close())
		})
		if len(won) != 1 {
			t.Fatalf("round %d: won by %v, want exactly one", round, won)
		}
		wantEqual(t, "content", s.get(t, name, 0), strconv.Itoa(won[0]))
	}
}

func createExisting(t *testing.T, s *suite) {
	s.put(t, "file", "old")
	must(t, s.Mkdir(t.Context(), s.path("dir"), 0o700))
	for _, name := range []string{"file", "dir"} {
		_, err := s.Create(t.Context(), s.path(name), 0o600)
		wantIs(t, name, err, fs.ErrExist)
	}
	wantEqual(t, "content", s.get(t, "file", 0), "old")
}

func createWithoutDirectory(t *testing.T, s *suite) {
	_, err := s.Create(t.Context(), s.path("none", "file"), 0o600)
	wantIs(t, "create", err, fs.ErrNotExist)
}

func visibility(t *testing.T, s *suite) {
	w, err := s.Create(t.Context(), s.path("log"), 0o600)
	must(t, err)
	want := ""
	for i := range 50 {
		line := "line " + strconv.Itoa(i) + "\n"
		_, err := io.WriteString(w, line)
		must(t, err)
		must(t, w.Sync(t.Context()))
		want += line
		// The writer is still open: this is what a follower and a successor see.
		if got := s.get(t, "log", 0); got != want {
			t.Fatalf("after %d syncs: got %q, want %q", i+1, got, want)
		}
	}
	must(t, w.Close())
	wantEqual(t, "after close", s.get(t, "log", 0), want)
}

func offsets(t *testing.T, s *suite) {
	s.put(t, "file", "0123456789")
	for offset, want := range map[int64]string{0: "0123456789", 1: "123456789", 9: "9", 10: "", 11: ""} {
		wantEqual(t, "from "+strconv.FormatInt(offset, 10), s.get(t, "file", offset), want)
	}
}

func rename(t *testing.T, s *suite) {
	s.put(t, "a", "A")
	s.put(t, "b", "B")
	wantIs(t, "onto a file", s.Rename(t.Context(), s.path("a"), s.path("b")), fs.ErrExist)
	must(t, s.Mkdir(t.Context(), s.path("dir"), 0o700))
	wantIs(t, "onto a directory", s.Rename(t.Context(), s.path("a"), s.path("dir")), fs.ErrExist)
	wantEqual(t, "a", s.get(t, "a", 0), "A")
	wantEqual(t, "b", s.get(t, "b", 0), "B")
	must(t, s.Rename(t.Context(), s.path("a"), s.path("dir", "c")))
	wantEqual(t, "c", s.get(t, "dir/c", 0), "A")
	_, err := s.Stat(t.Context(), s.path("a"))
	wantIs(t, "the old name", err, fs.ErrNotExist)
}

func renameRace(t *testing.T, s *suite) {
	for i := range 8 {
		s.put(t, "from"+strconv.Itoa(i), strconv.Itoa(i))
	}
	won := race(t, func(i int) error {
		return s.Rename(t.Context(), s.path("from"+strconv.Itoa(i)), s.path("to"))
	})
	if len(won) != 1 {
		t.Fatalf("won by %v, want exactly one", won)
	}
	wantEqual(t, "content", s.get(t, "to", 0), strconv.Itoa(won[0]))
	list, err := s.List(t.Context(), s.dir)
	must(t, err)
	wantEqual(t, "files", len(list), 8)
}

func renameDirectory(t *testing.T, s *suite) {
	must(t, s.Mkdir(t.Context(), s.path("a", "sub"), 0o700))
	s.put(t, "a/sub/f", "x")
	must(t, s.Mkdir(t.Context(), s.path("taken"), 0o700))
	wantIs(t, "onto an empty directory", s.Rename(t.Context(), s.path("a"), s.path("taken")), fs.ErrExist)
	must(t, s.Rename(t.Context(), s.path("a"), s.path("b")))
	wantEqual(t, "content", s.get(t, "b/sub/f", 0), "x")
}

func mkdir(t *testing.T, s *suite) {
	for range 2 {
		must(t, s.Mkdir(t.Context(), s.path("x", "y", "z"), 0o700))
	}
	info, err := s.Stat(t.Context(), s.path("x", "y", "z"))
	must(t, err)
	wantEqual(t, "is a directory", info.IsDir(), true)
	s.put(t, "file", "")
	if err := s.Mkdir(t.Context(), s.path("file"), 0o700); err == nil {
		t.Error("a file was taken for a directory")
	}
	if err := s.Mkdir(t.Context(), s.path("file", "below"), 0o700); err == nil {
		t.Error("a directory was made below a file")
	}
}

func listAndStat(t *testing.T, s *suite) {
	list, err := s.List(t.Context(), s.dir)
	must(t, err)
	wantEqual(t, "an empty directory", len(list), 0)
	s.put(t, "b", "four")
	s.put(t, "a", "")
	must(t, s.Mkdir(t.Context(), s.path("c"), 0o700))
	s.put(t, "c/below", "not listed")
	list, err = s.List(t.Context(), s.dir)
	must(t, err)
	var got []string
	for _, info := range list {
		entry := info.Name()
		if info.IsDir() {
			entry += "/"
		} else {
			entry += " " + strconv.FormatInt(info.Size(), 10)
		}
		got = append(got, entry)
	}
	wantEqual(t, "list", got, []string{"a 0", "b 4", "c/"})
	info, err := s.Stat(t.Context(), s.path("b"))
	must(t, err)
	wantEqual(t, "stat", []any{info.Name(), info.Size(), info.IsDir()}, []any{"b", int64(4), false})
}

func remove(t *testing.T, s *suite) {
	must(t, s.Remove(t.Context(), s.path("never", "there")))
	s.put(t, "file", "x")
	must(t, s.Remove(t.Context(), s.path("file")))
	must(t, s.Mkdir(t.Context(), s.path("tree", "deep"), 0o700))
	s.put(t, "tree/deep/file", "x")
	s.put(t, "stays", "x")
	must(t, s.Remove(t.Context(), s.path("tree")))
	list, err := s.List(t.Context(), s.dir)
	must(t, err)
	if len(list) != 1 || list[0].Name() != "stays" {
		t.Errorf("left: %v, want only stays", list)
	}
	// A name is free again at once.
	s.put(t, "file", "new")
	wantEqual(t, "content", s.get(t, "file", 0), "new")
}

func notThere(t *testing.T, s *suite) {
	ctx, p := t.Context(), s.path("nothing")
	_, err := s.Open(ctx, p, 0)
	wantIs(t, "open", err, fs.ErrNotExist)
	_, err = s.Stat(ctx, p)
	wantIs(t, "stat", err, fs.ErrNotExist)
	_, err = s.List(ctx, p)
	wantIs(t, "list", err, fs.ErrNotExist)
	wantIs(t, "rename", s.Rename(ctx, p, s.path("x")), fs.ErrNotExist)
	wantIs(t, "times", s.SetTimes(ctx, p, time.Now()), fs.ErrNotExist)
	if _, err := s.Open(ctx, s.dir, 0); err == nil {
		t.Error("a directory was opened as a file")
	}
	s.put(t, "file", "x")
	if _, err := s.List(ctx, s.path("file")); err == nil {
		t.Error("a file was listed as a directory")
	}
}

func times(t *testing.T, s *suite) {
	s.put(t, "file", "x")
	want := time.Date(2001, time.February, 3, 4, 5, 6, 0, time.UTC)
	must(t, s.SetTimes(t.Context(), s.path("file"), want))
	info, err := s.Stat(t.Context(), s.path("file"))
	must(t, err)
	wantEqual(t, "modified", info.ModTime().UTC(), want)
}

func modes(t *testing.T, s *suite) {
	w, err := s.Create(t.Context(), s.path("file"), 0o640)
	must(t, err)
	must(t, w.Close())
	must(t, s.Mkdir(t.Context(), s.path("dir", "below"), 0o750))
	for name, want := range map[string]fs.FileMode{"file": 0o640, "dir": 0o750, "dir/below": 0o750} {
		info, err := s.Stat(t.Context(), s.path(name))
		must(t, err)
		wantEqual(t, name, info.Mode().Perm(), want)
	}
}

// names: two spellings of one letter, composed and combining, are two names.
func names(t *testing.T, s *suite) {
	want := []string{"a b", "caf\u00e9", "cafe\u0301", "実験 №1.txt", "🙂.json", "a%20b", "-rf", "quote'\"$x"}
	for _, name := range want {
		s.put(t, name, name)
	}
	list, err := s.List(t.Context(), s.dir)
	must(t, err)
	var got []string
	for _, info := range list {
		got = append(got, info.Name())
		wantEqual(t, "content", s.get(t, info.Name(), 0), info.Name())
	}
	slices.Sort(want)
	slices.Sort(got)
	wantEqual(t, "names", got, want)
}

func big(t *testing.T, s *suite) {
	part := make([]byte, 1<<20)
	if _, err := rand.Read(part); err != nil {
		t.Fatal(err)
	}
	const parts = 24
	w, err := s.Create(t.Context(), s.path("big"), 0o600)
	must(t, err)
	for range parts {
		_, err := w.Write(part)
		must(t, err)
	}
	must(t, w.Sync(t.Context()))
	must(t, w.Close())
	r, err := s.Open(t.Context(), s.path("big"), 0)
	must(t, err)
	buf := make([]byte, len(part))
	for i := range parts {
		_, err := io.ReadFull(r, buf)
		must(t, err)
		if !bytes.Equal(buf, part) {
			t.Fatalf("MiB %d differs", i)
		}
	}
	_, err = r.Read(buf[:1])
	wantIs(t, "behind the end", err, io.EOF)
	must(t, r.Close())
	wantEqual(t, "tail", s.get(t, "big", parts<<20-5), string(part[len(part)-5:]))
}

func cancelled(t *testing.T, s *suite) {
	s.put(t, "file", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Open(ctx, s.path("file"), 0)
	wantIs(t, "open", err, context.Canceled)
	_, err = s.Create(ctx, s.path("new"), 0o600)
	wantIs(t, "create", err, context.Canceled)
	wantIs(t, "rename", s.Rename(ctx, s.path("file"), s.path("new")), context.Canceled)
	wantIs(t, "remove", s.Remove(ctx, s.path("file")), context.Canceled)
	wantEqual(t, "content", s.get(t, "file", 0), "x")
}
