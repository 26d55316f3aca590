package yarn

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/kerberos"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/sasl"
)

// Keys that decide how a cluster is called.
const (
	keyAuth       = "hadoop.security.authentication"
	keyProtection = "hadoop.rpc.protection"
	keyData       = "dfs.data.transfer.protection"
	// Whose services they are.
	keyNNPrincipal = "dfs.namenode.kerberos.principal"
)

// ErrProxy is the identity of a cluster's refusal to let one user act for another.
var ErrProxy = errors.New("may not act for")

// refusal adds to a service's refusal of who calls what can be done about it.
// What package kerberos says has its hint already.
func (b *Backend) refusal(err error) error { return denied(err, b.Conf, b.User) }

// What servers say of a proxy: that it is none for this user, or not from here.
var (
	noProxy     = regexp.MustCompile(`User: (\S+) is not allowed to impersonate (\S+)`)
	noProxyHere = regexp.MustCompile(`Unauthorized connection for super-user: (\S+)(?: from IP (\S+))?`)
)

func denied(err error, c *conf.Conf, user string) error {
	if errors.Is(err, kerberos.ErrService) {
		return hint(err, "%s and %s of the site's files name the services; copy the site files of a machine of the cluster", keyNNPrincipal, keyRMPrincipal)
	}
	if err == nil || strings.Contains(err.Error(), "\nhint: ") {
		return err
	}
	text := err.Error()
	if m := noProxy.FindStringSubmatch(text); m != nil {
		real := shortOf(m[1])
		return hint(fmt.Errorf("%s %w %s: %w", real, ErrProxy, m[2], err),
			"an administrator sets hadoop.proxyuser.%s.hosts, and hadoop.proxyuser.%s.users or .groups, in core-site.xml of the resource managers and the NameNodes", real, real)
	}
	if m := noProxyHere.FindStringSubmatch(text); m != nil {
		real := shortOf(m[1])
		from := "this machine"
		if m[2] != "" {
			from += " (" + m[2] + ")"
		}
		return hint(fmt.Errorf("%s %w %s from here: %w", real, ErrProxy, user, err),
			"an administrator adds %s to hadoop.proxyuser.%s.hosts in core-site.xml of the resource managers and the NameNodes", from, real)
	}
	switch {
	case errors.Is(err, rpc.ErrNoMethod) && secure(c):
		return hint(err, "%s, but this server asks for no proof: is it a server of that cluster? Whoever only pretends to be one gets no answer",
			says(c, keyAuth, "simple"))
	case strings.Contains(text, "InvalidToken"):
		return hint(err, "the token has ended, or was cancelled with the job that it was for: kinit, or a keytab, and unset HADOOP_TOKEN_FILE_LOCATION")
	case strings.Contains(text, "GSS initiate failed"):
		return kerberos.Explain(err)
	case errors.Is(err, rpc.ErrNoMethod), strings.Contains(text, "SIMPLE authentication is not enabled"):
		return hint(err, "%s, but the cluster wants Kerberos: copy the site files of a machine of the cluster", says(c, keyAuth, "simple"))
	case errors.Is(err, sasl.ErrProtection) && strings.Contains(text, "datanode "):
		return hint(err, "%s, and the DataNode has another: copy the site files of a machine of the cluster", says(c, keyData, "no protection"))
	case errors.Is(err, sasl.ErrProtection), strings.Contains(text, "No common protection layer"):
		return hint(err, "%s, and the server has another: copy the site files of a machine of the cluster", says(c, keyProtection, "authentication"))
	}
	return err
}

// says tells what the site's files have for a key, and where.
func says(c *conf.Conf, key, def string) string {
	if origin := c.Origin(key); origin != "" {
		return fmt.Sprintf("%s is %s (%s)", key, c.String(key, def), origin)
	}
	return fmt.Sprintf("%s is not set, which means %s", key, def)
}

// shortOf is the first part of a principal: what keys of a configuration name it by.
func shortOf(principal string) string {
	if i := strings.IndexAny(principal, "/@"); i > 0 {
		return principal[:i]
	}
	return principal
}
