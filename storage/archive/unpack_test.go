package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

type entry struct {
	name, body, link string
	kind             byte
	mode             int64
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Linkname: e.link, Typeflag: e.kind, Mode: e.mode, Size: int64(len(e.body))}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		err := w.WriteHeader(h)
		if e.body != "" {
			_, werr := w.Write([]byte(e.body))
			err = errors.Join(err, werr)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		switch {
		case e.kind == tar.TypeSymlink:
			h.SetMode(fs.ModeSymlink | 0o777)
		case e.mode != 0:
			h.SetMode(fs.FileMode(e.mode))
		}
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = f.Write([]byte(e.body + e.link))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipOf(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstdOf(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err == nil {
		_, err = w.Write(data)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bzip2 of a tar with one file a, whose content is 1; the package cannot write it.
func bzip2Tar(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "a.tar.bz2"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The archive is told by what it is, whatever it is called, and wherever the
// #archive notation is read: all come through here.
func TestF026UsersArchivesOfEveryKindAreUnpackedOnce(t *testing.T) {
	entries := []entry{
		{name: "a", body: "1"},
		{name: "dir with blank/run.sh", body: "#!", mode: 0o755},
		{name: "link", link: "a", kind: tar.TypeSymlink},
		{name: "実.zip", body: "PK, but not unpacked again"},
	}
	want := files{"a": "1", "dir with blank/": "", "dir with blank/run.sh 755": "#!", "link": "-> a", "実.zip": "PK, but not unpacked again"}
	for name, tc := range map[string]struct {
		data []byte
		want files
	}{
		"tar":                        {tarOf(t, entries...), want},
		"tar.gz":                     {gzipOf(t, tarOf(t, entries...)), want},
		"tar.zst":                    {zstdOf(t, tarOf(t, entries...)), want},
		"tar.bz2":                    {bzip2Tar(t), files{"a": "1"}},
		"zip":                        {zipOf(t, entries...), want},
		"an empty tar":               {tarOf(t), files{}},
		"an empty zip":               {zipOf(t), files{}},
		"names with ./":              {tarOf(t, entry{name: "./", kind: tar.TypeDir, mode: 0o755}, entry{name: "./a", body: "1"}), files{"a": "1"}},
		"absolute names":             {tarOf(t, entry{name: "/a", body: "1"}), files{"a": "1"}},
		"a name twice":               {tarOf(t, entry{name: "a", body: "old"}, entry{name: "a", body: "1"}), files{"a": "1"}},
		"a hard link":                {tarOf(t, entry{name: "a", body: "1"}, entry{name: "b", link: "a", kind: tar.TypeLink}), files{"a": "1", "b": "1"}},
		"devices and pipes":          {tarOf(t, entry{name: "null", kind: tar.TypeChar}, entry{name: "p", kind: tar.TypeFifo}, entry{name: "a", body: "1"}), files{"a": "1"}},
		"a directory after its file": {tarOf(t, entry{name: "d/a", body: "1"}, entry{name: "d/", kind: tar.TypeDir, mode: 0o500}), files{"d/ 500": "", "d/a": "1"}},
		"a directory named twice":    {tarOf(t, entry{name: "d/", kind: tar.TypeDir, mode: 0o700}, entry{name: "d/", kind: tar.TypeDir, mode: 0o755}), files{"d/": ""}},
		"a zip of Windows":           {zipOf(t, entry{name: `d\a`, body: "1"}), files{"d/": "", "d/a": "1"}},
		"a zip with a directory":     {zipOf(t, entry{name: "d/"}, entry{name: "d/a", body: "1"}), files{"d/": "", "d/a": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, read(t, unpackTo(t, tc.data))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNothingGetsOutsideTheDirectory(t *testing.T) {
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"dot dot":                  {tarOf(t, entry{name: "../evil", body: "x"}), "../evil: leads outside of the archive"},
		"dot dot inside":           {tarOf(t, entry{name: "a/../../evil", body: "x"}), "a/../../evil: leads outside of the archive"},
		"dot dot in a zip":         {zipOf(t, entry{name: "../evil", body: "x"}), "../evil: leads outside of the archive"},
		"backslashes in a zip":     {zipOf(t, entry{name: `..\evil`, body: "x"}), "../evil: leads outside of the archive"},
		"through a link":           {tarOf(t, entry{name: "l", link: "..", kind: tar.TypeSymlink}, entry{name: "l/evil", body: "x"}), "l/evil: cannot make: path escapes from parent"},
		"through two links":        {tarOf(t, entry{name: "l", link: ".", kind: tar.TypeSymlink}, entry{name: "l/m", link: "../..", kind: tar.TypeSymlink}, entry{name: "m/evil", body: "x"}), "m/evil: cannot make: path escapes from parent"},
		"through an absolute link": {tarOf(t, entry{name: "l", link: "/tmp", kind: tar.TypeSymlink}, entry{name: "l/evil", body: "x"}), "l/evil: cannot make: path escapes from parent"},
		"through a link in a zip":  {zipOf(t, entry{name: "l", link: "..", kind: tar.TypeSymlink}, entry{name: "l/evil", body: "x"}), "l/evil: cannot make: path escapes from parent"},
		"a directory by a link":    {tarOf(t, entry{name: "l", link: "..", kind: tar.TypeSymlink}, entry{name: "l/evil/", kind: tar.TypeDir}), "l/evil: cannot make directory: path escapes from parent"},
		"a hard link to outside":   {tarOf(t, entry{name: "h", link: "../victim", kind: tar.TypeLink}), "../victim: leads outside of the archive"},
		"a hard link by a link":    {tarOf(t, entry{name: "l", link: "..", kind: tar.TypeSymlink}, entry{name: "h", link: "l/victim", kind: tar.TypeLink}), "h: cannot make: path escapes from parent"},
	} {
		t.Run(name, func(t *testing.T) {
			base := files{"victim": "untouched"}.write(t, t.TempDir())
			dir := filepath.Join(base, "out")
			err := Unpack(t.Context(), bytes.NewReader(tc.data), dir)
			if want := dir + ": cannot unpack: " + tc.want; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			if diff := cmp.Diff(files{"victim": "untouched"}, read(t, base)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALinkIsReplacedAndNotWrittenThrough(t *testing.T) {
	base := files{"victim": "untouched"}.write(t, t.TempDir())
	data := tarOf(t, entry{name: "l", link: "../victim", kind: tar.TypeSymlink}, entry{name: "l", body: "mine"})
	if err := Unpack(t.Context(), bytes.NewReader(data), filepath.Join(base, "out")); err != nil {
		t.Fatal(err)
	}
	want := files{"victim": "untouched", "out/": "", "out/l": "mine"}
	if diff := cmp.Diff(want, read(t, base)); diff != "" {
		t.Error(diff)
	}
}

func TestACutArchiveLeavesNothing(t *testing.T) {
	plain := tarOf(t, entry{name: "a", body: strings.Repeat("x", 700)}, entry{name: "b", body: "2"})
	for name, data := range map[string][]byte{
		"tar": plain, "tar.gz": gzipOf(t, plain), "tar.zst": zstdOf(t, plain), "zip": zipOf(t, entry{name: "a", body: "1"}),
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			end := len(data)
			if name == "tar" {
				end -= 2 * block // within the end mark itself nothing is lost
			}
			for cut := 0; cut < end; cut += 1 + end/97 {
				if err := Unpack(t.Context(), bytes.NewReader(data[:cut]), filepath.Join(base, "out")); err == nil {
					t.Fatalf("%d of %d bytes were taken for an archive", cut, len(data))
				}
				wantNothing(t, base)
			}
		})
	}
}

func TestADamagedArchiveLeavesNothing(t *testing.T) {
	data := zstdOf(t, tarOf(t, entry{name: "a", body: strings.Repeat("some text ", 50)}))
	data[len(data)/2] ^= 0x10
	base := t.TempDir()
	if err := Unpack(t.Context(), bytes.NewReader(data), filepath.Join(base, "out")); err == nil {
		t.Error("damage was not noticed")
	}
	wantNothing(t, base)
}

func TestUnpackRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"text":             {[]byte(strings.Repeat("just text\n", 200)), "neither a tar nor a zip archive"},
		"a short text":     {[]byte("just text\n"), "neither a tar nor a zip archive"},
		"a gzip of text":   {gzipOf(t, bytes.Repeat([]byte("just text\n"), 200)), "neither a tar nor a zip archive"},
		"xz":               {[]byte("\xfd7zXZ\x00..."), "compressed by xz, which is not read here\nhint: pack it as .tar.zst, .tar.gz or .zip"},
		"nothing":          {nil, "the archive breaks off: its end mark is missing"},
		"a file as parent": {tarOf(t, entry{name: "a", body: "1"}, entry{name: "a/b", body: "2"}), "a/b: cannot make: not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			dir := filepath.Join(base, "out")
			err := Unpack(t.Context(), bytes.NewReader(tc.data), dir)
			if want := dir + ": cannot unpack: " + tc.want; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			wantNothing(t, base)
		})
	}
}

// What a look at the beginning can refuse is refused before it is sent.
func TestKnown(t *testing.T) {
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"a tar":        {tarOf(t, entry{name: "a", body: "1"}), ""},
		"a gzip":       {gzipOf(t, nil), ""},
		"a bzip2":      {bzip2Tar(t), ""},
		"a zip":        {[]byte("PK\x03\x04..."), ""},
		"an empty zip": {[]byte("PK\x05\x06" + strings.Repeat("\x00", 18)), ""},
		"nothing":      {nil, "is empty, an archive is expected"},
		"a short text": {[]byte("just text\n"), "is neither a tar nor a zip archive"},
		"a long text":  {[]byte(strings.Repeat("just text\n", 200)), "is neither a tar nor a zip archive"},
		"xz":           {[]byte("\xfd7zXZ\x00..."), errXZ.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := Known(bytes.NewReader(tc.data)); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestUnpackTakesTheplaceOfNothingButAnEmptyDirectory(t *testing.T) {
	data := tarOf(t, entry{name: "a", body: "1"})
	for name, tc := range map[string]struct {
		before, want files
		err          error
	}{
		"nothing":            {files{}, files{"out/": "", "out/a": "1"}, nil},
		"an empty directory": {files{"out/": ""}, files{"out/": "", "out/a": "1"}, nil},
		"a directory":        {files{"out/": "", "out/b": "2"}, files{"out/": "", "out/b": "2"}, fs.ErrExist},
		"a file":             {files{"out": "2"}, files{"out": "2"}, unix.ENOTDIR},
	} {
		t.Run(name, func(t *testing.T) {
			base := tc.before.write(t, t.TempDir())
			err := Unpack(t.Context(), bytes.NewReader(data), filepath.Join(base, "out"))
			if !errors.Is(err, tc.err) {
				t.Errorf("got %v, want %v", err, tc.err)
			}
			got := read(t, base)
			delete(got, "out/ 700")
			if _, ok := got["out/a"]; ok {
				got["out/"] = ""
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUnpackEndsWithItsContextAndLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	base := t.TempDir()
	err := Unpack(ctx, bytes.NewReader(tarOf(t, entry{name: "d/", kind: tar.TypeDir, mode: 0o500}, entry{name: "a", body: "1"})), filepath.Join(base, "out"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wantNothing(t, base)
}

func TestALongNameOfTheDirectoryIsNoProblem(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("é", 127))
	if err := Unpack(t.Context(), bytes.NewReader(tarOf(t, entry{name: "a", body: "1"})), dir); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files{"a": "1"}, read(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// Whatever comes in, nothing appears beside the directory, and the directory
// appears only without an error.
func FuzzUnpack(f *testing.F) {
	all := []entry{{name: "a", body: "1"}, {name: "d/", kind: tar.TypeDir}, {name: "l", link: "..", kind: tar.TypeSymlink},
		{name: "l/x", body: "2"}, {name: "h", link: "a", kind: tar.TypeLink}}
	f.Add(tarOf(f, all...))
	f.Add(tarOf(f, all[:3]...))
	f.Add(gzipOf(f, tarOf(f, all[:2]...)))
	f.Add(zstdOf(f, tarOf(f, all[:3]...)))
	f.Add(zipOf(f, all[0], all[2], all[3]))
	f.Add(zipOf(f, all[:3]...))
	f.Fuzz(func(t *testing.T, data []byte) {
		base := t.TempDir()
		inner := filepath.Join(base, "inner")
		if err := os.Mkdir(inner, 0o700); err != nil {
			t.Fatal(err)
		}
		err := Unpack(t.Context(), bytes.NewReader(data), filepath.Join(inner, "out"))
		entries, rerr := os.ReadDir(inner)
		if rerr != nil {
			t.Fatal(rerr)
		}
		if err != nil && len(entries) > 0 || err == nil && (len(entries) != 1 || entries[0].Name() != "out") {
			t.Errorf("after %v there is %v", err, entries)
		}
		if beside, err := os.ReadDir(base); err != nil || len(beside) != 1 {
			t.Errorf("outside: %v %v", beside, err)
		}
		// TempDir cannot remove directories that the archive made unreadable.
		if err := removeAll(inner); err != nil {
			t.Error(err)
		}
	})
}
