package sasl

import (
	"crypto/cipher"
	"crypto/des"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rc4"
	"encoding/binary"
	"errors"
	"fmt"
)

// digestLayer is the integrity or confidentiality layer of RFC 2831: the text,
// ten bytes of HMAC-MD5, then message type 1 and a sequence number. With privacy
// text, padding and HMAC are encrypted; the cipher's state runs on over messages.
type digestLayer struct {
	level           Protection
	signOut, signIn []byte
	out, in         sealer // nil without privacy
	seqOut, seqIn   uint32
	max             int
}

// sealer encrypts or decrypts in place; what it is given is a multiple of block.
type sealer interface {
	block() int
	crypt(b []byte)
}

const (
	macSize  = 10
	tailSize = 6 // message type and sequence number
)

// The magic texts that keys are made with, client to server first.
var (
	signMagic = [2]string{
		"Digest session key to client-to-server signing key magic constant",
		"Digest session key to server-to-client signing key magic constant",
	}
	sealMagic = [2]string{
		"Digest H(A1) to client-to-server sealing key magic constant",
		"Digest H(A1) to server-to-client sealing key magic constant",
	}
)

// newDigestLayer makes one end's layer; max is the other's buffer, in wrapped
// bytes. The server's end has the directions swapped.
func newDigestLayer(ha1 []byte, level Protection, name string, max int, server bool) (*digestLayer, error) {
	key := func(magic string) []byte {
		sum := md5.Sum(append(ha1[:len(ha1):len(ha1)], magic...))
		return sum[:]
	}
	out, in := 0, 1
	if server {
		out, in = in, out
	}
	l := &digestLayer{level: level, signOut: key(signMagic[out]), signIn: key(signMagic[in])}
	// Two blocks of padding at most, MAC and tail must fit beside the text.
	l.max = max - macSize - tailSize - 2*des.BlockSize
	if l.max <= 0 {
		return nil, fmt.Errorf("a buffer of %d bytes is too small", max)
	}
	if level != Privacy {
		return l, nil
	}
	var err error
	if l.out, err = newSealer(name, key(sealMagic[out]), true); err != nil {
		return nil, err
	}
	l.in, err = newSealer(name, key(sealMagic[in]), false)
	return l, err
}

func (l *digestLayer) Protection() Protection { return l.level }

func (l *digestLayer) Max() int { return l.max }

func mac(key []byte, seq uint32, text []byte) []byte {
	h := hmac.New(md5.New, key)
	h.Write(binary.BigEndian.AppendUint32(nil, seq))
	h.Write(text)
	return h.Sum(nil)[:macSize]
}

// Wrap signs, pads and encrypts.
func (l *digestLayer) Wrap(plain []byte) ([]byte, error) {
	b := make([]byte, 0, len(plain)+macSize+tailSize+2*des.BlockSize)
	b = append(b, plain...)
	if l.out != nil {
		if n := l.out.block(); n > 1 {
			pad := n - (len(plain)+macSize)%n
			for range pad {
				b = append(b, byte(pad))
			}
		}
	}
	b = append(b, mac(l.signOut, l.seqOut, plain)...)
	if l.out != nil {
		l.out.crypt(b)
	}
	b = append(b, 0, 1)
	b = binary.BigEndian.AppendUint32(b, l.seqOut)
	l.seqOut++
	return b, nil
}

// errForged does not tell what is wrong: that would help whoever forges.
var errForged = errors.New("a message was changed, lost or repeated on its way")

// Unwrap decrypts and checks; the text may be empty.
func (l *digestLayer) Unwrap(wrapped []byte) ([]byte, error) {
	forged := fmt.Errorf("%w: %w", ErrProtection, errForged)
	if len(wrapped) < macSize+tailSize {
		return nil, forged
	}
	body, tail := append([]byte{}, wrapped[:len(wrapped)-tailSize]...), wrapped[len(wrapped)-tailSize:]
	if binary.BigEndian.Uint16(tail) != 1 || binary.BigEndian.Uint32(tail[2:]) != l.seqIn {
		return nil, forged
	}
	pad := 0
	if l.in != nil {
		n := l.in.block()
		if len(body)%n != 0 {
			return nil, forged
		}
		l.in.crypt(body)
		if n > 1 {
			pad = padding(body[:len(body)-macSize], n)
		}
	}
	end := len(body) - macSize - pad
	if pad < 0 || end < 0 || !hmac.Equal(body[len(body)-macSize:], mac(l.signIn, l.seqIn, body[:end])) {
		return nil, forged
	}
	l.seqIn++
	return body[:end], nil
}

// padding tells how many bytes at the end are padding, or -1 when they are not
// as they should be.
func padding(b []byte, block int) int {
	if len(b) == 0 {
		return -1
	}
	n := int(b[len(b)-1])
	if n == 0 || n > block || n > len(b) {
		return -1
	}
	for _, c := range b[len(b)-n:] {
		if int(c) != n {
			return -1
		}
	}
	return n
}

// newSealer makes a cipher from the 16 bytes of a sealing key.
func newSealer(name string, key []byte, encrypt bool) (sealer, error) {
	switch name {
	case "rc4":
		c, err := rc4.NewCipher(key)
		return stream{c}, err
	case "3des":
		k1, k2 := parity(key[:7]), parity(key[7:14])
		c, err := des.NewTripleDESCipher(append(append(append([]byte{}, k1...), k2...), k1...))
		if err != nil {
			return nil, err
		}
		if iv := key[8:]; encrypt {
			return blocks{cipher.NewCBCEncrypter(c, iv)}, nil
		} else {
			return blocks{cipher.NewCBCDecrypter(c, iv)}, nil
		}
	}
	return nil, fmt.Errorf("cipher %q is not known", name)
}

// parity spreads 56 bits over eight bytes of seven bits; the lowest bit of each
// is for parity, which the cipher does not look at.
func parity(key []byte) []byte {
	var bits uint64
	for _, c := range key {
		bits = bits<<8 | uint64(c)
	}
	out := make([]byte, 8)
	for i := range out {
		out[i] = byte(bits>>(49-7*i)) << 1
	}
	return out
}

type stream struct{ c *rc4.Cipher }

func (stream) block() int       { return 1 }
func (s stream) crypt(b []byte) { s.c.XORKeyStream(b, b) }

type blocks struct{ c cipher.BlockMode }

func (blocks) block() int       { return des.BlockSize }
func (s blocks) crypt(b []byte) { s.c.CryptBlocks(b, b) }
