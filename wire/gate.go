package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"syscall"
	"time"
)

// The gate bounds how many handshakes are computed at once: that is what a
// roll call of thousands costs in CPU and, at its peak, in memory. A turn is
// taken when the first bytes of a peer have arrived, so strangers who only
// connect take none, and ends after a moment even if the peer falls silent in
// the middle: the gate is there for bursts, the deadline for the rest.

// longest is how long a stalled handshake keeps its turn.
const longest = time.Second

// turn is one handshake's place at the gate.
type turn struct {
	once sync.Once
	gate chan struct{} // nil: not taken
	late *time.Timer
}

func (t *turn) take(ctx context.Context, gate chan struct{}) error {
	select {
	case gate <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	t.gate = gate
	t.late = time.AfterFunc(longest, t.give)
	return nil
}

func (t *turn) give() { t.once.Do(func() { <-t.gate }) }

func (t *turn) leave() {
	if t.gate != nil {
		t.late.Stop()
		t.give()
	}
}

type turnKey struct{}

func (s *Server) handshake(ctx context.Context, conn *tls.Conn) error {
	t := new(turn)
	defer t.leave()
	return conn.HandshakeContext(context.WithValue(ctx, turnKey{}, t))
}

// gated is the server's TLS configuration, shared by all connections. The
// callback runs between a peer's first bytes and our first computation.
func (s *Server) gated() *tls.Config {
	conf := s.TLS.Clone()
	conf.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		t, ok := h.Context().Value(turnKey{}).(*turn)
		if !ok {
			return nil, errors.New("handshake: started outside the gate")
		}
		return nil, t.take(h.Context(), s.gate)
	}
	return conf
}

// scarce says that accepting failed for want of something that will come back.
func scarce(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.ECONNABORTED)
}
