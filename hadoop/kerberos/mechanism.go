package kerberos

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/muster-project/muster/hadoop/sasl"
)

// mechanism is the client's half of SASL's GSSAPI (RFC 4752):
//
//	begin → requested → proven → agreed
//
// A request goes out, the server's reply proves it, its offer of layers is
// answered with the strongest.
type mechanism struct {
	client  string
	context *securityContext
	request []byte
	state   mechanismState
	layer   *layer
}

type mechanismState int

const (
	begin mechanismState = iota
	requested
	proven
	agreed
)

// The layers of an offer, one bit each.
var layers = map[sasl.Protection]byte{sasl.Authentication: 1, sasl.Integrity: 2, sasl.Privacy: 4}

// ownBuffer is the most wrapped bytes that we take at once: whatever the three
// bytes can say.
const ownBuffer = 0xffffff

// Step answers one challenge.
func (m *mechanism) Step(challenge []byte) ([]byte, error) {
	switch m.state {
	case begin:
		m.state = requested
		return m.request, nil
	case requested:
		if err := m.context.reply(challenge, m.client); err != nil {
			return nil, err
		}
		m.state = proven
		return []byte{}, nil // the server's turn, again
	case proven:
		out, err := m.agree(challenge)
		if err != nil {
			return nil, err
		}
		m.state = agreed
		return out, nil
	}
	return nil, fmt.Errorf("gssapi: %w: a challenge behind the end", sasl.ErrProtection)
}

// Layer is what was agreed.
func (m *mechanism) Layer() (sasl.Layer, error) {
	if m.state != agreed {
		return nil, &Problem{Thing: m.context.service.String(), Kind: ErrPeer, Cause: errors.New("it ended the exchange too early")}
	}
	return m.layer, nil
}

// agree reads the offer and takes the strongest layer. Both tokens are signed.
func (m *mechanism) agree(challenge []byte) ([]byte, error) {
	l, err := newLayer(m.context, sasl.Integrity)
	if err != nil {
		return nil, err
	}
	offer, err := l.Unwrap(challenge)
	if err != nil {
		return nil, err
	}
	if len(offer) != 4 {
		return nil, fmt.Errorf("gssapi: %w: an offer of %d bytes", sasl.ErrProtection, len(offer))
	}
	level := sasl.Privacy
	for ; offer[0]&layers[level] == 0; level-- {
		if level == sasl.Authentication {
			return nil, fmt.Errorf("gssapi: %w: the server offers no layer (%#02x)", sasl.ErrProtection, offer[0])
		}
	}
	answer := []byte{layers[level], 0, 0, 0}
	if level > sasl.Authentication {
		if err := l.limit(int(binary.BigEndian.Uint32(offer) & ownBuffer)); err != nil {
			return nil, fmt.Errorf("gssapi: %w: %w", sasl.ErrProtection, err)
		}
		binary.BigEndian.PutUint32(answer, uint32(layers[level])<<24|ownBuffer)
	}
	out, err := l.Wrap(answer)
	l.level = level
	m.layer = l
	return out, err
}
