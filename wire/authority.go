package wire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"time"

	"github.com/muster-project/muster/plan"
)

// Certificates are valid from a day back, since nodes' clocks differ, and for
// longer than any job runs: nothing renews them.
const (
	backdate = 24 * time.Hour
	validity = 10 * 365 * 24 * time.Hour
)

// Authority is a job's own certificate authority. Its key never leaves the
// owner-only job directory; it outlives coordinators, and tasks never get it.
type Authority struct {
	job  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes the authority of a job.
func NewAuthority(job string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("authority of %s: %w", job, err)
	}
	template := certificate(job)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("authority of %s: %w", job, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("authority of %s: %w", job, err)
	}
	return &Authority{job: job, cert: cert, key: key}, nil
}

// ParseAuthority reads what Marshal wrote.
func ParseAuthority(text []byte) (*Authority, error) {
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil, errors.New("authority: certificate is not one of an authority")
	}
	return &Authority{job: pair.Leaf.Subject.CommonName, cert: pair.Leaf, key: key}, nil
}

// Marshal gives certificate and key as PEM: to be kept in a file of mode 0600.
func (a *Authority) Marshal() ([]byte, error) {
	key, err := keyPEM(a.key)
	if err != nil {
		return nil, err
	}
	return append(a.Certificate(), key...), nil
}

// Certificate is the public half as PEM: executor.Context.Authority.
func (a *Authority) Certificate() []byte { return certPEM(a.cert.Raw) }

// Issue makes the certificate and key of one executor, as PEM. It names job,
// role and index, never a host: a task may run anywhere.
func (a *Authority) Issue(task plan.TaskID) (cert, key []byte, err error) {
	der, private, err := a.issue(Identity{Job: a.job, Task: task})
	if err != nil {
		return nil, nil, fmt.Errorf("certificate of %s: %w", task, err)
	}
	key, err = keyPEM(private)
	return certPEM(der), key, err
}

// Coordinator is the TLS side of a coordinator: for Server and for Nudge. It
// accepts executors of this job and nobody else.
func (a *Authority) Coordinator() (*tls.Config, error) {
	der, key, err := a.issue(Identity{Job: a.job})
	if err != nil {
		return nil, fmt.Errorf("certificate of the coordinator: %w", err)
	}
	return config(a.cert, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, func(peer Identity) error {
		if peer.Job != a.job || peer.Task.IsZero() {
			return fmt.Errorf("%s: not an executor of %s: %w", peer, a.job, ErrIdentity)
		}
		return nil
	}), nil
}

// Executor is the TLS side of an executor that dials its coordinator. It accepts
// the job's coordinator and nobody else, whatever host that is on.
func Executor(authority, cert, key []byte) (*tls.Config, error) {
	return own(authority, cert, key, func(self, peer Identity) error {
		if peer.Job != self.Job || !peer.Task.IsZero() {
			return fmt.Errorf("%s: not the coordinator of %s: %w", peer, self.Job, ErrIdentity)
		}
		return nil
	})
}

// Control is the TLS side of an executor's control port: it accepts everybody of
// the same job. What only a coordinator may say is checked when it is said.
func Control(authority, cert, key []byte) (*tls.Config, error) {
	return own(authority, cert, key, func(self, peer Identity) error {
		if peer.Job != self.Job {
			return fmt.Errorf("%s: not of %s: %w", peer, self.Job, ErrIdentity)
		}
		return nil
	})
}

// Peer is the TLS side of an executor that dials another one of its job: that of
// task, and nobody else.
func Peer(authority, cert, key []byte, task plan.TaskID) (*tls.Config, error) {
	return own(authority, cert, key, func(self, peer Identity) error {
		if peer.Job != self.Job || peer.Task != task {
			return fmt.Errorf("%s: not %s of %s: %w", peer, task, self.Job, ErrIdentity)
		}
		return nil
	})
}

// own is a TLS side that shows an executor's certificate.
func own(authority, cert, key []byte, check func(self, peer Identity) error) (*tls.Config, error) {
	block, _ := pem.Decode(authority)
	if block == nil {
		return nil, errors.New("authority: not PEM")
	}
	root, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("certificate of the executor: %w", err)
	}
	self, err := identity(pair.Leaf)
	if err != nil {
		return nil, fmt.Errorf("certificate of the executor: %w", err)
	}
	return config(root, pair, func(peer Identity) error { return check(self, peer) }), nil
}

func (a *Authority) issue(who Identity) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := certificate(who.Job)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	// Both kinds also listen: a coordinator dials executors' control ports.
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.URIs = []*url.URL{who.url()}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	return der, key, err
}

func certificate(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(slices.Concat([]byte{1}, random(15))),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(validity),
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
