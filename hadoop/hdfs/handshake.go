package hdfs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
	"github.com/muster-project/muster/hadoop/sasl"
)

// handshakeMagic is what a connection begins with instead of an operation.
const handshakeMagic = 0xDEADBEEF

const aesSuite = "AES/CTR/NoPadding"

// errStale says that a DataNode does not take a block token or a key any more,
// or not yet: the NameNode gives a fresh one.
var errStale = errors.New("the proof is too old, or its key is not known")

// shake proves who calls to a data port, and lets the DataNode prove itself. What
// follows on the connection is protected as was agreed:
//
//	client                          DataNode
//	magic, an empty message   ──▶
//	                          ◀──   challenge
//	response, cipher suites   ──▶
//	                          ◀──   proof, a cipher suite with wrapped keys
//
// Each message follows its length as a varint.
func shake(conn net.Conn, d sasl.Digest, aes bool) (net.Conn, error) {
	h := &handshake{conn: conn, in: bufio.NewReaderSize(conn, packetData+4096)}
	mech := d.Start()
	out, err := h.run(mech, aes)
	if err == nil {
		return out, nil
	}
	if _, ours := errors.AsType[*handshakeError](err); !ours && (errors.Is(err, sasl.ErrDigest) || errors.Is(err, sasl.ErrProtection)) {
		// A courtesy: the DataNode logs it instead of an end of the stream.
		_ = h.send(nil, &hdfspb.EncryptorMessage{Status: hdfspb.EncryptorMessage_ERROR.Enum(), Message: text(err.Error())})
	}
	return nil, fmt.Errorf("handshake: %w", err)
}

func text(s string) *string { return &s }

type handshake struct {
	conn net.Conn
	in   *bufio.Reader
}

func (h *handshake) run(mech sasl.Mechanism, aes bool) (net.Conn, error) {
	magic := binary.BigEndian.AppendUint32(nil, handshakeMagic)
	if err := h.send(magic, message(nil)); err != nil {
		return nil, err
	}
	challenge, err := h.receive()
	if err != nil {
		return nil, err
	}
	answer, err := mech.Step(challenge.GetPayload())
	if err != nil {
		return nil, err
	}
	m := message(answer)
	if aes {
		m.CipherOption = []*hdfspb.CipherOption{{Suite: hdfspb.CipherSuite_AES_CTR_NOPADDING.Enum()}}
	}
	if err := h.send(nil, m); err != nil {
		return nil, err
	}
	last, err := h.receive()
	if err != nil {
		return nil, err
	}
	if _, err := mech.Step(last.GetPayload()); err != nil {
		return nil, err
	}
	layer, err := mech.Layer()
	if err != nil {
		return nil, err
	}
	return h.protect(layer, last.GetCipherOption(), aes)
}

// protect puts on what was agreed.
func (h *handshake) protect(layer sasl.Layer, options []*hdfspb.CipherOption, aes bool) (net.Conn, error) {
	switch {
	case len(options) > 1, len(options) == 1 && (!aes || layer.Protection() != sasl.Privacy):
		return nil, fmt.Errorf("%w: the datanode takes a cipher suite that was not offered", sasl.ErrProtection)
	case len(options) == 1:
		return newCounter(h.conn, h.in, layer, options[0])
	case layer.Protection() == sasl.Authentication:
		return &buffered{Conn: h.conn, in: h.in}, nil
	}
	return &sealed{Conn: h.conn, in: h.in, layer: layer}, nil
}

func message(payload []byte) *hdfspb.EncryptorMessage {
	if payload == nil {
		payload = []byte{}
	}
	return &hdfspb.EncryptorMessage{Status: hdfspb.EncryptorMessage_SUCCESS.Enum(), Payload: payload}
}

func (h *handshake) send(before []byte, m *hdfspb.EncryptorMessage) error {
	b, err := appendMessage(before, m)
	if err != nil {
		return err
	}
	_, err = h.conn.Write(b)
	return err
}

// handshakeError is what a DataNode says instead of going on.
type handshakeError struct {
	text  string
	stale bool
}

func (e *handshakeError) Error() string {
	return "the datanode says: " + e.text
}

func (e *handshakeError) Is(target error) bool { return target == errStale && e.stale }

func (h *handshake) receive() (*hdfspb.EncryptorMessage, error) {
	m := new(hdfspb.EncryptorMessage)
	if err := readMessage(h.in, m); err != nil {
		return nil, err
	}
	if m.GetStatus() == hdfspb.EncryptorMessage_SUCCESS {
		return m, nil
	}
	// Before 3.4 a token that is not taken is told as the mechanism's failure alone.
	stale := m.GetStatus() == hdfspb.EncryptorMessage_UNKNOWN_KEY || m.GetAccessTokenError() ||
		strings.Contains(m.GetMessage(), "error acquiring password")
	return nil, &handshakeError{text: m.GetMessage(), stale: stale}
}
