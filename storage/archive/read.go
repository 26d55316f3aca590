package archive

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
)

const block = 512 // of a tar

// What archives of each kind begin with.
const (
	zstdMagic     = "\x28\xb5\x2f\xfd"
	gzipMagic     = "\x1f\x8b"
	bzip2Magic    = "BZh"
	xzMagic       = "\xfd7zXZ\x00"
	zipMagic      = "PK\x03\x04"
	emptyZipMagic = "PK\x05\x06"
)

var (
	errXZ      = errors.New("compressed by xz, which is not read here\nhint: pack it as .tar.zst, .tar.gz or .zip")
	errNeither = errors.New("neither a tar nor a zip archive")
)

// read fills the tree from an archive of any kind.
func (t *tree) read(r io.Reader) error {
	head := bufio.NewReaderSize(r, 64<<10)
	magic, err := head.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return cause(err)
	}
	switch {
	case bytes.HasPrefix(magic, []byte(zstdMagic)):
		// 128 MiB is the largest window that zstd itself makes without being asked for more.
		z, err := zstd.NewReader(head, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20), zstd.WithDecoderLowmem(true))
		if err != nil {
			return err
		}
		defer z.Close()
		return t.tar(z)
	case bytes.HasPrefix(magic, []byte(gzipMagic)):
		z, err := gzip.NewReader(head)
		if err != nil {
			return err
		}
		return t.tar(z)
	case bytes.HasPrefix(magic, []byte(bzip2Magic)):
		return t.tar(bzip2.NewReader(head))
	case bytes.HasPrefix(magic, []byte(xzMagic)):
		return errXZ
	case bytes.HasPrefix(magic, []byte(zipMagic)), bytes.HasPrefix(magic, []byte(emptyZipMagic)):
		return t.zip(head)
	default:
		return t.tar(head)
	}
}

// tar reads to the very end of the stream: only there does the compressor's
// checksum tell whether all of it was right.
func (t *tree) tar(r io.Reader) error {
	end := &tail{r: r}
	in := tar.NewReader(end)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if (errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF)) && end.n <= block {
			return errNeither
		}
		if err != nil {
			return err
		}
		if err := t.ctx.Err(); err != nil {
			return err
		}
		if err := t.tarEntry(h, in); err != nil {
			return err
		}
	}
	// The package takes an end of file between two entries for the end of the
	// archive; a cut archive would look whole.
	if end.n < block || !bytes.Equal(end.last[:], zeros[:block]) {
		return errors.New("the archive breaks off: its end mark is missing")
	}
	_, err := copyBuffer(t.ctx, io.Discard, r, t.buf)
	return err
}

func (t *tree) tarEntry(h *tar.Header, r io.Reader) error {
	name, err := clean(h.Name)
	if err != nil {
		return err
	}
	mode := fs.FileMode(h.Mode).Perm()
	switch h.Typeflag {
	case tar.TypeDir:
		return t.dir(name, mode)
	case tar.TypeSymlink:
		return t.symlink(name, h.Linkname)
	case tar.TypeLink:
		return t.hardlink(name, h.Linkname)
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		return t.file(name, mode, r)
	default:
		return nil
	}
}

// tail remembers the last block that went through it.
type tail struct {
	r    io.Reader
	n    int64
	last [block]byte
}

func (t *tail) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.n += int64(n)
	if n >= block {
		copy(t.last[:], p[n-block:n])
	} else {
		copy(t.last[:], t.last[n:])
		copy(t.last[block-n:], p[:n])
	}
	return n, err
}

// zip is read by its directory, which stands at its end: what cannot seek goes
// through a file without a name first.
func (t *tree) zip(r io.Reader) error {
	f, err := os.CreateTemp("", "muster-*.zip")
	if err != nil {
		return cause(err)
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return cause(err)
	}
	size, err := copyBuffer(t.ctx, f, r, t.buf)
	if err != nil {
		return cause(err)
	}
	in, err := zip.NewReader(f, size)
	if err != nil {
		return err
	}
	for _, e := range in.File {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		if err := t.zipEntry(e); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) zipEntry(e *zip.File) error {
	raw := e.Name
	if !strings.Contains(raw, "/") {
		raw = strings.ReplaceAll(raw, `\`, "/") // some programs of Windows write it so
	}
	name, err := clean(raw)
	if err != nil {
		return err
	}
	mode := e.Mode()
	if strings.HasSuffix(raw, "/") || mode.IsDir() {
		return t.dir(name, permission(e, 0o755))
	}
	if !mode.IsRegular() && mode&fs.ModeSymlink == 0 {
		return nil
	}
	r, err := e.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	defer r.Close()
	if mode.IsRegular() {
		return t.file(name, permission(e, 0o644), r)
	}
	const longest = 4096 // of a path, for Linux
	target, err := io.ReadAll(io.LimitReader(r, longest))
	if err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	return t.symlink(name, string(target))
}

// permission gives a mode to entries made by programs that know none.
func permission(e *zip.File, otherwise fs.FileMode) fs.FileMode {
	const unix, mac = 3, 19
	maker := e.CreatorVersion >> 8
	if m := e.Mode().Perm(); m != 0 && (maker == unix || maker == mac) {
		return m
	}
	return otherwise
}
