package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestWhatIsPackedComesBack(t *testing.T) {
	want := files{
		"train.py":                           "print()\n",
		"run.sh 755":                         "#!/bin/sh\r\n",
		"secret 600":                         "x",
		"data/":                              "",
		"data/empty/":                        "",
		"data/zero":                          "",
		"ro/ 555":                            "",
		"link":                               "-> train.py",
		"loop":                               "-> .",
		"dangling":                           "-> no/such/file",
		"outside":                            "-> /etc/passwd",
		"up":                                 "-> ../../..",
		"data/nul":                           "a\x00b\nc",
		strings.Repeat("long/", 60) + "file": "deep",
	}
	for at := "long"; ; at += "/long" {
		want[at+"/"] = ""
		if strings.Count(at, "/") == 59 {
			break
		}
	}
	dir := want.write(t, t.TempDir())
	data, sum := pack(t, dir, Options{})
	if diff := cmp.Diff(want, read(t, unpackTo(t, data))); diff != "" {
		t.Error(diff)
	}
	if sum.Files != 6 || sum.Bytes != 29 || sum.Skipped != nil {
		t.Errorf("got %+v", sum)
	}
}

func TestF106LettersBeyondASCII(t *testing.T) {
	want := files{
		"caf\u00e9":               "composed",
		"cafe\u0301":              "combining",
		"実験/":                     "",
		"実験/データ 1.csv":            "1",
		"🙂.json":                  "{}",
		"two\nlines":              "x",
		" blank ":                 "x",
		"link to 実験":              "-> 実験/データ 1.csv",
		"latin1 \xe9 is no UTF-8": "x",
		`back\slash`:              "x",
		"-rf":                     "x",
	}
	data, _ := pack(t, want.write(t, t.TempDir()), Options{})
	if diff := cmp.Diff(want, read(t, unpackTo(t, data))); diff != "" {
		t.Error(diff)
	}
}

func TestTheAddressFollowsContentAndNothingElse(t *testing.T) {
	base := files{"a": "1", "d/": "", "d/b 755": "2", "l": "-> a"}
	first, _ := pack(t, base.write(t, t.TempDir()), Options{})
	for name, tc := range map[string]struct {
		change func(dir string) error
		same   bool
	}{
		"nothing":      {func(string) error { return nil }, true},
		"a later time": {func(d string) error { return os.Chtimes(d+"/a", time.Now(), time.Now().Add(time.Hour)) }, true},
		"a hard link in place of a copy": {func(d string) error {
			return errors.Join(os.Remove(d+"/a"), os.WriteFile(d+"/.git", []byte("1"), 0o644), os.Link(d+"/.git", d+"/a"))
		}, true},
		"a content":    {func(d string) error { return os.WriteFile(d+"/a", []byte("3"), 0o644) }, false},
		"a mode":       {func(d string) error { return os.Chmod(d+"/a", 0o755) }, false},
		"a name":       {func(d string) error { return os.Rename(d+"/a", d+"/c") }, false},
		"a link":       {func(d string) error { return errors.Join(os.Remove(d+"/l"), os.Symlink("d", d+"/l")) }, false},
		"an empty dir": {func(d string) error { return os.Mkdir(d+"/e", 0o755) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := base.write(t, t.TempDir())
			if err := tc.change(dir); err != nil {
				t.Fatal(err)
			}
			got, _ := pack(t, dir, Options{})
			if bytes.Equal(first, got) != tc.same {
				t.Errorf("same bytes: %t, want %t", !tc.same, tc.same)
			}
		})
	}
}

func TestWhatHasNoContentIsPassedOverWithANote(t *testing.T) {
	dir := files{"a": "1"}.write(t, t.TempDir())
	if err := unix.Mkfifo(dir+"/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", dir+"/sock")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	data, sum := pack(t, dir, Options{})
	want := []string{"pipe: not packed: a named pipe", "sock: not packed: a socket"}
	if diff := cmp.Diff(want, sum.Skipped); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(files{"a": "1"}, read(t, unpackTo(t, data))); diff != "" {
		t.Error(diff)
	}
}

