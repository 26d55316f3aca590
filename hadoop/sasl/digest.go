package sasl

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// DigestMD5 is the mechanism's name: RFC 2831.
const DigestMD5 = "DIGEST-MD5"

// ErrDigest is the identity of an exchange that did not prove what it should:
// either side has the wrong password, or the other speaks nonsense.
var ErrDigest = errors.New("digest-md5")

// ownBuffer is the most wrapped bytes that we say we take at once. Servers send
// a whole answer in one piece all the same.
const ownBuffer = 64 << 10

// Digest is what a client proves with, and what it asks of the server.
type Digest struct {
	// User and Password are, with a token, its identifier and its password in base64.
	User, Password string
	// URI is service/host, such as "/default" in Hadoop's calls.
	URI string
	// Least is the weakest protection that will do; the strongest one offered is
	// taken, up to Most if that is set.
	Least Protection
	Most  *Protection
	// Ciphers for privacy, the preferred first; nil for all that there are here.
	Ciphers []string
}

// digestMD5 is the client's half of one exchange.
type digestMD5 struct {
	Digest
	cnonce string

	state digestState
	want  string // what the server must answer to prove that it has the password
	layer *digestLayer
}

type digestState int

const (
	digestBegin digestState = iota
	digestAnswered
	digestDone
)

// Start begins an exchange.
func (d Digest) Start() Mechanism { return d.start() }

func (d Digest) start() *digestMD5 {
	if d.Ciphers == nil {
		d.Ciphers = Ciphers
	}
	return &digestMD5{Digest: d, cnonce: rand.Text()}
}

// Step answers the server's challenge, then checks its proof.
func (d *digestMD5) Step(in []byte) ([]byte, error) {
	switch d.state {
	case digestBegin:
		out, err := d.respond(string(in))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDigest, err)
		}
		d.state = digestAnswered
		return out, nil
	case digestAnswered:
		p, err := directives(string(in))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDigest, err)
		}
		if subtle.ConstantTimeCompare([]byte(first(p, "rspauth")), []byte(d.want)) != 1 {
			return nil, fmt.Errorf("%w: the server does not know the password", ErrDigest)
		}
		d.state = digestDone
		return nil, nil
	}
	return nil, fmt.Errorf("%w: a challenge behind the end", ErrDigest)
}

// Layer is what was agreed, once the server has proven that it has the password.
func (d *digestMD5) Layer() (Layer, error) {
	if d.state != digestDone {
		return nil, fmt.Errorf("%w: the server ended the exchange before it proved itself", ErrDigest)
	}
	return d.layer, nil
}

func first(p map[string][]string, name string) string {
	if v := p[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// respond makes the digest-response.
func (d *digestMD5) respond(challenge string) ([]byte, error) {
	p, err := directives(challenge)
	if err != nil {
		return nil, err
	}
	nonce, realm := first(p, "nonce"), first(p, "realm")
	if nonce == "" {
		return nil, errors.New("a challenge without a nonce")
	}
	if a := first(p, "algorithm"); a != "md5-sess" {
		return nil, fmt.Errorf("algorithm %q is not md5-sess", a)
	}
	level, cipher, err := d.pick(p)
	if err != nil {
		return nil, err
	}
	max := ownBuffer
	if v := first(p, "maxbuf"); v != "" {
		if max, err = strconv.Atoi(v); err != nil || max < 64 || max > 0xffffff {
			return nil, fmt.Errorf("a buffer of %q bytes", v)
		}
	}
	qop := qops[level]
	ha1 := digestHA1(d.User, realm, d.Password, nonce, d.cnonce)
	proof := func(verb string) string { return digestResponse(ha1, nonce, d.cnonce, qop, verb, d.URI) }
	d.want = proof("")
	if d.layer, err = newDigestLayer(ha1, level, cipher, max, false); err != nil {
		return nil, err
	}
	out := []string{"charset=utf-8", "username=" + quote(d.User), "realm=" + quote(realm), "nonce=" + quote(nonce),
		"nc=" + digestCount, "cnonce=" + quote(d.cnonce), "digest-uri=" + quote(d.URI),
		"maxbuf=" + strconv.Itoa(ownBuffer), "response=" + proof("AUTHENTICATE"), "qop=" + qop}
	if cipher != "" {
		out = append(out, "cipher="+quote(cipher))
	}
	return []byte(strings.Join(out, ",")), nil
}

// qops are the names of the levels in this mechanism.
var qops = map[Protection]string{Authentication: "auth", Integrity: "auth-int", Privacy: "auth-conf"}

// Ciphers that there are here, the preferred first. rc4 is what every JVM had;
// one in FIPS mode offers 3des alone.
var Ciphers = []string{"rc4", "3des"}

// pick takes the strongest level that the server offers, and a cipher for it.
func (d *digestMD5) pick(p map[string][]string) (Protection, string, error) {
	offer := tokens(p["qop"])
	if len(offer) == 0 {
		offer = []string{"auth"} // the default of RFC 2831
	}
	known := tokens(p["cipher"])
	most := Privacy
	if d.Most != nil {
		most = max(*d.Most, d.Least)
	}
	for level := most; level >= d.Least; level-- {
		if !slices.Contains(offer, qops[level]) {
			continue
		}
		if level != Privacy {
			return level, "", nil
		}
		for _, c := range d.Ciphers {
			if slices.Contains(known, c) {
				return level, c, nil
			}
		}
	}
	have := strings.Join(offer, ", ")
	if slices.Contains(offer, qops[Privacy]) {
		have += fmt.Sprintf(" with ciphers %s, but known are %s", strings.Join(known, ", "), strings.Join(d.Ciphers, ", "))
	}
	return 0, "", fmt.Errorf("%w: the server offers %s; the least allowed is %v (%s)", ErrProtection, have, d.Least, qops[d.Least])
}

// digestCount is the nonce count: each exchange has a nonce of its own.
const digestCount = "00000001"

// digestHA1 is H(A1) of RFC 2831, 2.1.2.1.
func digestHA1(user, realm, password, nonce, cnonce string) []byte {
	inner := md5.Sum([]byte(user + ":" + realm + ":" + password))
	sum := md5.Sum(append(inner[:], ":"+nonce+":"+cnonce...))
	return sum[:]
}

// digestResponse is the client's proof with verb AUTHENTICATE, the server's with
// none.
func digestResponse(ha1 []byte, nonce, cnonce, qop, verb, uri string) string {
	a2 := verb + ":" + uri
	if qop != qops[Authentication] {
		a2 += ":" + strings.Repeat("0", 32)
	}
	h2 := md5.Sum([]byte(a2))
	sum := md5.Sum([]byte(hex.EncodeToString(ha1) + ":" + nonce + ":" + digestCount + ":" + cnonce + ":" + qop + ":" + hex.EncodeToString(h2[:])))
	return hex.EncodeToString(sum[:])
}
