package rpc

import (
	"context"

	"github.com/muster-project/muster/hadoop/sasl"
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
	Start(ctx context.Context, address, protocol, serverID string) (sasl.Mechanism, error)
	// Principal is the full name, user@REALM.
	Principal() string
}
