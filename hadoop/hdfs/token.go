package hdfs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/pb/ipcpb"
	"github.com/muster-project/muster/hadoop/token"
)

// DelegationToken asks the NameNode for a token with which others act for the
// caller; renewer may prolong it. It fails where the cluster has no security.
func (c *Client) DelegationToken(ctx context.Context, renewer string) (*token.Token, error) {
	var r ipcpb.GetDelegationTokenResponse
	err := c.call(ctx, "getDelegationToken", &ipcpb.GetDelegationTokenRequest{Renewer: &renewer}, &r)
	if err == nil && r.Token == nil {
		err = errors.New("the NameNode gives none: security is off")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: no delegation token: %w", c.service, err)
	}
	t := token.FromProto(r.Token)
	t.Service, err = c.tokenService(ctx)
	return t, err
}

// tokenService is how Hadoop's own clients find the token again: by name where
// NameNodes stand in for each other, by address where there is one.
func (c *Client) tokenService(ctx context.Context) (string, error) {
	if strings.HasPrefix(c.service, "ha-hdfs:") || !c.conf.Bool("hadoop.security.token.service.use_ip", true) {
		return c.service, nil
	}
	host, port, err := net.SplitHostPort(c.service)
	if err != nil {
		return "", err
	}
	ips, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return "", fmt.Errorf("%s: its address is not known, by which its tokens are found: %w", c.service, err)
	}
	return net.JoinHostPort(ips[0], port), nil
}

// RenewToken prolongs a delegation token of this file system, and tells until
// when. Only the renewer that it names may.
func (c *Client) RenewToken(ctx context.Context, t *token.Token) (time.Time, error) {
	var r ipcpb.RenewDelegationTokenResponse
	if err := c.call(ctx, "renewDelegationToken", &ipcpb.RenewDelegationTokenRequest{Token: t.Proto()}, &r); err != nil {
		return time.Time{}, fmt.Errorf("%s: %s cannot be renewed: %w", c.service, t, err)
	}
	return time.UnixMilli(int64(r.GetNewExpiryTime())), nil
}

// CancelToken ends a delegation token. Its owner and its renewer may.
func (c *Client) CancelToken(ctx context.Context, t *token.Token) error {
	err := c.call(ctx, "cancelDelegationToken", &ipcpb.CancelDelegationTokenRequest{Token: t.Proto()}, &ipcpb.CancelDelegationTokenResponse{})
	if err != nil {
		return fmt.Errorf("%s: %s cannot be cancelled: %w", c.service, t, err)
	}
	return nil
}

// TokenFor finds the delegation token of a file system among those of several;
// nil if there is none. Tokens are filed under a nameservice, under host and
// port, or under an address of that host, as the cluster has it.
func TokenFor(ctx context.Context, fs conf.Filesystem, have *token.Credentials) *token.Token {
	if have == nil {
		return nil
	}
	if fs.Service != "" {
		return have.For(token.KindHDFS, fs.Service)
	}
	for _, server := range fs.NameNodes {
		if t := have.For(token.KindHDFS, server.Address); t != nil {
			return t
		}
		host, port, err := net.SplitHostPort(server.Address)
		if err != nil {
			continue
		}
		ips, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			continue // whoever dials it has the same trouble, and tells it
		}
		for _, ip := range ips {
			if t := have.For(token.KindHDFS, net.JoinHostPort(ip, port)); t != nil {
				return t
			}
		}
	}
	return nil
}
