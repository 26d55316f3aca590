package hdfs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

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
