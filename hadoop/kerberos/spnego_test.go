package kerberos

import (
	"bytes"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jcmturner/gokrb5/v8/messages"
)

// web is a web server that asks for SPNEGO, as Hadoop's do.
type web struct {
	*httptest.Server
	t      *testing.T
	host   *host
	proofs atomic.Int32 // how often somebody proved himself
	cookie atomic.Value // what it takes in place of a proof
	silent bool         // it does not prove itself
	then   http.HandlerFunc
}

func newWeb(t *testing.T, then http.HandlerFunc) *web {
	w := &web{t: t, host: newHost(t, 18, "HTTP", "localhost"), then: then}
	w.cookie.Store("")
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

func (w *web) url(path string) string {
	return strings.Replace(w.URL, "127.0.0.1", "localhost", 1) + path
}

func (w *web) ServeHTTP(out http.ResponseWriter, req *http.Request) {
	if c, err := req.Cookie(authCookie); err == nil && c.Value == w.cookie.Load() && c.Value != "" {
		w.then(out, req)
		return
	}
	proof, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Negotiate ")
	if !ok {
		out.Header().Add("WWW-Authenticate", "Basic realm=x")
		out.Header().Add("WWW-Authenticate", "Negotiate")
		http.SetCookie(out, &http.Cookie{Name: authCookie, MaxAge: -1})
		out.WriteHeader(http.StatusUnauthorized)
		return
	}
	b, err := base64.StdEncoding.DecodeString(proof)
	if err != nil {
		w.t.Error(err)
	}
	at := bytes.Index(b[1:], []byte{0x60}) // where the inner token begins: lengths are of DER's making
	for at >= 0 {
		if _, reply, err := w.host.accept(b[1+at:]); err == nil {
			w.proofs.Add(1)
			if !w.silent {
				state, _ := asn1.Marshal(asn1.Enumerated(0))
				answer := der(0xa1, der(0x30, der(0xa0, state), der(0xa1, mechOID), der(0xa2, der(0x04, reply))))
				out.Header().Set("WWW-Authenticate", "Negotiate "+base64.StdEncoding.EncodeToString(answer))
			}
			out.Header().Add("Set-Cookie", authCookie+`="u=alice&p=alice@LAB.TEST&t=kerberos&e=1&s=x="; Path=/`)
			w.cookie.Store("u=alice&p=alice@LAB.TEST&t=kerberos&e=1&s=x=")
			w.then(out, req)
			return
		}
		next := bytes.Index(b[2+at:], []byte{0x60})
		if next < 0 {
			break
		}
		at += 1 + next
	}
	out.WriteHeader(http.StatusForbidden)
}

func browser(t *testing.T, hosts ...*host) *http.Client {
	t.Helper()
	l := stranger(t)
	for _, h := range hosts {
		h.admit(t, l, 18)
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	c := &http.Client{Transport: l.Transport(base)}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func get(c *http.Client, url string) (int, string, error) {
	resp, err := c.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func hello(out http.ResponseWriter, req *http.Request) {
	_, _ = io.WriteString(out, "hello "+req.URL.Path)
}

// A proof is given once; then the cookie is shown, until the server does not take
// it any more.
func TestTransportKeepsTheCookie(t *testing.T) {
	w := newWeb(t, hello)
	c := browser(t, w.host)
	for i := range 3 {
		if status, body, err := get(c, w.url("/x")); status != 200 || body != "hello /x" || err != nil {
			t.Fatalf("%d: %d %q %v", i, status, body, err)
		}
	}
	if n := w.proofs.Load(); n != 1 {
		t.Errorf("%d proofs, want 1", n)
	}
	w.cookie.Store("another")
	if status, _, err := get(c, w.url("/x")); status != 200 || err != nil {
		t.Errorf("with an old cookie: %d %v", status, err)
	}
	if n := w.proofs.Load(); n != 2 {
		t.Errorf("%d proofs, want 2", n)
	}
}

// Bodies are sent again with the proof, whether they can be read twice or not.
func TestTransportRepeatsTheBody(t *testing.T) {
	w := newWeb(t, func(out http.ResponseWriter, req *http.Request) { _, _ = io.Copy(out, req.Body) })
	for _, body := range []io.Reader{strings.NewReader("a body"), io.MultiReader(strings.NewReader("a body"))} {
		c := browser(t, w.host)
		w.cookie.Store("")
		resp, err := c.Post(w.url("/"), "text/plain", body)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(b) != "a body" {
			t.Errorf("%T: the server got %q", body, b)
		}
	}
}

// A standby sends to the active one, which asks for a proof of its own.
func TestTransportFollows(t *testing.T) {
	active := newWeb(t, hello)
	standby := newWeb(t, func(out http.ResponseWriter, req *http.Request) {
		http.Redirect(out, req, active.url(req.URL.Path), http.StatusTemporaryRedirect)
	})
	active.host = standby.host // one principal on one machine
	status, body, err := get(browser(t, active.host), standby.url("/info"))
	if status != 200 || body != "hello /info" || err != nil {
		t.Errorf("%d %q %v", status, body, err)
	}
	if active.proofs.Load() != 1 || standby.proofs.Load() != 1 {
		t.Errorf("%d and %d proofs", standby.proofs.Load(), active.proofs.Load())
	}
}

// A server that does not prove itself is refused.
func TestTransportWantsAProof(t *testing.T) {
	w := newWeb(t, hello)
	w.silent = true
	if _, _, err := get(browser(t, w.host), w.url("/")); !errors.Is(err, ErrPeer) {
		t.Errorf("no proof: %v", err)
	}
	w = newWeb(t, hello)
	w.host.spoil = func(p *messages.EncAPRepPart) { p.Cusec++ }
	if _, _, err := get(browser(t, w.host), w.url("/")); !errors.Is(err, ErrPeer) {
		t.Errorf("a wrong proof: %v", err)
	}
	// One that does not take ours need not prove itself: its refusal is the answer.
	w = newWeb(t, hello)
	other := newHost(t, 18, "HTTP", "localhost")
	if err := other.keys.AddEntry("HTTP/localhost", home, "another", w.host.keys.Entries[0].Timestamp, 2, 18); err != nil {
		t.Fatal(err)
	}
	other.keys.Entries = other.keys.Entries[1:]
	other.keys.Entries[0].KVNO = 1
	if status, _, err := get(browser(t, other), w.url("/")); status != http.StatusForbidden || err != nil {
		t.Errorf("a ticket of another key: %d, %v", status, err)
	}
}

func FuzzOpenNegotiation(f *testing.F) {
	f.Add(der(0xa1, der(0x30, der(0xa0, []byte{10, 1, 0}), der(0xa2, der(4, []byte("token"))))))
	f.Add([]byte{0x60, 1, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		if token, err := openNegotiation(b); err == nil {
			_, _, _ = openToken(token)
		}
	})
}

// An address without a name is told with what can be touched: the address.
func TestTransportToAnAddress(t *testing.T) {
	w := newWeb(t, hello)
	_, _, err := get(browser(t, w.host), w.URL)
	problem, ok := errors.AsType[*Problem](err)
	if !ok || problem.Thing != "127.0.0.1" || !errors.Is(err, ErrService) {
		t.Errorf("%v, want a problem of 127.0.0.1", err)
	}
}
