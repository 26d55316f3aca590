package sasl

import (
	"crypto/subtle"
	"fmt"
)

// Offer is the server's half of DIGEST-MD5, for tests that play a daemon.
type Offer struct {
	Realm, Nonce string
	QOP, Cipher  string // as in a challenge: lists
	URI          string
}

// Challenge is the first word.
func (o Offer) Challenge() []byte {
	return fmt.Appendf(nil, `realm="%s",nonce="%s",qop="%s",charset=utf-8,cipher="%s",algorithm=md5-sess`, o.Realm, o.Nonce, o.QOP, o.Cipher)
}

// Claimed is the user whom a response names.
func (o Offer) Claimed(response []byte) (string, error) {
	p, err := directives(string(response))
	return first(p, "username"), err
}

// Check judges a response by the user's password. It returns the last word, which
// proves the server, and the layer, nil for Authentication.
func (o Offer) Check(response []byte, password string) (last []byte, layer Layer, err error) {
	p, err := directives(string(response))
	if err != nil {
		return nil, nil, err
	}
	ha1 := digestHA1(first(p, "username"), o.Realm, password, o.Nonce, first(p, "cnonce"))
	proof := func(verb string) string {
		return digestResponse(ha1, o.Nonce, first(p, "cnonce"), first(p, "qop"), verb, o.URI)
	}
	if subtle.ConstantTimeCompare([]byte(first(p, "response")), []byte(proof("AUTHENTICATE"))) != 1 {
		return nil, nil, fmt.Errorf("%w: the client does not know the password", ErrDigest)
	}
	for level, name := range qops {
		if name != first(p, "qop") || level == Authentication {
			continue
		}
		if layer, err = newDigestLayer(ha1, level, first(p, "cipher"), 1<<20, true); err != nil {
			return nil, nil, err
		}
	}
	return []byte("rspauth=" + proof("")), layer, nil
}
