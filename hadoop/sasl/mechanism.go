package sasl

import "errors"

// ErrAway says that whoever vouches for callers could not be asked just now:
// what failed so may be tried again.
var ErrAway = errors.New("not to be reached")

// Mechanism is the client's half of one SASL exchange.
type Mechanism interface {
	// Step answers a challenge; the first may be empty. The last answer may be
	// nil when the server's final word was only to be checked.
	Step(challenge []byte) (answer []byte, err error)
	// Layer tells, after the exchange, what was agreed. It fails when the
	// exchange did not come to its end: a server must not cut it short.
	Layer() (Layer, error)
}

// Layer protects what follows an exchange.
type Layer interface {
	Protection() Protection
	// Wrap and Unwrap are not called where the protection is Authentication.
	// Each is used by one goroutine at a time, in the order of the stream.
	Wrap(plain []byte) ([]byte, error)
	Unwrap(wrapped []byte) ([]byte, error)
	// Max is the most plain bytes that one Wrap takes.
	Max() int
}
