package page

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-project/muster/access"
)

// Door decides who comes in. Nobody proves anything to this page itself: a
// resource manager's proxy has asked the browser who is there, and says so in a
// cookie, which is believed from the proxy's own addresses alone. Others are sent
// to the proxy, except those who bring the key that lies beside the page's
// address in the job's directory: who can read it there may see the job.
type Door struct {
	Job  string
	Rule access.Rule
	Key  string
	// Groups tells of which groups a person is; nil: of none.
	Groups func(ctx context.Context, user string) ([]string, error)
	// Proxies are the hosts that the proxy speaks from; Front is the page's address
	// at the proxy, without a slash at its end.
	Proxies []string
	Front   func() string
	Log     *slog.Logger

	mu     sync.Mutex
	hosts  []netip.Addr
	looked time.Time
	people map[string]membership
}

// proxyCookie is in which the proxy says who is there.
const proxyCookie = "proxy-user"

// How long addresses and groups are believed. A stranger makes the addresses be
// looked up again, for the proxy may have moved.
const (
	hostsMost  = 5 * time.Minute
	hostsLeast = 10 * time.Second
	groupsMost = time.Minute
)

// membership is what is known of a person's groups.
type membership struct {
	groups []string
	at     time.Time
}

// guard lets through who may see the job.
func (d *Door) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && d.Key != "" {
			if subtle.ConstantTimeCompare([]byte(key), []byte(d.Key)) == 1 {
				next.ServeHTTP(w, r)
				return
			}
		}
		if !d.proxied(r.Context(), r.RemoteAddr) {
			front := d.Front()
			if front == "" {
				http.Error(w, d.Job+": only the resource manager's proxy shows this page, and it is not known where that is", http.StatusForbidden)
				return
			}
			http.Redirect(w, r, front+r.URL.RequestURI(), http.StatusFound)
			return
		}
		if err := d.may(r.Context(), visitor(r)); err != nil {
			text := err.Error()
			if h, ok := err.(interface{ Hint() string }); ok {
				text += "\n" + h.Hint()
			}
			http.Error(w, text, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// visitor is whom the proxy has seen.
func visitor(r *http.Request) string {
	c, err := r.Cookie(proxyCookie)
	if err != nil {
		return ""
	}
	name, err := url.QueryUnescape(c.Value)
	if err != nil {
		return ""
	}
	return name
}

func (d *Door) may(ctx context.Context, name string) error {
	p := access.Person{Name: name}
	if d.Rule.May(p, access.View) {
		return nil
	}
	if name != "" && d.Rule.Grouped(access.View) && d.Groups != nil {
		p.Groups = d.groups(ctx, name)
		if d.Rule.May(p, access.View) {
			return nil
		}
	}
	return &access.Denied{Job: d.Job, Owner: d.Rule.Owner, Person: name, Right: access.View}
}

// groups asks at most once a minute for one person.
func (d *Door) groups(ctx context.Context, name string) []string {
	d.mu.Lock()
	m, known := d.people[name]
	d.mu.Unlock()
	if known && time.Since(m.at) < groupsMost {
		return m.groups
	}
	groups, err := d.Groups(ctx, name)
	if err != nil {
		d.Log.Warn("groups are not known", "user", name, "error", err)
		return m.groups // as they were; none of somebody new
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.people == nil || len(d.people) >= mostPeople {
		d.people = map[string]membership{}
	}
	d.people[name] = membership{groups, time.Now()}
	return groups
}

// mostPeople bounds what is remembered: names come from outside.
const mostPeople = 1000

// proxied says that a request comes from the proxy.
func (d *Door) proxied(ctx context.Context, remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	from := at.Addr().Unmap().WithZone("")
	d.mu.Lock()
	hosts, age := d.hosts, time.Since(d.looked)
	d.mu.Unlock()
	known := slices.Contains(hosts, from)
	if known && age < hostsMost || !known && age < hostsLeast {
		return known
	}
	fresh := d.resolve(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.looked = time.Now(); len(fresh) > 0 {
		d.hosts = fresh // a name server that is away changes nothing
	}
	return slices.Contains(d.hosts, from)
}

func (d *Door) resolve(ctx context.Context) []netip.Addr {
	var out []netip.Addr
	for _, host := range d.Proxies {
		found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			d.Log.Warn("address of the resource manager's proxy is not known", "host", host, "error", err)
		}
		for _, a := range found {
			out = append(out, a.Unmap().WithZone(""))
		}
	}
	return out
}
