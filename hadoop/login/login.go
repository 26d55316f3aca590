package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/user"
	"strings"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/kerberos"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/token"
)

// Options are what a caller has.
type Options struct {
	User      string // who acts; nothing for whom the proof is about
	Keytab    string // a file of keys, for Principal
	Principal string
	Cache     string             // a ticket cache; nothing for the default one
	Tokens    *token.Credentials // nil for the file that HADOOP_TOKEN_FILE_LOCATION names
	Getenv    func(string) string
}

// Auth says how to log in; it is asked at each connection.
type Auth = func(context.Context) (rpc.Auth, error)

// Login is one caller of one cluster.
type Login struct {
	conf     *conf.Conf
	secure   bool
	user     string             // who acts, by its short name
	real     string             // who proves it, if that is somebody else
	source   kerberos.Source    // where Kerberos comes from
	kerberos *kerberos.Login    // nil: tokens alone
	tokens   *token.Credentials // nil: none
	file     string             // where they are from; may be empty
	fallback bool
	http     *http.Client
}

const (
	keyAuthentication = "hadoop.security.authentication"
	keyRules          = "hadoop.security.auth_to_local"
	keyFallback       = "ipc.client.fallback-to-simple-auth-allowed"
	envTokens         = "HADOOP_TOKEN_FILE_LOCATION"
)

// ErrNoProof says that a cluster wants a proof and there is none that can be used.
var ErrNoProof = errors.New("this cluster asks for Kerberos, and there is neither a usable ticket nor a keytab nor a token")

// ErrUser says that somebody cannot act as whom he wants to.
var ErrUser = errors.New("cannot act as this user")

// New finds out how the cluster wants to be called, and whether that can be done:
// files are read, and nobody is asked.
func New(c *conf.Conf, o Options) (*Login, error) {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	l := &Login{conf: c, secure: strings.EqualFold(c.String(keyAuthentication, "simple"), "kerberos"), fallback: c.Bool(keyFallback, false)}
	if !l.secure {
		l.user = believed(o)
		return l, nil
	}
	if err := l.readTokens(o); err != nil {
		return nil, err
	}
	l.source = kerberos.Source{Keytab: o.Keytab, Principal: o.Principal, Cache: o.Cache, Getenv: o.Getenv}
	var err error
	if l.kerberos, err = kerberos.Open(l.source); err != nil {
		l.kerberos = nil
		if l.tokens == nil || o.Keytab != "" || o.Cache != "" {
			return nil, denied(c, err)
		}
	}
	if err := l.whoActs(o.User); err != nil {
		return nil, err
	}
	l.http = l.client()
	return l, nil
}

// denied says that it is the cluster that wants Kerberos, before what is wrong
// with it.
func denied(c *conf.Conf, err error) error {
	what := keyAuthentication + ": kerberos (" + c.Origin(keyAuthentication) + ")"
	if errors.Is(err, kerberos.ErrNoTicket) || errors.Is(err, kerberos.ErrExpired) {
		return fmt.Errorf("%s: %w: %w", what, ErrNoProof, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// believed is who calls a cluster that takes everybody's word.
func believed(o Options) string {
	if name := cmp.Or(o.User, o.Getenv("HADOOP_USER_NAME")); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// readTokens takes the tokens that the caller has, or those of the file that its
// environment names.
func (l *Login) readTokens(o Options) error {
	l.tokens = o.Tokens
	if path := o.Getenv(envTokens); l.tokens == nil && path != "" {
		var err error
		if l.tokens, err = token.Load(path); err != nil {
			return fmt.Errorf("%s: %w\nhint: unset it, if a ticket or a keytab shall prove who you are", envTokens, err)
		}
		l.file = path
	}
	if l.tokens != nil && len(l.tokens.Tokens) == 0 {
		l.tokens = nil
	}
	return nil
}

// whoActs finds the short names of who proves it and of who acts.
func (l *Login) whoActs(wanted string) error {
	var proven string
	switch {
	case l.kerberos != nil:
		var err error
		if proven, err = l.short(l.kerberos.Principal()); err != nil {
			return err
		}
	case l.tokens.ByKind(token.KindHDFS) != nil:
		id, err := token.ParseHDFS(l.tokens.ByKind(token.KindHDFS))
		if err != nil {
			return err
		}
		// The rules may be a cluster's own: then the name is what is in the token.
		if proven, err = l.short(id.Owner); err != nil {
			proven, _, _ = strings.Cut(strings.ReplaceAll(id.Owner, "/", "@"), "@")
		}
	default:
		proven = wanted
	}
	l.user = cmp.Or(wanted, proven)
	if l.user != proven && l.kerberos == nil {
		return fmt.Errorf("%s: %w: the tokens are %s's\nhint: only with Kerberos one can act for another", l.user, ErrUser, proven)
	}
	if l.user != proven {
		l.real = l.kerberos.Principal()
	}
	return nil
}

// short is a principal's user name by the cluster's rules.
func (l *Login) short(principal string) (string, error) {
	realm := ""
	if l.kerberos != nil {
		realm = l.kerberos.DefaultRealm()
	}
	rules, err := kerberos.ParseRules(l.conf.String(keyRules, "DEFAULT"), l.conf.String(keyRules+".mechanism", "hadoop"), realm)
	if err == nil {
		var name string
		if name, err = rules.Short(principal); err == nil {
			return name, nil
		}
	}
	err = fmt.Errorf("%w (%s)", err, cmp.Or(l.conf.Origin(keyRules), "default"))
	if _, own, _ := strings.Cut(principal, "@"); l.kerberos != nil && own != realm {
		err = fmt.Errorf("%w\nhint: %s", err, homeHint(realm, own))
	}
	return "", err
}

// homeHint says why the rule DEFAULT, which is most clusters' only one for people,
// does not fit a principal of another realm.
func homeHint(home, realm string) string {
	if home == "" {
		return "DEFAULT fits principals of the default realm, and krb5.conf has no default_realm; KRB5_CONFIG names it where it is not /etc/krb5.conf"
	}
	return "DEFAULT fits principals of " + home + ", the default_realm of krb5.conf, not those of " + realm
}

// User is the short name of who acts.
func (l *Login) User() string { return l.user }

// Secure tells that the cluster wants a proof.
func (l *Login) Secure() bool { return l.secure }

// Close forgets tickets and ends idle connections.
func (l *Login) Close() error {
	if l.http != nil {
		l.http.CloseIdleConnections()
	}
	if l.kerberos != nil {
		return l.kerberos.Close()
	}
	return nil
}
