package kerberos

import (
	_ "github.com/jcmturner/gokrb5/v8/client"
	"net/http"
	"time"

	"github.com/muster-project/muster/hadoop/rpc"
)

// Source is what a caller has to prove who it is with.
type Source struct {
	Keytab    string // a file of keys; with it, Principal says whose
	Principal string // user@REALM; with a cache, whom its tickets must be for
	Cache     string // FILE:path, DIR:path or a path; nothing for KRB5CCNAME, else the default
	Config    string // a krb5.conf; nothing for KRB5_CONFIG, else /etc/krb5.conf
	// Getenv gives the environment, as os.Getenv; nil for none.
	Getenv func(string) string
}

// Login is one principal, with tickets.
type Login struct{}

// Open reads the source.
func Open(s Source) (*Login, error) { return nil, ErrNoTicket }

// Principal is the full name, user@REALM.
func (l *Login) Principal() string { return "" }

// Realm is the part of the name behind the @.
func (l *Login) Realm() string { return "" }

// Expires tells when the ticket ends; the zero time when it is made anew from a keytab.
func (l *Login) Expires() time.Time { return time.Time{} }

// Service makes the proof for one service, whose principal is a pattern such as
// nn/_HOST@REALM.
func (l *Login) Service(pattern string) rpc.Kerberos { return nil }

// Transport proves who calls over HTTP.
func (l *Login) Transport(next http.RoundTripper) http.RoundTripper { return next }

// Close forgets the tickets.
func (l *Login) Close() error { return nil }
