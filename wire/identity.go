package wire

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/muster-project/muster/plan"
)

// Identity is who a certificate names: an executor by job and task, or, with
// the zero task, the job's coordinator. It is written as a URI:
// muster://JOB/ROLE/INDEX or muster://JOB.
type Identity struct {
	Job  string
	Task plan.TaskID
}

func (i Identity) String() string {
	if i.Task.IsZero() {
		return "coordinator of " + i.Job
	}
	return i.Job + " " + i.Task.String()
}

func (i Identity) url() *url.URL {
	u := &url.URL{Scheme: "muster", Host: i.Job}
	if !i.Task.IsZero() {
		u.Path = "/" + i.Task.Role + "/" + strconv.Itoa(i.Task.Index)
	}
	return u
}

// identity reads the one URI of a certificate.
func identity(cert *x509.Certificate) (Identity, error) {
	if len(cert.URIs) != 1 || cert.URIs[0].Scheme != "muster" || cert.URIs[0].Host == "" {
		return Identity{}, fmt.Errorf("certificate: no muster:// name in it: %w", ErrIdentity)
	}
	u := cert.URIs[0]
	task, err := plan.ParseTask(strings.TrimPrefix(u.Path, "/"))
	if err != nil {
		return Identity{}, fmt.Errorf("certificate: %s: %w: %w", u, err, ErrIdentity)
	}
	return Identity{Job: u.Host, Task: task}, nil
}

// peer is who is at the other end of a connection whose handshake is done.
func peer(s tls.ConnectionState) (Identity, error) {
	if len(s.PeerCertificates) == 0 {
		return Identity{}, fmt.Errorf("peer shows no certificate: %w", ErrIdentity)
	}
	return identity(s.PeerCertificates[0])
}

// config serves both ends of a connection. Who the peer is, is decided by the
// authority and the name in the certificate, never by host: the check that Go
// would do by host name is replaced by check, in VerifyConnection, which runs
// in every handshake.
func config(root *x509.Certificate, own tls.Certificate, check func(Identity) error) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(root)
	return &tls.Config{
		Certificates:       []tls.Certificate{own},
		MinVersion:         tls.VersionTLS13,
		ClientAuth:         tls.RequireAnyClientCert,
		InsecureSkipVerify: true, // VerifyConnection below verifies chain and name
		// Executors connect once; tickets would only cost memory and bytes.
		SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			who, err := peer(s)
			if err != nil {
				return err
			}
			_, err = s.PeerCertificates[0].Verify(x509.VerifyOptions{
				Roots:     pool,
				KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
			})
			if err != nil {
				return fmt.Errorf("%s: %w: %w", who, ErrIdentity, err)
			}
			return check(who)
		},
	}
}
