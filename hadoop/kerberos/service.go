package kerberos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"strings"

	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/sasl"
)

// hostWord stands for the host of the address that is called.
const hostWord = "_HOST"

// Service makes the proof for the servers of one service. The pattern is its
// principal as it is configured, such as nn/_HOST@REALM; * and ? stand for
// anything, as dfs.namenode.kerberos.principal.pattern has them. What a server
// says that it is must fit, before the KDC is asked for a ticket: otherwise any
// server of the realm could pose as this one.
func (l *Login) Service(pattern string) rpc.Kerberos { return &service{l, pattern} }

type service struct {
	login   *Login
	pattern string
}

func (s *service) Principal() string { return s.login.Principal() }

// Start compares what the server says with what is expected, and gets a ticket.
func (s *service) Start(ctx context.Context, address, protocol, serverID string) (sasl.Mechanism, error) {
	to, err := s.expect(ctx, address, protocol, serverID)
	if err != nil {
		return nil, err
	}
	c, request, err := s.login.begin(ctx, to)
	if err != nil {
		return nil, err
	}
	return &mechanism{client: s.Principal(), context: c, request: request}, nil
}

// expect is the principal that the server has to be.
func (s *service) expect(ctx context.Context, address, protocol, serverID string) (name, error) {
	claimed := protocol + "/" + serverID
	bad := func(cause error, hint string) (name, error) {
		return name{}, &Problem{Thing: address, Kind: ErrService, Cause: cause, Hint: hint}
	}
	if protocol == "" || serverID == "" {
		return bad(fmt.Errorf("the server names no principal (%q)", claimed), "")
	}
	head, realm, _ := strings.Cut(s.pattern, "@")
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	if realm == "" {
		realm = s.login.realm(serverID)
	}
	glob := strings.ContainsAny(s.pattern, "*?[")
	if glob {
		if fits(s.pattern, claimed+"@"+s.login.realm(serverID)) || fits(head, claimed) && !strings.Contains(s.pattern, "@") {
			return name{parts: []string{protocol, serverID}, realm: s.login.realm(serverID)}, nil
		}
		return bad(fmt.Errorf("the server says that it is %s, the pattern is %s", claimed, s.pattern), "")
	}
	kind, instance, two := strings.Cut(head, "/")
	if !two {
		return bad(fmt.Errorf("the principal %q has no host", s.pattern), "write it as "+head+"/_HOST")
	}
	if instance != hostWord {
		if claimed != head {
			return bad(fmt.Errorf("the server says that it is %s, configured is %s", claimed, s.pattern), "the address may be that of another service")
		}
		return name{parts: []string{protocol, serverID}, realm: realm}, nil
	}
	want, err := s.login.hostOf(ctx, host, serverID)
	if err != nil {
		return bad(err, "give the address by its name, as the service's principal has it; or let names be looked up (dns_canonicalize_hostname and rdns in krb5.conf)")
	}
	if protocol != kind || serverID != want {
		return bad(fmt.Errorf("the server says that it is %s, configured is %s, which is %s/%s here", claimed, s.pattern, kind, want),
			"_HOST is the host of the address as it is configured, in lower case: use the name that the server's own principal has")
	}
	return name{parts: []string{kind, want}, realm: realm}, nil
}

// fits compares with a glob; a slash is a character like another one.
func fits(pattern, s string) bool {
	const slash = "\x00"
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", slash), strings.ReplaceAll(s, "/", slash))
	return err == nil && ok
}

// realm is that of a service on a host.
func (l *Login) realm(host string) string {
	if r := l.conf.realmOf(host); r != "" {
		return r
	}
	return l.client.realm
}

// hostOf is what _HOST stands for at an address. The name as it is configured
// counts. Only where krb5.conf lets names be looked up, DNS is asked: for an
// address without a name, and where the server has another name.
func (l *Login) hostOf(ctx context.Context, host, claimed string) (string, error) {
	host = strings.ToLower(host)
	number := net.ParseIP(host) != nil
	if !number && host == claimed {
		return host, nil
	}
	var names []string
	if l.conf.canonicalize {
		names = l.conf.aliases(ctx, host, number)
	}
	for _, n := range names {
		if n == claimed {
			return n, nil
		}
	}
	if !number {
		return host, nil
	}
	switch {
	case len(names) > 0:
		return names[0], nil
	case !l.conf.canonicalize || !l.conf.reverse:
		return "", errors.New(host + " is an address, which " + hostWord + " cannot be filled from")
	}
	return "", errors.New(host + " is an address without a name in DNS, which " + hostWord + " cannot be filled from")
}

// aliases are a host's names by DNS, in lower case.
func (c *config) aliases(ctx context.Context, host string, number bool) []string {
	var out []string
	add := func(names ...string) {
		for _, n := range names {
			out = append(out, strings.ToLower(strings.TrimSuffix(n, ".")))
		}
	}
	addresses := []string{host}
	if !number {
		if n, err := net.DefaultResolver.LookupCNAME(ctx, host); err == nil {
			add(n)
		}
		addresses, _ = net.DefaultResolver.LookupHost(ctx, host)
	}
	if c.reverse {
		for _, a := range addresses {
			names, _ := net.DefaultResolver.LookupAddr(ctx, a)
			add(names...)
		}
	}
	return out
}
