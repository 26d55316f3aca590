package archive

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// checkSparse packs and unpacks a file that is all hole but for one word.
func checkSparse(t *testing.T, size int64) {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	middle := size/2 + 12345
	_, werr := f.WriteAt([]byte("here"), middle)
	if err := errors.Join(werr, f.Truncate(size), f.Close()); err != nil {
		t.Fatal(err)
	}
	data, sum := pack(t, dir, Options{})
	if sum.Bytes != size || len(data) > 4<<20 {
		t.Errorf("packed %d bytes into %d", sum.Bytes, len(data))
	}
	out := filepath.Join(unpackTo(t, data), "sparse")
	var st unix.Stat_t
	if err := unix.Stat(out, &st); err != nil {
		t.Fatal(err)
	}
	if st.Size != size || st.Blocks*512 > 1<<20 {
		t.Errorf("unpacked: size %d, on disk %d", st.Size, st.Blocks*512)
	}
	got, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	buf := make([]byte, 6)
	if _, err := got.ReadAt(buf, middle-1); err != nil || string(buf) != "\x00here\x00" {
		t.Errorf("read %q, %v", buf, err)
	}
}
