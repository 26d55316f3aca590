package kerberos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/flags"
)

// Source is what a caller has to prove who it is with: a keytab, or else a
// ticket cache.
type Source struct {
	Keytab    string // a file of keys; with it, Principal says whose
	Principal string // user@REALM; with a cache, whom its tickets must be for; may be empty
	Cache     string // FILE:path, DIR:path or a path; nothing for KRB5CCNAME, else krb5.conf's or the default
	Config    string // a krb5.conf; nothing for KRB5_CONFIG, else /etc/krb5.conf
	// Getenv gives the environment, as os.Getenv; nil for none.
	Getenv func(string) string
}

func (s Source) env(key string) string {
	if s.Getenv == nil {
		return ""
	}
	return s.Getenv(key)
}

// Login is one principal with the tickets that it got. It may be used from many
// goroutines, and has none of its own: tickets are renewed when they are asked for.
type Login struct {
	conf   *config
	client name
	keys   *keytab // nil: tickets come from the cache
	cache  string  // its name
	now    func() time.Time

	turn     chan struct{} // one talks to the KDC at a time; its holder may touch what follows
	tgt      *ticket
	services map[string]*ticket
	closed   bool

	mu      sync.Mutex
	doubted map[string]bool // services that were shown their ticket and have not proven themselves
}

// ErrClosed says that a login has been closed.
var ErrClosed = errors.New("kerberos login closed")

// Open reads a source and asks no KDC: a keytab must have the principal's keys, a
// cache a ticket that has not expired. Check tells whether the KDC agrees.
func Open(s Source) (*Login, error) { return open(s, time.Now) }

func open(s Source, now func() time.Time) (*Login, error) {
	conf, err := loadConfig(s)
	if err != nil {
		return nil, err
	}
	l := &Login{conf: conf, now: now, turn: make(chan struct{}, 1), services: map[string]*ticket{}, doubted: map[string]bool{}}
	if s.Keytab != "" {
		if l.keys, err = loadKeytab(s.Keytab); err != nil {
			return nil, err
		}
		l.client, err = l.keys.owner(s.Principal, conf.realm)
		return l, err
	}
	l.cache = cacheSpec(s, conf)
	c, err := loadCache(l.cache)
	if err != nil {
		return nil, err
	}
	l.client = c.owner
	if s.Principal != "" {
		want, err := parseName(s.Principal, conf.realm)
		if err != nil {
			return nil, &Problem{Thing: s.Principal, Kind: ErrPrincipal, Cause: err, Hint: nameHint}
		}
		if !want.equal(c.owner) {
			return nil, &Problem{Thing: c.path, Kind: ErrPrincipal, Cause: fmt.Errorf("its tickets are for %s, not %s", c.owner, want),
				Hint: "kinit " + want.String() + ", or name the keytab"}
		}
	}
	l.tgt = c.tgt
	if !now().Before(c.tgt.end) {
		return nil, l.expired(c.tgt)
	}
	return l, nil
}

// expired explains a ticket whose time is over.
func (l *Login) expired(t *ticket) error {
	hint := "kinit"
	if t.renew.After(l.now()) {
		hint = fmt.Sprintf("kinit; it could be renewed until %s, but only before its end (kinit -R, krenew)", t.renew.UTC().Format(time.DateTime))
	}
	return &Problem{Thing: l.cache, Kind: ErrExpired, Hint: hint,
		Cause: fmt.Errorf("%s's ended at %s UTC, %v ago", l.client, t.end.UTC().Format(time.DateTime), l.now().Sub(t.end).Round(time.Second))}
}

// Principal is the full name, user@REALM.
func (l *Login) Principal() string { return l.client.String() }

// Realm is the part of the name behind the @.
func (l *Login) Realm() string { return l.client.realm }

// DefaultRealm is krb5.conf's, which rules for short names want.
func (l *Login) DefaultRealm() string { return l.conf.realm }

// Expires tells when the ticket of a cache ends; the zero time for a keytab, from
// which others are made.
func (l *Login) Expires() time.Time { return l.times().end }

// Renewable tells until when the ticket of a cache can be renewed; the zero time
// when it cannot, or need not.
func (l *Login) Renewable() time.Time { return l.times().renew }

func (l *Login) times() ticket {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if l.tgt == nil || l.keys != nil {
		return ticket{}
	}
	return *l.tgt
}

