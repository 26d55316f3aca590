package login

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/token"
)

// HTTP is a client that proves who calls over HTTP, nil where no proof is wanted.
// It is shared: Close ends its connections.
func (l *Login) HTTP() *http.Client { return l.http }

func (l *Login) client() *http.Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	w := &web{login: l, next: base}
	if l.kerberos != nil {
		w.next = l.kerberos.Transport(base)
	}
	return &http.Client{Timeout: 30 * time.Second, Transport: w}
}

// web says for whom a proxy acts, and shows the ResourceManager's token where
// there is no Kerberos.
type web struct {
	login *Login
	next  http.RoundTripper
}

// tokenHeader is where Hadoop's web services look for a token.
const tokenHeader = "X-Hadoop-Delegation-Token"

func (w *web) RoundTrip(req *http.Request) (*http.Response, error) {
	l := w.login
	out := req.Clone(req.Context())
	if l.real != "" && !out.URL.Query().Has("doAs") {
		q := out.URL.Query()
		q.Set("doAs", l.user)
		out.URL.RawQuery = q.Encode()
	}
	if l.kerberos == nil && l.managerURL(out) {
		if t := l.rmToken(req.Context()); t != nil {
			out.Header.Set(tokenHeader, base64.RawURLEncoding.EncodeToString(bare(t)))
		}
	}
	resp, err := w.next.RoundTrip(out)
	if err == nil {
		resp.Request = req
	}
	return resp, err
}

// CloseIdleConnections passes it on.
func (w *web) CloseIdleConnections() {
	if c, ok := w.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// managerURL tells that a request goes to a ResourceManager: nobody else is shown
// its token.
func (l *Login) managerURL(req *http.Request) bool {
	urls, err := l.conf.RMWebURLs()
	return err == nil && slices.Contains(urls, req.URL.Scheme+"://"+req.URL.Host)
}

// bare is a token by itself, in Hadoop's Writable form.
func bare(t *token.Token) []byte {
	var b []byte
	for _, field := range [][]byte{t.Identifier, t.Password, []byte(t.Kind), []byte(t.Service)} {
		b = append(token.AppendVint(b, int64(len(field))), field...)
	}
	return b
}

// rmToken finds the ResourceManager's token: filed under its address by name or
// number, or under those of all that stand in for each other.
func (l *Login) rmToken(ctx context.Context) *token.Token {
	if l.tokens == nil {
		return nil
	}
	servers, err := l.conf.ResourceManagers(conf.RMClient)
	if err != nil {
		return nil
	}
	known := conf.Addresses(servers)
	find := func() *token.Token {
		for _, t := range l.tokens.Tokens {
			if t.Kind == token.KindRM && slices.ContainsFunc(strings.Split(t.Service, ","), func(s string) bool { return slices.Contains(known, s) }) {
				return &t
			}
		}
		return nil
	}
	if t := find(); t != nil {
		return t
	}
	for _, s := range servers {
		host, port, err := net.SplitHostPort(s.Address)
		if err != nil {
			continue
		}
		ips, _ := net.DefaultResolver.LookupHost(ctx, host)
		for _, ip := range ips {
			known = append(known, net.JoinHostPort(ip, port))
		}
	}
	return find()
}
