package kerberos

import (
	"bytes"
	"context"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// Transport proves who calls over HTTP (RFC 4559) where a server asks for it,
// and that the server is the one that the URL names. A server's cookie
// (hadoop.auth) is kept, so that the proof is given once and not with each call.
// next is http.DefaultTransport where it is nil.
func (l *Login) Transport(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &transport{login: l, next: next, cookies: map[string]*http.Cookie{}}
}

type transport struct {
	login *Login
	next  http.RoundTripper

	mu      sync.Mutex
	cookies map[string]*http.Cookie // by scheme and host with port
}

// authCookie is Hadoop's proof that somebody has proven himself.
const authCookie = "hadoop.auth"

const negotiate = "Negotiate"

// maxBody bounds a request's body that cannot be read twice by itself.
const maxBody = 16 << 20

// RoundTrip sends a request, and again with a proof if the server wants one.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	again, err := replay(req)
	if err != nil {
		return nil, err
	}
	resp, err := t.send(req, again, "")
	if err != nil || !challenged(resp) {
		return resp, err
	}
	t.forget(req)
	drain(resp)
	c, token, err := t.login.negotiation(req.Context(), req.URL.Hostname())
	if err != nil {
		return nil, err
	}
	resp, err = t.send(req, again, negotiate+" "+base64.StdEncoding.EncodeToString(token))
	if err != nil {
		return nil, err
	}
	if err := t.proven(c, resp); err != nil {
		drain(resp)
		return nil, err
	}
	t.keep(req, resp)
	return resp, nil
}

// CloseIdleConnections passes it on.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// replay gives a request's body as often as it is wanted; nil for none.
func replay(req *http.Request) (func() (io.ReadCloser, error), error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	if req.GetBody != nil {
		req.Body.Close()
		return req.GetBody, nil
	}
	b, err := io.ReadAll(io.LimitReader(req.Body, maxBody+1))
	req.Body.Close()
	if err == nil && len(b) > maxBody {
		err = fmt.Errorf("%s: a body of more than %d bytes that cannot be sent twice", req.URL.Host, maxBody)
	}
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }, err
}

func (t *transport) send(req *http.Request, body func() (io.ReadCloser, error), proof string) (*http.Response, error) {
	out := req.Clone(req.Context())
	if body != nil {
		b, err := body()
		if err != nil {
			return nil, err
		}
		out.Body = b
	}
	if proof != "" {
		out.Header.Set("Authorization", proof)
	} else if c := t.cookie(req); c != nil {
		out.AddCookie(c)
	}
	resp, err := t.next.RoundTrip(out)
	if err == nil {
		resp.Request = req
	}
	return resp, err
}

// challenged tells that a server wants a proof.
func challenged(resp *http.Response) bool {
	if resp.StatusCode != http.StatusUnauthorized {
		return false
	}
	for _, v := range resp.Header.Values("WWW-Authenticate") {
		if word, _, _ := strings.Cut(strings.TrimSpace(v), " "); strings.EqualFold(word, negotiate) {
			return true
		}
	}
	return false
}

// drain lets the connection be used again.
func drain(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	resp.Body.Close()
}

// proven checks the server's own proof. One that refuses us need not give any.
func (t *transport) proven(c *securityContext, resp *http.Response) error {
	var token []byte
	for _, v := range resp.Header.Values("WWW-Authenticate") {
		word, rest, _ := strings.Cut(strings.TrimSpace(v), " ")
		if strings.EqualFold(word, negotiate) && rest != "" {
			b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
			if err != nil {
				return &Problem{Thing: c.service.String(), Kind: ErrPeer, Cause: err}
			}
			token = b
		}
	}
	if token == nil {
		if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
			return nil
		}
		return &Problem{Thing: c.service.String(), Kind: ErrPeer, Cause: errors.New("its answer carries no proof"),
			Hint: "something between may answer in its place, or take headers away: call the server directly"}
	}
	inner, err := openNegotiation(token)
	if err != nil {
		return &Problem{Thing: c.service.String(), Kind: ErrPeer, Cause: err}
	}
	return c.reply(inner, t.login.Principal())
}

// negotiation begins a context with the web server of a host.
func (l *Login) negotiation(ctx context.Context, host string) (*securityContext, []byte, error) {
	host = strings.ToLower(host)
	if net.ParseIP(host) != nil {
		called, err := l.hostOf(ctx, host, "")
		if err != nil {
			return nil, nil, &Problem{Thing: host, Kind: ErrService, Cause: err, Hint: "call the server by its name"}
		}
		host = called
	}
	c, request, err := l.begin(ctx, name{parts: []string{"HTTP", host}, realm: l.realm(host)})
	if err != nil {
		return nil, nil, err
	}
	return c, frameNegotiation(request), nil
}

// negotiationOID is SPNEGO in DER.
var negotiationOID = []byte{0x06, 0x06, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x02}

// frameNegotiation puts a token into the first message of RFC 4178: Kerberos is
// the only mechanism that we offer.
func frameNegotiation(token []byte) []byte {
	kinds := der(0xa0, der(0x30, mechOID))
	return der(0x60, negotiationOID, der(0xa0, der(0x30, kinds, der(0xa2, der(0x04, token)))))
}

// openNegotiation takes the mechanism's token out of the answer.
func openNegotiation(b []byte) ([]byte, error) {
	if len(b) > 0 && b[0] == 0x60 {
		return b, nil // Kerberos without a wrapping
	}
	var answer struct {
		State asn1.Enumerated       `asn1:"explicit,optional,tag:0"`
		Kind  asn1.ObjectIdentifier `asn1:"explicit,optional,tag:1"`
		Token []byte                `asn1:"explicit,optional,tag:2"`
		MIC   []byte                `asn1:"explicit,optional,tag:3"`
	}
	rest, err := asn1.UnmarshalWithParams(b, &answer, "explicit,tag:1")
	if err != nil || len(rest) > 0 {
		return nil, errors.New("an answer that is not SPNEGO")
	}
	const rejected = 2
	if answer.State == rejected || len(answer.Token) == 0 {
		return nil, fmt.Errorf("negotiation state %d, and no proof", answer.State)
	}
	return answer.Token, nil
}

func place(req *http.Request) string { return req.URL.Scheme + "://" + req.URL.Host }

func (t *transport) cookie(req *http.Request) *http.Cookie {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cookies[place(req)]
}

func (t *transport) forget(req *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.cookies, place(req))
}

func (t *transport) keep(req *http.Request, resp *http.Response) {
	for _, c := range resp.Cookies() {
		if c.Name == authCookie && c.Value != "" && c.MaxAge >= 0 {
			t.mu.Lock()
			t.cookies[place(req)] = &http.Cookie{Name: c.Name, Value: c.Value, Quoted: c.Quoted}
			t.mu.Unlock()
		}
	}
}
