package kerberos

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jcmturner/gokrb5/v8/crypto/etype"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/muster-project/muster/hadoop/sasl"
)

// layer makes and checks the wrap tokens of RFC 4121, 4.2.6.2: sixteen bytes of
// header; then, signed, text and checksum, or, sealed, both and the header again
// encrypted. Tokens are numbered each way, and come over a stream: the next one
// has the next number, and nothing else is taken.
type layer struct {
	level    sasl.Protection
	key      types.EncryptionKey
	et       etype.EType
	acceptor bool // this end is the server's
	byServer bool // the key is the server's
	out, in  uint64
	max      int
}

const (
	wrapHeader = 16

	flagAcceptor = 1
	flagSealed   = 2
	flagServer   = 4 // the key is one that the server made
)

// newLayer makes one end; max is set once the other's buffer is known.
func newLayer(c *securityContext, level sasl.Protection) (*layer, error) {
	et, err := cipher(c.key)
	if err != nil {
		return nil, err
	}
	return &layer{level: level, key: c.key, et: et, byServer: c.byServer, out: c.out, in: c.in}, nil
}

// limit takes the other's buffer, in wrapped bytes: header, confounder, header
// again and checksum must fit beside the text.
func (l *layer) limit(buffer int) error {
	l.max = buffer - 2*wrapHeader - l.et.GetConfounderByteSize() - l.et.GetHMACBitLength()/8
	if l.max <= 0 {
		return fmt.Errorf("a buffer of %d bytes is too small", buffer)
	}
	return nil
}

func (l *layer) Protection() sasl.Protection { return l.level }

func (l *layer) Max() int { return l.max }

// header is that of a token; its two counts are zero in what is signed.
func header(flags byte, extra, rotated uint16, number uint64) []byte {
	h := []byte{5, 4, flags, 0xff}
	h = binary.BigEndian.AppendUint16(h, extra)
	h = binary.BigEndian.AppendUint16(h, rotated)
	return binary.BigEndian.AppendUint64(h, number)
}

// flags are those of the tokens of one end.
func (l *layer) flags(acceptor bool) byte {
	var f byte
	if acceptor {
		f |= flagAcceptor
	}
	if l.byServer {
		f |= flagServer
	}
	return f
}

func usage(acceptor bool) uint32 {
	if acceptor {
		return keyusage.GSSAPI_ACCEPTOR_SEAL
	}
	return keyusage.GSSAPI_INITIATOR_SEAL
}

// Wrap seals at privacy, and signs else.
func (l *layer) Wrap(plain []byte) ([]byte, error) {
	if l.level == sasl.Privacy {
		return l.seal(plain)
	}
	return l.sign(plain)
}

func (l *layer) sign(plain []byte) ([]byte, error) {
	f := l.flags(l.acceptor)
	sum, err := l.et.GetChecksumHash(l.key.KeyValue, append(bytes.Clone(plain), header(f, 0, 0, l.out)...), usage(l.acceptor))
	if err != nil {
		return nil, err
	}
	out := append(header(f, uint16(len(sum)), 0, l.out), plain...)
	l.out++
	return append(out, sum...), nil
}

func (l *layer) seal(plain []byte) ([]byte, error) {
	h := header(l.flags(l.acceptor)|flagSealed, 0, 0, l.out)
	sealed, err := encrypt(l.key, usage(l.acceptor), append(bytes.Clone(plain), h...))
	if err != nil {
		return nil, err
	}
	l.out++
	return append(h, sealed...), nil
}

// errForged does not tell what is wrong: that would help whoever forges.
var errForged = errors.New("a message was changed, lost or repeated on its way")

// Unwrap checks a token of the other end; it must be sealed at privacy, and only
// there.
func (l *layer) Unwrap(wrapped []byte) ([]byte, error) {
	plain, ok := l.unwrap(wrapped, l.level == sasl.Privacy)
	if !ok {
		return nil, fmt.Errorf("gssapi: %w: %w", sasl.ErrProtection, errForged)
	}
	return plain, nil
}

func (l *layer) unwrap(b []byte, sealed bool) ([]byte, bool) {
	if len(b) < wrapHeader {
		return nil, false
	}
	want := l.flags(!l.acceptor)
	if sealed {
		want |= flagSealed
	}
	extra, rotated := binary.BigEndian.Uint16(b[4:]), int(binary.BigEndian.Uint16(b[6:]))
	if !bytes.Equal(b[:4], header(want, 0, 0, 0)[:4]) || binary.BigEndian.Uint64(b[8:]) != l.in {
		return nil, false
	}
	// What stands behind the header may be turned to the right (RRC): some
	// implementations move the checksum to the front that way.
	body := b[wrapHeader:]
	if n := len(body); n > 0 {
		rotated %= n
		body = append(bytes.Clone(body[rotated:]), body[:rotated]...)
	}
	var plain []byte
	var ok bool
	if sealed {
		plain, ok = l.unseal(body, want, extra)
	} else {
		plain, ok = l.verify(body, want, int(extra))
	}
	if ok {
		l.in++
	}
	return plain, ok
}

// unseal decrypts; behind the text are filler and the header with its second
// count zero.
func (l *layer) unseal(body []byte, flags byte, extra uint16) ([]byte, bool) {
	plain, err := decrypt(l.key, usage(!l.acceptor), body)
	if err != nil || len(plain) < wrapHeader+int(extra) {
		return nil, false
	}
	end := len(plain) - wrapHeader
	if !bytes.Equal(plain[end:], header(flags, extra, 0, l.in)) {
		return nil, false
	}
	return plain[:end-int(extra)], true
}

func (l *layer) verify(body []byte, flags byte, size int) ([]byte, bool) {
	if size != l.et.GetHMACBitLength()/8 || len(body) < size {
		return nil, false
	}
	plain, sum := body[:len(body)-size], body[len(body)-size:]
	signed := append(bytes.Clone(plain), header(flags, 0, 0, l.in)...)
	return plain, l.et.VerifyChecksum(l.key.KeyValue, signed, sum, usage(!l.acceptor))
}
