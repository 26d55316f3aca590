package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/muster-project/muster/hadoop/token"
)

// Auth says who calls and how that is proven. Without token and Kerberos it is
// SIMPLE: the server takes User's word.
type Auth struct {
	User     string       // who the call is for; nothing with a token, whose owner it is
	RealUser string       // who asks for User, when that is a proxy
	Token    *token.Token // preferred over Kerberos where a server takes both
	Kerberos Kerberos
	// Fallback accepts a server that wants no proof although there is a token or
	// Kerberos. Whoever sits between could pretend to be such a server.
	Fallback bool
}

// Kerberos starts GSSAPI exchanges for one principal.
type Kerberos interface {
	// Start begins an exchange with a service principal's two parts, as the
	// server names them; the implementation compares them with what it expects
	// at the address before it asks the KDC.
	Start(ctx context.Context, address, protocol, serverID string) (Mechanism, error)
	// Principal is the full name, user@REALM.
	Principal() string
}

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

// Protection is what a connection is guarded against, the weakest first.
type Protection int

// The levels of hadoop.rpc.protection.
const (
	Authentication Protection = iota // who calls is proven once, nothing after
	Integrity                        // and everything is signed
	Privacy                          // and encrypted
)

var protections = []string{"authentication", "integrity", "privacy"}

func (p Protection) String() string {
	if p < 0 || int(p) >= len(protections) {
		return fmt.Sprintf("protection %d", int(p))
	}
	return protections[p]
}

// ErrProtection says that a server offers less than what was asked for, or sent
// something outside what was agreed.
var ErrProtection = errors.New("not protected enough")

// ParseProtection reads the value of hadoop.rpc.protection, a list of levels of
// which any will do: the weakest counts. An empty value is Authentication.
func ParseProtection(value string) (Protection, error) {
	least, found := Privacy, false
	for _, word := range strings.Split(value, ",") {
		word = strings.ToLower(strings.TrimSpace(word))
		if word == "" {
			continue
		}
		level := -1
		for i, name := range protections {
			if name == word {
				level = i
			}
		}
		if level < 0 {
			return 0, fmt.Errorf("hadoop.rpc.protection: %q is none of %s", word, strings.Join(protections, ", "))
		}
		least, found = min(least, Protection(level)), true
	}
	if !found {
		return Authentication, nil
	}
	return least, nil
}
