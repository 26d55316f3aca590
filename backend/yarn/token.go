package yarn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/hadoop/login"
	"github.com/muster-project/muster/hadoop/token"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
)

// FetchTokens asks for what a coordinator on a secure cluster lives on: a token
// of each file system, the default one first, and one of the resource manager,
// which renews them all. Tokens that the caller has itself it passes on: nobody
// gets new ones for those. On a cluster that asks for no proof there are none.
func FetchTokens(ctx context.Context, c *conf.Conf, l *login.Login, filesystems []string) (*token.Credentials, error) {
	if !l.Secure() {
		return nil, nil
	}
	renewer, err := renewerOf(c)
	if err != nil {
		return nil, err
	}
	uris := append([]string{c.String(keyFS, "")}, filesystems...)
	found := make([]*token.Token, len(uris)+1)
	g, ctx := errgroup.WithContext(ctx)
	for i, uri := range uris {
		g.Go(func() (err error) { found[i], err = fileToken(ctx, c, l, uri, renewer); return err })
	}
	g.Go(func() (err error) { found[len(uris)], err = managerToken(ctx, c, l, renewer); return err })
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out := &token.Credentials{}
	for _, t := range found {
		if !slices.ContainsFunc(out.Tokens, func(o token.Token) bool { return o.Kind == t.Kind && o.Service == t.Service }) {
			out.Tokens = append(out.Tokens, *t)
		}
	}
	return out, nil
}

// fileToken is the token of one file system.
func fileToken(ctx context.Context, c *conf.Conf, l *login.Login, uri, renewer string) (*token.Token, error) {
	at, err := c.NameNodes(uri)
	if err != nil {
		return nil, fmt.Errorf("native.yarn.filesystems: %w", err)
	}
	if t := hdfs.TokenFor(ctx, at, l.Tokens()); t != nil {
		return t, nil
	}
	client, err := hdfs.New(c.With(map[string]string{keyFS: "hdfs://" + at.Authority}), l.NameNode(at))
	if err != nil {
		return nil, err
	}
	t, err := client.DelegationToken(ctx, renewer)
	return t, errors.Join(err, client.Close())
}

// managerToken is the token of the resource manager.
func managerToken(ctx context.Context, c *conf.Conf, l *login.Login, renewer string) (*token.Token, error) {
	if have := l.Tokens(); have != nil {
		if t := have.ByKind(token.KindRM); t != nil {
			return t, nil
		}
	}
	rm, err := hadoop.NewRM(c, l.RM())
	if err != nil {
		return nil, err
	}
	t, err := rm.DelegationToken(ctx, renewer)
	if err == nil && t == nil {
		err = errors.New("it gave none")
	}
	if err != nil {
		err = fmt.Errorf("yarn: the resource manager gives no token: %w", err)
	} else {
		t.Service, err = managerService(ctx, c)
	}
	return t, errors.Join(err, rm.Close())
}

// managerService is by what Hadoop's own clients, and the resource manager when it
// renews the token, know whose it is: the addresses of all that stand in for each
// other.
func managerService(ctx context.Context, c *conf.Conf) (string, error) {
	servers, err := c.ResourceManagers(conf.RMClient)
	if err != nil {
		return "", err
	}
	byAddress := c.Bool("hadoop.security.token.service.use_ip", true)
	var out []string
	for _, s := range servers {
		address := s.Address
		if host, port, err := net.SplitHostPort(address); err == nil && byAddress {
			// One of two may not be known here: it is not the one that has just answered.
			if ips, err := net.DefaultResolver.LookupHost(ctx, host); err == nil {
				address = net.JoinHostPort(preferred(ips), port)
			}
		}
		out = append(out, address)
	}
	return strings.Join(out, ","), nil
}

// preferred is the address that a JVM would take: of the fourth version if there
// is one.
func preferred(ips []string) string {
	for _, ip := range ips {
		if net.ParseIP(ip).To4() != nil {
			return ip
		}
	}
	return ips[0]
}

const keyRMPrincipal = "yarn.resourcemanager.principal"

// renewerOf is who renews a job's tokens: the resource manager's principal, of
// the first one where several stand in for each other, as Hadoop's clients have
// it. All of them have the same short name, which is what counts.
func renewerOf(c *conf.Conf) (string, error) {
	pattern, err := c.Find(keyRMPrincipal)
	if err != nil {
		return "", hint(err, "it says who may renew a job's tokens; copy the site files of a machine of the cluster")
	}
	servers, err := c.ResourceManagers(conf.RMClient)
	if err != nil {
		return "", err
	}
	host, _, err := net.SplitHostPort(servers[0].Address)
	return strings.Replace(pattern, "/_HOST@", "/"+strings.ToLower(host)+"@", 1), err
}

// foreign says that tokens came from the caller: whoever gave them to it goes on
// with them, so they are not to be cancelled when the job is over.
func foreign(l *login.Login) bool {
	have := l.Tokens()
	return have != nil && (have.ByKind(token.KindHDFS) != nil || have.ByKind(token.KindRM) != nil)
}
