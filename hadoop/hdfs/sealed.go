package hdfs

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
	"github.com/muster-project/muster/hadoop/sasl"
)

// buffered is a connection of which some bytes were read already.
type buffered struct {
	net.Conn
	in *bufio.Reader
}

func (c *buffered) Read(p []byte) (int, error) { return c.in.Read(p) }

// maxSealed is the longest wrapped piece that is taken: a DataNode wraps a whole
// packet at once, whatever buffer we tell.
const maxSealed = maxPacket + 1<<20

// sealed is a connection whose bytes travel in wrapped pieces, each behind its
// length as u32. One goroutine may write while another reads.
type sealed struct {
	net.Conn
	in    *bufio.Reader
	layer sasl.Layer

	plain   []byte // unwrapped, not read yet
	wrapped []byte // of the piece being read
	out     []byte
}

func (c *sealed) Read(p []byte) (int, error) {
	for len(c.plain) == 0 {
		if err := c.piece(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.plain)
	c.plain = c.plain[n:]
	return n, nil
}

// piece unwraps the next piece. An empty one carries nothing, and is not counted.
func (c *sealed) piece() error {
	var head [4]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxSealed {
		return fmt.Errorf("%w: a wrapped piece of %d bytes", sasl.ErrProtection, n)
	}
	if n == 0 {
		return nil
	}
	if cap(c.wrapped) < int(n) {
		c.wrapped = make([]byte, n)
	}
	c.wrapped = c.wrapped[:n]
	if _, err := io.ReadFull(c.in, c.wrapped); err != nil {
		return unexpected(err)
	}
	var err error
	c.plain, err = c.layer.Unwrap(c.wrapped)
	return err
}

func (c *sealed) Write(p []byte) (int, error) {
	c.out = c.out[:0]
	for rest := p; len(rest) > 0; {
		n := min(len(rest), c.layer.Max())
		w, err := c.layer.Wrap(rest[:n])
		if err != nil {
			return 0, err
		}
		c.out = append(binary.BigEndian.AppendUint32(c.out, uint32(len(w))), w...)
		rest = rest[n:]
	}
	if _, err := c.Conn.Write(c.out); err != nil {
		return 0, err // how much of p arrived cannot be told; nothing can follow
	}
	return len(p), nil
}

// counter is a connection under AES in counter mode, each direction with a key of
// its own. It hides the bytes and does not sign them; packets have checksums.
type counter struct {
	net.Conn
	in  cipher.StreamReader
	out cipher.Stream
	buf []byte
}

// newCounter takes the keys that the DataNode made; in is its direction, our out.
func newCounter(conn net.Conn, in *bufio.Reader, layer sasl.Layer, o *hdfspb.CipherOption) (*counter, error) {
	if o.GetSuite() != hdfspb.CipherSuite_AES_CTR_NOPADDING {
		return nil, fmt.Errorf("%w: cipher suite %v was not offered", sasl.ErrProtection, o.GetSuite())
	}
	// In the order in which they were wrapped.
	ours, err := keyStream(layer, o.GetInKey(), o.GetInIv())
	if err != nil {
		return nil, err
	}
	theirs, err := keyStream(layer, o.GetOutKey(), o.GetOutIv())
	if err != nil {
		return nil, err
	}
	return &counter{Conn: conn, in: cipher.StreamReader{S: theirs, R: in}, out: ours}, nil
}

func keyStream(layer sasl.Layer, wrapped, iv []byte) (cipher.Stream, error) {
	key, err := layer.Unwrap(wrapped)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err == nil && len(iv) != block.BlockSize() {
		err = errors.New("an initial vector of the wrong length")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: cipher suite: %w", sasl.ErrProtection, err)
	}
	return cipher.NewCTR(block, iv), nil
}

func (c *counter) Read(p []byte) (int, error) { return c.in.Read(p) }

func (c *counter) Write(p []byte) (int, error) {
	if cap(c.buf) < len(p) {
		c.buf = make([]byte, len(p))
	}
	c.buf = c.buf[:len(p)]
	c.out.XORKeyStream(c.buf, p)
	return c.Conn.Write(c.buf)
}
