package keep

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"time"

	"github.com/muster-project/muster/process/capture"
)

// Frame is a piece of one stream. In bytes:
//
//	kind     1 byte: 'd' data, 'e' the end of the stream of frames, 'f' the end
//	         of the incarnation's logs as well; only 'd' has more
//	name     length in 1 byte, then that many: "0.out"
//	offset   uvarint, of the first byte of data in its log
//	marks    uvarint number, then for each: offset as uvarint, counted from the
//	         mark before (the first from the frame's); Unix nanoseconds as varint, likewise
//	data     uvarint length, then that many
type Frame struct {
	Stream string // name of the log: "0.out"
	Offset int64
	Marks  []capture.Mark
	Data   []byte // valid until the next frame is read
	End    bool   // no more frames, and no data in this one
	Final  bool   // with End: no more frames of this incarnation, ever
}

// Bounds of a frame. What is larger was not written by us.
const (
	dataMost  = 64 << 10
	marksMost = 4 << 10
)

const (
	kindData  = 'd'
	kindEnd   = 'e'
	kindFinal = 'f'
)

// ErrFormat says that bytes are no frames of ours.
var ErrFormat = errors.New("not a kept log")

// streamName is what the log of a process is called.
var streamName = regexp.MustCompile(`^(0|[1-9][0-9]{0,5})\.(out|err)$`)

// Encoder writes frames.
type Encoder struct {
	w   io.Writer
	buf []byte
}

// NewEncoder gives an encoder that writes each frame with one Write.
func NewEncoder(w io.Writer) *Encoder { return &Encoder{w: w} }

// Encode writes one frame.
func (e *Encoder) Encode(f Frame) error {
	b := e.buf[:0]
	switch {
	case f.End && f.Final:
		b = append(b, kindFinal)
	case f.End:
		b = append(b, kindEnd)
	default:
		if len(f.Data) > dataMost || !streamName.MatchString(f.Stream) {
			return fmt.Errorf("%s: %d bytes: no frame can hold this", f.Stream, len(f.Data))
		}
		b = append(b, kindData, byte(len(f.Stream)))
		b = append(b, f.Stream...)
		b = binary.AppendUvarint(b, uint64(f.Offset))
		marks := rising(f)
		b = binary.AppendUvarint(b, uint64(len(marks)))
		offset, at := f.Offset, int64(0)
		for _, m := range marks {
			b = binary.AppendUvarint(b, uint64(m.Offset-offset))
			b = binary.AppendVarint(b, m.At.UnixNano()-at)
			offset, at = m.Offset, m.At.UnixNano()
		}
		b = binary.AppendUvarint(b, uint64(len(f.Data)))
		b = append(b, f.Data...)
	}
	e.buf = b
	_, err := e.w.Write(b)
	return err
}

// rising are the marks of a frame, as many as it can hold and without those of
// an index that was damaged.
func rising(f Frame) []capture.Mark {
	last := f.Offset
	for i, m := range f.Marks {
		if m.Offset < last || m.Offset-last > dataMost || i == marksMost {
			return f.Marks[:i]
		}
		last = m.Offset
	}
	return f.Marks
}

// Decoder reads frames. It needs no more memory than one of them.
type Decoder struct {
	r     *bufio.Reader
	data  []byte
	marks []capture.Mark
	ended bool
}

// NewDecoder reads frames from r.
func NewDecoder(r io.Reader) *Decoder { return &Decoder{r: bufio.NewReaderSize(r, 4<<10)} }

// Decode reads one frame. After the frame with End it gives io.EOF; when the
// bytes end before, io.ErrUnexpectedEOF; ErrFormat when they are no frames.
func (d *Decoder) Decode() (Frame, error) {
	if d.ended {
		return Frame{}, io.EOF
	}
	kind, err := d.r.ReadByte()
	if err != nil {
		return Frame{}, torn(err)
	}
	switch kind {
	case kindEnd, kindFinal:
		d.ended = true
		return Frame{End: true, Final: kind == kindFinal}, nil
	case kindData:
		f, err := d.frame()
		return f, torn(err)
	}
	return Frame{}, fmt.Errorf("%w: a frame of kind %#x", ErrFormat, kind)
}

func (d *Decoder) frame() (Frame, error) {
	var f Frame
	n, err := d.r.ReadByte()
	if err != nil {
		return f, err
	}
	var name [255]byte
	if _, err := io.ReadFull(d.r, name[:n]); err != nil {
		return f, err
	}
	if f.Stream = string(name[:n]); !streamName.MatchString(f.Stream) {
		return f, fmt.Errorf("%w: a stream %.40q", ErrFormat, f.Stream)
	}
	if f.Offset, err = d.number(math.MaxInt64-dataMost, "offset"); err != nil {
		return f, err
	}
	if f.Marks, err = d.times(f.Offset); err != nil {
		return f, err
	}
	size, err := d.number(dataMost, "length")
	if err != nil {
		return f, err
	}
	if d.data == nil {
		d.data = make([]byte, dataMost)
	}
	f.Data = d.data[:size]
	_, err = io.ReadFull(d.r, f.Data)
	return f, err
}

func (d *Decoder) times(offset int64) ([]capture.Mark, error) {
	count, err := d.number(marksMost, "number of times")
	if err != nil {
		return nil, err
	}
	d.marks = d.marks[:0]
	at := int64(0)
	for range count {
		step, err := d.number(dataMost, "offset of a time")
		if err != nil {
			return nil, err
		}
		later, err := binary.ReadVarint(d.r)
		if err != nil {
			return nil, overflow(err)
		}
		offset, at = offset+step, at+later
		if offset < 0 {
			return nil, fmt.Errorf("%w: a time at offset %d", ErrFormat, offset)
		}
		d.marks = append(d.marks, capture.Mark{Offset: offset, At: time.Unix(0, at)})
	}
	return d.marks, nil
}

// number reads an unsigned number up to most.
func (d *Decoder) number(most int64, what string) (int64, error) {
	n, err := binary.ReadUvarint(d.r)
	if err != nil {
		return 0, overflow(err)
	}
	if n > uint64(most) {
		return 0, fmt.Errorf("%w: %s %d", ErrFormat, what, n)
	}
	return int64(n), nil
}

// overflow tells a number that is too long from bytes that end.
func overflow(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrFormat, err)
}

// torn is what an end in the middle of something is.
func torn(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
