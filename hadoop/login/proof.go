package login

import (
	"time"

	"github.com/muster-project/muster/hadoop/kerberos"
	"github.com/muster-project/muster/hadoop/token"
)

// Proof is what a caller proves with who it is.
type Proof struct {
	Principal string    // user@REALM; empty where a name is believed, or tokens are shown
	From      string    // the keytab's path, the ticket cache's (FILE:…), or the token file's
	Keytab    bool      // From is a keytab, so tickets are made anew
	Expires   time.Time // of the ticket; zero for a keytab
	Renewable time.Time // until when it can be renewed; zero: it cannot
	Real      string    // the principal's short name; differs from User for a proxy
}

// Proof tells what the caller proves with; a ticket cache is read anew for it.
func (l *Login) Proof() (Proof, error) {
	if l.kerberos == nil {
		return Proof{From: l.file}, nil
	}
	now, err := kerberos.Open(l.source)
	if err != nil {
		return Proof{}, denied(l.conf, err)
	}
	defer now.Close()
	p := Proof{Principal: now.Principal(), From: now.From(), Keytab: l.source.Keytab != "", Expires: now.Expires(), Renewable: now.Renewable()}
	p.Real, err = l.short(p.Principal)
	return p, err
}

// Tokens are those that the caller came with, nil without any.
func (l *Login) Tokens() *token.Credentials { return l.tokens }