// Check gets a ticket if there is none, so that what is wrong comes out.
func (l *Login) Check(ctx context.Context) error {
	release, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer release()
	_, err = l.granting(ctx)
	return err
}

// Close forgets the tickets.
func (l *Login) Close() error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.tgt, l.services, l.closed = nil, nil, true
	return nil
}

func (l *Login) enter(ctx context.Context) (release func(), err error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if l.closed {
		<-l.turn
		return nil, ErrClosed
	}
	return func() { <-l.turn }, nil
}

func (l *Login) exchange() *exchange { return &exchange{conf: l.conf, client: l.client, now: l.now} }

// ticket gets one for a service, from memory where it still has some life and
// the service took it when it was last shown: a service whose key was changed
// takes only a new one.
func (l *Login) ticket(ctx context.Context, service name) (*ticket, error) {
	release, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	key := service.String()
	have, now := l.services[key], l.now()
	if have != nil && !have.old(now) && !l.doubt(key) {
		return have, nil
	}
	with, err := l.granting(ctx)
	if err == nil {
		var t *ticket
		if t, err = l.reach(ctx, with, service); err == nil {
			l.services[key] = t
			return t, nil
		}
	}
	if have != nil && now.Before(have.end) && errors.Is(err, ErrKDC) {
		return have, nil // it still may do
	}
	return nil, err
}

// begin makes a context with a service, which is in doubt until it has proven
// itself.
func (l *Login) begin(ctx context.Context, service name) (*securityContext, []byte, error) {
	t, err := l.ticket(ctx, service)
	if err != nil {
		return nil, nil, err
	}
	c, request, err := l.exchange().request(t)
	if err != nil {
		return nil, nil, err
	}
	key := service.String()
	l.mu.Lock()
	l.doubted[key] = true
	l.mu.Unlock()
	c.proven = func() {
		l.mu.Lock()
		delete(l.doubted, key)
		l.mu.Unlock()
	}
	return c, request, nil
}

func (l *Login) doubt(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.doubted[key]
}

// maxHops bounds the way through realms that trust each other.
const maxHops = 6

// reach goes to the service's realm and gets the ticket there.
func (l *Login) reach(ctx context.Context, with *ticket, service name) (*ticket, error) {
	x := l.exchange()
	at := l.client.realm
	for range maxHops {
		want := service
		if service.realm != at {
			want = tgs(service.realm, at)
		}
		t, err := x.next(ctx, with, want)
		if err != nil {
			return nil, err
		}
		if t.server.equal(service) {
			return t, nil
		}
		if len(t.server.parts) != 2 || t.server.parts[0] != "krbtgt" || t.server.parts[1] == at {
			return nil, fmt.Errorf("%s: the KDC of %s gave a ticket for %s", service, at, t.server)
		}
		at, with = t.server.parts[1], t
	}
	return nil, fmt.Errorf("%s: no way there over %d realms", service, maxHops)
}

// granting is the ticket that others are got with: made anew from the keytab,
// renewed or read again from the cache once most of its life is over.
func (l *Login) granting(ctx context.Context) (*ticket, error) {
	now := l.now()
	if l.tgt != nil && !l.tgt.old(now) {
		return l.tgt, nil
	}
	fresh, err := l.fresh(ctx, now)
	if err == nil {
		l.tgt = fresh
		return fresh, nil
	}
	if l.tgt != nil && now.Before(l.tgt.end) {
		return l.tgt, nil // it still does
	}
	return nil, err
}

func (l *Login) fresh(ctx context.Context, now time.Time) (*ticket, error) {
	if l.keys != nil {
		return l.exchange().first(ctx, l.keys)
	}
	if c, err := loadCache(l.cache); err == nil && c.owner.equal(l.client) && c.tgt.end.After(l.tgt.end) {
		l.tgt = c.tgt // somebody called kinit
	}
	switch {
	case !now.Before(l.tgt.end):
		return nil, l.expired(l.tgt)
	case l.tgt.old(now) && l.tgt.renew.After(now):
		return l.exchange().next(ctx, l.tgt, tgs(l.client.realm, l.client.realm), flags.Renew)
	}
	return l.tgt, nil
}

// From names the keytab, or the ticket cache as FILE:… or DIR:….
func (l *Login) From() string {
	switch {
	case l.keys != nil:
		return l.keys.path
	case strings.HasPrefix(l.cache, "/"):
		return "FILE:" + l.cache
	}
	return l.cache
}
