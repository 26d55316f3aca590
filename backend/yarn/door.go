package yarn

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/muster-project/muster/access"
	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/hdfs"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
)

var _ backend.Pager = (*Backend)(nil)

// keyProxy is set where the proxy is a service of its own and no part of the
// resource managers.
const keyProxy = "yarn.web-proxy.address"

// Rule is who may see the job and act on it.
func (a *Attempt) Rule() access.Rule {
	return access.Rule{Owner: a.AM.User, Admins: a.AM.Admins, ACLs: a.AM.ACLs}
}

// Groups are those that the NameNode takes a user to be in.
func (a *Attempt) Groups(ctx context.Context, user string) ([]string, error) {
	client, ok := a.FS.(interface{ Client() *hdfs.Client })
	if !ok {
		return nil, nil
	}
	return client.Client().Groups(ctx, user)
}

// Proxies are the hosts that show people the coordinator's page.
func (a *Attempt) Proxies() []string {
	var out []string
	for _, base := range proxies(a.conf) {
		if u, err := url.Parse(base); err == nil {
			out = append(out, u.Hostname())
		}
	}
	return out
}

// Front is the address of the page at the proxy: at the first that takes
// connections, of several. A standby sends on to the active one. The word redirect
// tells the proxy that we sent somebody there: if it is the proxy itself, whose
// address we did not know, it says so instead of asking us for ever.
func (a *Attempt) Front() string {
	all := proxies(a.conf)
	for i, base := range all {
		if u, err := url.Parse(base); err == nil && i < len(all)-1 {
			c, err := net.DialTimeout("tcp", u.Host, frontTime)
			if err != nil {
				continue
			}
			_ = c.Close() // it was only asked whether it is there
		}
		return base + "/proxy/redirect/" + a.AM.App
	}
	return ""
}

const frontTime = time.Second

// proxies are the addresses of whatever shows pages of masters, without a slash
// at the end.
func proxies(c *conf.Conf) []string {
	if at := c.String(keyProxy, ""); at != "" {
		scheme := "http://"
		if c.String("yarn.http.policy", "") == "HTTPS_ONLY" {
			scheme = "https://"
		}
		return []string{scheme + at}
	}
	urls, err := c.RMWebURLs()
	if err != nil {
		return nil
	}
	for i, text := range urls {
		u, err := url.Parse(text)
		if err != nil {
			continue
		}
		// Where it listens on all addresses is no address.
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsUnspecified() {
			if host := c.String("yarn.resourcemanager.hostname", ""); host != "" {
				u.Host = net.JoinHostPort(strings.Split(host, ":")[0], u.Port())
				urls[i] = u.String()
			}
		}
	}
	return urls
}

// Page is where the resource manager's proxy shows the page of a running job.
func (b *Backend) Page(ctx context.Context, ref backend.Ref) (string, error) {
	if err := b.connect(); err != nil {
		return "", err
	}
	id, err := hadoop.ParseApp(ref.Native)
	if err != nil {
		return "", err
	}
	r, err := b.rm.Report(ctx, id)
	if err != nil {
		return "", b.unreachable(err)
	}
	page := r.GetTrackingUrl()
	if page == "" || page == "N/A" || r.GetOriginalTrackingUrl() == "N/A" {
		return "", nil
	}
	if !strings.Contains(page, "://") {
		page = "http://" + page
	}
	return strings.TrimSuffix(page, "/") + "/", nil
}

// Introduce is how the proxy learns who looks: by the client that logs in, or by
// a name that it believes. It also asks people whether they trust another user's
// page; programs do.
func (b *Backend) Introduce() (*http.Client, url.Values) {
	if b.Login != nil && b.Login.Secure() {
		return b.Login.HTTP(), url.Values{"proxyapproved": {"true"}}
	}
	return nil, url.Values{"user.name": {b.User}}
}
