package keep

import (
	"errors"
	"io"
	"math"

	"github.com/muster-project/muster/process/capture"
)

// Copy encodes a log from its present place to its present end, in frames, and
// gives the number of its bytes. It may be called again when the log has grown.
func Copy(e *Encoder, b *capture.Bytes, stream string) (int64, error) {
	return copyMost(e, b, stream, make([]byte, dataMost), math.MaxInt64)
}

// copyMost copies up to most bytes, through buf.
func copyMost(e *Encoder, b *capture.Bytes, stream string, buf []byte, most int64) (int64, error) {
	var done int64
	for done < most {
		n, marks, err := b.ReadMarked(buf[:min(int64(len(buf)), most-done)])
		if errors.Is(err, io.EOF) {
			return done, nil
		}
		if err != nil {
			return done, err
		}
		if err := split(e, Frame{Stream: stream, Offset: b.Offset() - int64(n), Marks: marks, Data: buf[:n]}); err != nil {
			return done, err
		}
		done += int64(n)
	}
	return done, nil
}

// split encodes a piece in as many frames as its times need.
func split(e *Encoder, f Frame) error {
	for len(f.Marks) > marksMost {
		head := f
		cut := f.Marks[marksMost].Offset - f.Offset
		head.Marks, head.Data = f.Marks[:marksMost], f.Data[:cut]
		if err := e.Encode(head); err != nil {
			return err
		}
		f.Offset, f.Marks, f.Data = f.Offset+cut, f.Marks[marksMost:], f.Data[cut:]
	}
	return e.Encode(f)
}