func TestEveryUnreadableFileIsNamedAtOnce(t *testing.T) {
	dir := files{"a 000": "1", "b": "2", "c/ 000": "", "d 000": "3"}.write(t, t.TempDir())
	asUser(t, dir, func() {
		_, err := Pack(t.Context(), io.Discard, dir, Options{})
		if err == nil {
			t.Error("packed")
			return
		}
		for _, name := range []string{"a", "c", "d"} {
			want := fmt.Sprintf("%s/%s: cannot read: permission denied\nhint: leave it out by a line in .musterignore", dir, name)
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in\n%v", want, err)
			}
		}
	})
	if err := os.Chmod(dir+"/c", 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestADirectoryThatIsNone(t *testing.T) {
	dir := files{"file": "x"}.write(t, t.TempDir())
	for name, want := range map[string]string{"none": "no such file or directory", "file": "not a directory"} {
		_, err := Pack(t.Context(), io.Discard, filepath.Join(dir, name), Options{})
		if want := dir + "/" + name + ": cannot read: " + want; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestALinkToADirectoryCanBePacked(t *testing.T) {
	dir := files{"real/": "", "real/a": "1", "link": "-> real"}.write(t, t.TempDir())
	data, _ := pack(t, filepath.Join(dir, "link"), Options{})
	if diff := cmp.Diff(files{"a": "1"}, read(t, unpackTo(t, data))); diff != "" {
		t.Error(diff)
	}
}

func TestAWriterThatFailsEndsThePacking(t *testing.T) {
	dir := files{"a": strings.Repeat("x", 100)}.write(t, t.TempDir())
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if _, err := Pack(t.Context(), full, dir, Options{}); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v, want %v", err, unix.ENOSPC)
	}
}

func TestPackEndsWithItsContext(t *testing.T) {
	dir := files{"a": "1"}.write(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Pack(ctx, io.Discard, dir, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestF028TheSourceDirectoryHoldsThePlaceWeWorkIn(t *testing.T) {
	want := files{"nested/": "", "nested/empty/": "", "a b": "1", "日本": "2"}
	dir := want.write(t, t.TempDir())
	files{"state/blobs/old": "must not be packed", "state/jobs/m-1/journal/000001.jsonl": "{}"}.write(t, dir)
	var sums [2][]byte
	for i := range sums {
		out, err := os.Create(filepath.Join(dir, "out.tar.zst"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Pack(t.Context(), out, dir, Options{Exclude: []string{filepath.Join(dir, "state"), filepath.Join(dir, "never")}}); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		sums[i], err = os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(sums[0], sums[1]) {
		t.Error("the second archive differs though nothing changed")
	}
	if diff := cmp.Diff(want, read(t, unpackTo(t, sums[0]))); diff != "" {
		t.Error(diff)
	}
}

func TestASparseFileStaysSparse(t *testing.T) { checkSparse(t, 200<<20) }

func TestF029TwoSubmissionsFromOneDirectoryAtOneTime(t *testing.T) {
	dir := files{"shared": "same", "arg": ""}.write(t, t.TempDir())
	out := t.TempDir()
	var mu sync.Mutex // editing and packing are one step for each submitter, unpacking is not
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			want := files{"shared": "same", "arg": fmt.Sprintf("job %d", i)}
			mu.Lock()
			err := os.WriteFile(filepath.Join(dir, "arg"), []byte(want["arg"]), 0o644)
			var b bytes.Buffer
			_, perr := Pack(t.Context(), &b, dir, Options{})
			mu.Unlock()
			to := filepath.Join(out, fmt.Sprint(i))
			if err := errors.Join(err, perr, Unpack(t.Context(), &b, to)); err != nil {
				t.Error(err)
				return
			}
			if diff := cmp.Diff(want, read(t, to)); diff != "" {
				t.Error(diff)
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff(files{"shared": "same"}, read(t, dir), cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().String() == `["arg"]`
	}, cmp.Ignore())); diff != "" {
		t.Errorf("the source directory changed: %s", diff)
	}
	entries, err := os.ReadDir(out)
	if err != nil || len(entries) != 8 {
		t.Errorf("leftovers: %v %v", entries, err)
	}
}

func BenchmarkPack(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		h := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), bytes.Repeat(h[:], 100), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := Pack(b.Context(), io.Discard, dir, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
