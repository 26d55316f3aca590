package archive

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Pack writes dir to w as tar.zst. It never packs w itself when that is a file
// inside dir. All files that cannot be read are reported at once; what has been
// written to w is then of no use.
//
// Same content gives the same bytes as long as the compressor stays the same; a
// new version of it costs one more upload, nothing else.
func Pack(ctx context.Context, w io.Writer, dir string, o Options) (Summary, error) {
	z, err := newFrames(w)
	if err != nil {
		return Summary{}, fmt.Errorf("%s: cannot pack: %w", dir, err)
	}
	p := &packer{ctx: ctx, root: dir, out: tar.NewWriter(z), buf: make([]byte, 256<<10)}
	if err := p.exclude(w, o.Exclude); err != nil {
		return Summary{}, err
	}
	ig := newIgnorer(o.Ignore)
	if err := p.walk("", ig); err != nil {
		return Summary{}, err
	}
	if len(p.problems) > 0 {
		return Summary{}, errors.Join(p.problems...)
	}
	if err := errors.Join(p.out.Close(), z.Close()); err != nil {
		return Summary{}, fmt.Errorf("%s: cannot pack: %w", dir, err)
	}
	return p.sum, nil
}

type packer struct {
	ctx      context.Context
	root     string
	out      *tar.Writer
	buf      []byte
	skip     []fs.FileInfo // never packed, wherever they are
	sum      Summary
	problems []error
}

func (p *packer) exclude(w io.Writer, paths []string) error {
	if f, ok := w.(interface{ Stat() (fs.FileInfo, error) }); ok {
		if info, err := f.Stat(); err == nil {
			p.skip = append(p.skip, info)
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: cannot stat: %w", path, err)
		}
		p.skip = append(p.skip, info)
	}
	return nil
}

func (p *packer) skipped(info fs.FileInfo) bool {
	for _, s := range p.skip {
		if os.SameFile(s, info) {
			return true
		}
	}
	return false
}

// walk packs the directory at rel, whose own entry is already written. Order is
// by name, byte by byte, so that it depends on nothing else.
func (p *packer) walk(rel string, ig *ignorer) error {
	dir := filepath.Join(p.root, rel)
	entries, err := os.ReadDir(dir)
	if err != nil {
		if rel == "" {
			return fmt.Errorf("%s: cannot read: %w", dir, cause(err))
		}
		p.problem(rel, "cannot read", err)
		return nil
	}
	ig, err = ig.enter(dir, rel)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := p.ctx.Err(); err != nil {
			return fmt.Errorf("%s: not packed: %w", p.root, err)
		}
		name := e.Name()
		if rel != "" {
			name = rel + "/" + name
		}
		if ig.ignored(name, e.IsDir()) {
			continue
		}
		if err := p.entry(name, ig); err != nil {
			return err
		}
	}
	return nil
}

func (p *packer) entry(rel string, ig *ignorer) error {
	path := filepath.Join(p.root, rel)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		p.skipping(rel, "it went while the directory was packed")
		return nil
	}
	if err != nil {
		p.problem(rel, "cannot stat", err)
		return nil
	}
	if p.skipped(info) {
		return nil
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		if err := p.header(&tar.Header{Typeflag: tar.TypeDir, Name: rel + "/", Mode: int64(mode.Perm())}); err != nil {
			return err
		}
		return p.walk(rel, ig)
	case mode&fs.ModeSymlink != 0:
		return p.link(rel, path)
	case mode.IsRegular():
		return p.file(rel, path)
	default:
		p.skipping(rel, kind(mode))
		return nil
	}
}

func (p *packer) link(rel, path string) error {
	target, err := os.Readlink(path)
	if err != nil {
		p.problem(rel, "cannot read link", err)
		return nil
	}
	return p.header(&tar.Header{Typeflag: tar.TypeSymlink, Name: rel, Linkname: target, Mode: 0o777})
}

func (p *packer) file(rel, path string) error {
	// Between Lstat and here it may have become a link that leads outside, or a
	// pipe that would keep us waiting.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		p.problem(rel, "cannot read", err)
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		p.problem(rel, "changed while it was packed", err)
		return nil
	}
	if len(p.problems) > 0 {
		return nil // only looking for further problems now
	}
	size := info.Size()
	if err := p.header(&tar.Header{Typeflag: tar.TypeReg, Name: rel, Size: size, Mode: int64(info.Mode().Perm())}); err != nil {
		return err
	}
	n, err := copyBuffer(p.ctx, p.out, &sparse{file: f, size: size}, p.buf)
	if err != nil {
		return fmt.Errorf("%s: cannot pack: %w", path, cause(err))
	}
	if n < size {
		return fmt.Errorf("%s: cannot pack: it shrank from %d to %d bytes meanwhile\nhint: leave it out in .musterignore if other programs write to it", path, size, n)
	}
	p.sum.Files++
	p.sum.Bytes += size
	return nil
}

func (p *packer) header(h *tar.Header) error {
	h.Format = tar.FormatPAX
	h.ModTime = stamp
	if err := p.out.WriteHeader(h); err != nil {
		return fmt.Errorf("%s: cannot pack: %w", filepath.Join(p.root, h.Name), err)
	}
	return nil
}

func (p *packer) problem(rel, what string, err error) {
	path := filepath.Join(p.root, rel)
	if err == nil {
		p.problems = append(p.problems, fmt.Errorf("%s: %s", path, what))
		return
	}
	p.problems = append(p.problems, fmt.Errorf("%s: %s: %w\nhint: leave it out by a line in .musterignore", path, what, cause(err)))
}

func (p *packer) skipping(rel, why string) {
	p.sum.Skipped = append(p.sum.Skipped, fmt.Sprintf("%s: not packed: %s", rel, why))
}

func kind(m fs.FileMode) string {
	switch {
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeDevice != 0:
		return "a device"
	default:
		return "not a file"
	}
}

// cause takes the words of package os away; the path is said already.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}

// copyBuffer is io.CopyBuffer that ends with its context.
func copyBuffer(ctx context.Context, w io.Writer, r io.Reader, buf []byte) (int64, error) {
	var n int64
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		k, err := r.Read(buf)
		if k > 0 {
			m, werr := w.Write(buf[:k])
			n += int64(m)
			if werr != nil {
				return n, werr
			}
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
