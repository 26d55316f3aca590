package archive

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/zstd"
)

// frames compresses into a row of zstd frames, which is a zstd stream like any
// other. Every MiB of zeros becomes a ready-made frame of a few bytes, so that
// packing a sparse file of 5 GB takes the time of counting it. Where frames
// begin depends on the content alone.
type frames struct {
	out  io.Writer
	enc  *zstd.Encoder
	zero []byte // the frame of zeroMiB
	open bool   // a frame of enc is begun
	buf  []byte
}

const frameSize = 1 << 20

var zeroMiB [frameSize]byte

func newFrames(w io.Writer) (*frames, error) {
	// One encoder goroutine: the machine has other work, and a writer that fails
	// then stops us at once. A small window: executors unpack, and each of them
	// holds a window of that size.
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(frameSize))
	if err != nil {
		return nil, err
	}
	return &frames{out: w, enc: enc, zero: enc.EncodeAll(zeroMiB[:], nil), buf: make([]byte, 0, frameSize)}, nil
}

func (f *frames) Write(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		k := min(len(p)-n, frameSize-len(f.buf))
		f.buf = append(f.buf, p[n:n+k]...)
		n += k
		if len(f.buf) == frameSize {
			if err := f.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func (f *frames) flush() error {
	defer func() { f.buf = f.buf[:0] }()
	if !bytes.Equal(f.buf, zeroMiB[:]) {
		if !f.open {
			f.enc.Reset(f.out)
			f.open = true
		}
		_, err := f.enc.Write(f.buf)
		return err
	}
	if err := f.end(); err != nil {
		return err
	}
	_, err := f.out.Write(f.zero)
	return err
}

func (f *frames) end() error {
	if !f.open {
		return nil
	}
	f.open = false
	return f.enc.Close()
}

// Close writes what is left.
func (f *frames) Close() error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.end()
}
