package login

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gokeytab "github.com/jcmturner/gokrb5/v8/keytab"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/kerberos"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/token"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// home is a place with a krb5.conf and keytabs.
type home struct{ dir string }

func newHome(t *testing.T, principals ...string) home {
	t.Helper()
	h := home{t.TempDir()}
	if err := os.WriteFile(h.path("krb5.conf"), []byte("[libdefaults]\n default_realm = R.TEST\n dns_lookup_kdc = no\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range principals {
		k := gokeytab.New()
		if err := k.AddEntry(p, "R.TEST", "password", time.Unix(1e9, 0), 1, 18); err != nil {
			t.Fatal(err)
		}
		b, err := k.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(h.path(strings.ReplaceAll(p, "/", "_")), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h home) path(name string) string { return filepath.Join(h.dir, name) }

func (h home) env(more map[string]string) func(string) string {
	return func(key string) string {
		if v, ok := more[key]; ok {
			return v
		}
		return map[string]string{"KRB5_CONFIG": h.path("krb5.conf"), "KRB5CCNAME": h.path("no cache")}[key]
	}
}

func secured(more map[string]string) *conf.Conf {
	c := map[string]string{
		"hadoop.security.authentication": "Kerberos", "fs.defaultFS": "hdfs://nn1.test:8020",
		"dfs.namenode.kerberos.principal": "nn/_HOST@R.TEST", "yarn.resourcemanager.principal": "rm/_HOST@R.TEST",
		"yarn.resourcemanager.hostname": "rm1.test", "hadoop.security.token.service.use_ip": "false",
	}
	maps.Copy(c, more)
	return conf.New(c)
}

func hdfsToken(owner, service string) token.Token {
	b := []byte{0}
	for _, s := range []string{owner, "yarn", ""} {
		b = append(append(b, byte(len(s))), s...)
	}
	return token.Token{Kind: token.KindHDFS, Service: service, Identifier: append(b, 1, 2, 3, 4)}
}

func rmToken(owner, service string) token.Token {
	b, _ := proto.Marshal(&yarnpb.RMDelegationTokenIdentifier{Owner: &owner})
	return token.Token{Kind: token.KindRM, Service: service, Identifier: b, Password: []byte("p")}
}

func TestBelieved(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{User: "alice"}, "alice"},
		{Options{Getenv: func(k string) string { return map[string]string{"HADOOP_USER_NAME": "bob"}[k] }}, "bob"},
		{Options{User: "alice", Getenv: func(string) string { return "bob" }}, "alice"},
	} {
		l, err := New(conf.New(nil), c.o)
		if err != nil || l.User() != c.want || l.Secure() || l.HTTP() != nil {
			t.Errorf("%+v, %v, want %s", l, err, c.want)
			continue
		}
		a, err := l.RM()(t.Context())
		if err != nil || a.User != c.want || a.Kerberos != nil || a.Token != nil {
			t.Errorf("%+v, %v", a, err)
		}
		if p, err := l.Proof(); err != nil || p.Principal != "" {
			t.Errorf("%+v, %v", p, err)
		}
		l.Close()
	}
	if l, err := New(conf.New(nil), Options{}); err != nil || l.User() == "" {
		t.Errorf("nobody: %+v, %v", l, err)
	}
}

// Who acts and how it is proven, over what the caller has.
func TestWhoActs(t *testing.T) {
	h := newHome(t, "alice", "etl/edge")
	const nn, rm = "nn1.test:8020", "rm1.test:8032"
	rules := map[string]string{"hadoop.security.auth_to_local": "RULE:[2:$1]s/etl/loader/ DEFAULT"}
	tokens := func(t ...token.Token) *token.Credentials { return &token.Credentials{Tokens: t} }
	for what, c := range map[string]struct {
		set       map[string]string
		o         Options
		user      string // of the login
		nnToken   bool
		rmToken   bool
		effective string // of a call by Kerberos
		real      string
	}{
		"a keytab":                   {rules, Options{Keytab: "alice"}, "alice", false, false, "", ""},
		"a service's keytab":         {rules, Options{Keytab: "etl_edge"}, "loader", false, false, "", ""},
		"oneself by name":            {rules, Options{Keytab: "alice", User: "alice"}, "alice", false, false, "", ""},
		"a proxy":                    {rules, Options{Keytab: "etl_edge", User: "bob"}, "bob", false, false, "bob", "etl/edge@R.TEST"},
		"tokens":                     {rules, Options{Tokens: tokens(hdfsToken("alice@R.TEST", nn), rmToken("alice@R.TEST", rm))}, "alice", true, true, "", ""},
		"tokens of a service":        {nil, Options{Tokens: tokens(hdfsToken("etl/edge@X.TEST", nn), rmToken("etl/edge@X.TEST", rm))}, "etl", true, true, "", ""},
		"a token beside a keytab":    {rules, Options{Keytab: "alice", Tokens: tokens(hdfsToken("alice@R.TEST", nn))}, "alice", true, false, "", ""},
		"a proxy with own tokens":    {rules, Options{Keytab: "etl_edge", User: "bob", Tokens: tokens(hdfsToken("etl/edge@R.TEST", nn), rmToken("etl/edge@R.TEST", rm))}, "bob", false, false, "bob", "etl/edge@R.TEST"},
		"a proxy with bob's tokens":  {rules, Options{Keytab: "etl_edge", User: "bob", Tokens: tokens(hdfsToken("bob", nn))}, "bob", true, false, "bob", "etl/edge@R.TEST"},
		"tokens of another cluster":  {rules, Options{Keytab: "alice", Tokens: tokens(hdfsToken("alice@R.TEST", "nn9:8020"), rmToken("alice@R.TEST", "rm9:8032"))}, "alice", false, false, "", ""},
		"a token of two that relate": {rules, Options{Tokens: tokens(rmToken("alice", "rm0:1,"+rm), hdfsToken("alice", nn))}, "alice", true, true, "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			if c.o.Keytab != "" {
				c.o.Keytab = h.path(c.o.Keytab)
			}
			c.o.Getenv = h.env(nil)
			l, err := New(secured(c.set), c.o)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if l.User() != c.user || !l.Secure() || l.HTTP() == nil {
				t.Errorf("user %s, want %s", l.User(), c.user)
			}
			fs, err := l.conf.NameNodes("")
			if err != nil {
				t.Fatal(err)
			}
			for name, s := range map[string]struct {
				ask   Auth
				token bool
			}{"namenode": {l.NameNode(fs), c.nnToken}, "resource manager": {l.RM(), c.rmToken}} {
				a, err := s.ask(t.Context())
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if (a.Token != nil) != s.token || (a.Kerberos != nil) != (c.o.Keytab != "") || a.Fallback || a.User != c.effective || a.RealUser != c.real {
					t.Errorf("%s: %+v", name, a)
				}
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	h := newHome(t, "alice", "etl/edge")
	bad := h.path("bad")
	if err := os.WriteFile(bad, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	homeless, elsewhere := h.path("homeless.conf"), h.path("elsewhere.conf")
	for file, text := range map[string]string{homeless: "[libdefaults]\n", elsewhere: "[libdefaults]\n default_realm = OTHER.TEST\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one := &token.Credentials{Tokens: []token.Token{hdfsToken("alice", "nn1.test:8020")}}
	for what, c := range map[string]struct {
		set  map[string]string
		o    Options
		is   error
		says string
	}{
		"nothing":               {nil, Options{}, ErrNoProof, "hadoop.security.authentication: kerberos (set): this cluster asks for Kerberos, and there is neither"},
		"nothing, with a hint":  {nil, Options{}, kerberos.ErrNoTicket, "\nhint: kinit makes one"},
		"another's tokens":      {nil, Options{Tokens: one, User: "bob"}, ErrUser, "bob: cannot act as this user: the tokens are alice's\nhint: only with Kerberos"},
		"no such keytab":        {nil, Options{Keytab: h.path("none"), Tokens: one}, kerberos.ErrKeytab, h.path("none")},
		"another's keytab":      {nil, Options{Keytab: h.path("alice"), Principal: "bob"}, kerberos.ErrKeytab, "it holds alice@R.TEST"},
		"a named cache":         {nil, Options{Cache: h.path("none"), Tokens: one}, kerberos.ErrNoTicket, h.path("none")},
		"no rule fits":          {map[string]string{"hadoop.security.auth_to_local": "RULE:[2:$1]"}, Options{Keytab: h.path("alice")}, kerberos.ErrRule, "no rule fits (set)"},
		"no default realm":      {nil, Options{Keytab: h.path("alice"), Getenv: h.env(map[string]string{"KRB5_CONFIG": homeless})}, kerberos.ErrRule, "krb5.conf has no default_realm"},
		"another default realm": {nil, Options{Keytab: h.path("alice"), Getenv: h.env(map[string]string{"KRB5_CONFIG": elsewhere})}, kerberos.ErrRule, "\nhint: DEFAULT fits principals of OTHER.TEST, the default_realm of krb5.conf, not those of R.TEST"},
		"a name without realm":  {nil, Options{Keytab: h.path("alice"), Principal: "alice", Getenv: h.env(map[string]string{"KRB5_CONFIG": homeless})}, kerberos.ErrPrincipal, "\nhint: write it as NAME@REALM"},
		"rules are nonsense":    {map[string]string{"hadoop.security.auth_to_local": "NONSENSE"}, Options{Keytab: h.path("alice")}, kerberos.ErrRule, "NONSENSE"},
		"a file that is none":   {nil, Options{Getenv: h.env(map[string]string{"HADOOP_TOKEN_FILE_LOCATION": bad})}, token.ErrFormat, "HADOOP_TOKEN_FILE_LOCATION: "},
		"a file that is absent": {nil, Options{Getenv: h.env(map[string]string{"HADOOP_TOKEN_FILE_LOCATION": bad + "x"})}, os.ErrNotExist, "\nhint: unset it"},
	} {
		if c.o.Getenv == nil {
			c.o.Getenv = h.env(nil)
		}
		l, err := New(secured(c.set), c.o)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v, %v, want %q", what, l, err, c.says)
		}
	}
	l, err := New(secured(map[string]string{"yarn.resourcemanager.principal": ""}), Options{Keytab: h.path("alice"), Getenv: h.env(nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.RM()(t.Context()); !errors.Is(err, conf.ErrMissing) || !strings.Contains(err.Error(), "yarn.resourcemanager.principal") || !strings.Contains(err.Error(), "rm/_HOST@R.TEST") {
		t.Errorf("no principal of the service: %v", err)
	}
}

// A pattern stands in for the principal; falling back is allowed by its key only.
func TestKeys(t *testing.T) {
	h := newHome(t, "alice")
	l, err := New(secured(map[string]string{"ipc.client.fallback-to-simple-auth-allowed": "true", "dfs.namenode.kerberos.principal": "", "dfs.namenode.kerberos.principal.pattern": "*"}),
		Options{Keytab: h.path("alice"), Getenv: h.env(nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fs, _ := l.conf.NameNodes("")
	if a, err := l.NameNode(fs)(t.Context()); err != nil || a.Kerberos == nil || !a.Fallback {
		t.Errorf("%+v, %v", a, err)
	}
}

// Over HTTP a proxy says for whom it acts, and the ResourceManager's token is
// shown to the ResourceManager alone.
func TestHTTP(t *testing.T) {
	var seen *http.Request
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r }))
	defer s.Close()
	h := newHome(t, "etl/edge")
	set := map[string]string{"yarn.resourcemanager.webapp.address": strings.TrimPrefix(s.URL, "http://")}
	get := func(o Options, url string) {
		t.Helper()
		o.Getenv = h.env(nil)
		l, err := New(secured(set), o)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		resp, err := l.HTTP().Get(url)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	get(Options{Keytab: h.path("etl_edge"), User: "bob"}, s.URL+"/x?a=b")
	if got := seen.URL.Query(); got.Get("doAs") != "bob" || got.Get("a") != "b" {
		t.Errorf("a proxy asks %v", seen.URL)
	}
	tokens := &token.Credentials{Tokens: []token.Token{rmToken("alice", "rm1.test:8032")}}
	get(Options{Tokens: tokens, User: "alice"}, s.URL+"/x")
	if seen.Header.Get(tokenHeader) == "" || seen.URL.RawQuery != "" {
		t.Errorf("a bearer of tokens asks %v with %v", seen.URL, seen.Header)
	}
	get(Options{Tokens: tokens, User: "alice"}, strings.Replace(s.URL, "127.0.0.1", "localhost", 1)+"/x")
	if got := seen.Header.Get(tokenHeader); got != "" {
		t.Errorf("somebody else is shown the token %s", got)
	}
}
