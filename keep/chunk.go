package keep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"

	"github.com/klauspost/compress/zstd"

	"github.com/muster-project/muster/storage"
)

// chunkName is the name of the nth chunk of an incarnation, from 1.
func chunkName(n int) string { return fmt.Sprintf("%06d", n) }

// chunkNumber reads the name of a chunk; 0: it is none.
func chunkNumber(name string) int {
	n, err := strconv.Atoi(name)
	if err != nil || n < 1 || chunkName(n) != name {
		return 0
	}
	return n
}

// Dir is where the chunks of an incarnation lie: task is "worker-0".
func Dir(job, task string, incarnation int) string {
	return path.Join(job, logsDir, task, strconv.Itoa(incarnation))
}

const logsDir = "logs"

// Memory is precious in the process that writes chunks, and a larger window
// gains little on the lines of one minute.
const (
	encodeWindow = 128 << 10
	decodeWindow = 8 << 20
)

// chunkMost bounds what a chunk decodes to; writeMost is how much is put in one.
const (
	writeMost = 16 << 20
	chunkMost = 64 << 20
)

// compressor is the encoder of one chunk.
func compressor(w io.Writer) (*zstd.Encoder, error) {
	return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(encodeWindow), zstd.WithEncoderLevel(zstd.SpeedFastest))
}

// end says how a chunk, or a stream of frames, ended.
type end struct {
	whole bool // its last frame was there
	final bool // and says that nothing of the incarnation follows
}

// readChunk gives the frames of a chunk. A torn chunk is no error, nor one
// that has gone: its whole frames are given.
func readChunk(ctx context.Context, fsys storage.FS, file string, take func(Frame) error) (end, error) {
	r, err := fsys.Open(ctx, file, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return end{}, nil // its writer failed, and took it away again
	}
	if err != nil {
		return end{}, err
	}
	defer r.Close()
	e, err := decodeChunk(r, take)
	if err != nil {
		return e, fmt.Errorf("%s: %w", file, err)
	}
	return e, nil
}

// decodeChunk gives the frames of a chunk's bytes.
func decodeChunk(r io.Reader, take func(Frame) error) (end, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(decodeWindow))
	if err != nil {
		return end{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	defer z.Close()
	return decode(io.LimitReader(z, chunkMost), take)
}

// decode gives the frames of r.
func decode(r io.Reader, take func(Frame) error) (end, error) {
	d := NewDecoder(r)
	for {
		f, err := d.Decode()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return end{}, nil
		case errors.Is(err, zstd.ErrMagicMismatch), errors.Is(err, zstd.ErrCRCMismatch), errors.Is(err, zstd.ErrReservedBlockType),
			errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
			return end{}, fmt.Errorf("%w: %w", ErrFormat, err)
		case err != nil:
			return end{}, err
		case f.End:
			return end{whole: true, final: f.Final}, nil
		}
		if err := take(f); err != nil {
			return end{}, err
		}
	}
}
