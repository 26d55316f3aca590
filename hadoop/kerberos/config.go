package kerberos

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// config is what counts here of krb5.conf.
type config struct {
	path         string
	realm        string // default_realm
	cache        string // default_ccache_name
	tgt, service []int32
	life, renew  time.Duration // what is asked for; 0: the KDC's own
	skew         time.Duration // that is taken without a word
	forwardable  bool
	canonicalize bool // names of hosts, by DNS
	reverse      bool // and by their address
	lookup       bool // KDCs by DNS, where none is named
	kdcs         map[string][]string
	domains      map[string]string // host or .domain in lower case → realm
}

// loadConfig reads krb5.conf: the one that is named, KRB5_CONFIG (a list, the
// first counts most) or /etc/krb5.conf.
func loadConfig(s Source) (*config, error) {
	list := s.Config
	if list == "" {
		list = s.env("KRB5_CONFIG")
	}
	if list == "" {
		list = "/etc/krb5.conf"
	}
	p := newProfile()
	paths := strings.Split(list, ":")
	found := false
	var gone error
	for _, path := range paths {
		err := p.file(path, 0)
		if missing(err) {
			gone = err
			continue
		}
		if err != nil {
			return nil, &Problem{Thing: path, Kind: ErrConfig, Cause: err}
		}
		found = true
	}
	if !found {
		return nil, &Problem{Thing: list, Kind: ErrConfig, Cause: gone, Hint: "KRB5_CONFIG names it where it is not /etc/krb5.conf; the realm's administrator gives it out"}
	}
	c, err := readConfig(p)
	if err != nil {
		return nil, &Problem{Thing: list, Kind: ErrConfig, Cause: err}
	}
	c.path = list
	return c, nil
}

// readConfig takes the settings out of a profile and tells all that is wrong.
func readConfig(p *profile) (*config, error) {
	c := &config{skew: 5 * time.Minute, canonicalize: true, reverse: true, lookup: true, kdcs: map[string][]string{}, domains: map[string]string{}}
	r := &settings{p: p}
	c.realm = r.text("default_realm")
	c.cache = expandCache(r.text("default_ccache_name"))
	permitted := r.etypes("permitted_enctypes", etypes)
	c.tgt = within(r.etypes("default_tkt_enctypes", permitted), permitted)
	c.service = within(r.etypes("default_tgs_enctypes", permitted), permitted)
	c.life = r.duration("ticket_lifetime", 24*time.Hour)
	c.renew = r.duration("renew_lifetime", 0)
	c.skew = r.duration("clockskew", c.skew)
	c.forwardable = r.truth("forwardable", false)
	c.canonicalize = r.truth("dns_canonicalize_hostname", true)
	c.reverse = r.truth("rdns", true)
	c.lookup = r.truth("dns_lookup_kdc", true)
	for _, realm := range p.all("realms") {
		for _, one := range realm.children {
			for _, kdc := range one.children {
				if kdc.name == "kdc" {
					c.kdcs[one.name] = append(c.kdcs[one.name], kdc.value)
				}
			}
		}
	}
	for _, section := range p.all("domain_realm") {
		for _, d := range section.children {
			if k := strings.ToLower(d.name); c.domains[k] == "" {
				c.domains[k] = d.value
			}
		}
	}
	if len(c.tgt) == 0 || len(c.service) == 0 {
		r.bad = append(r.bad, fmt.Errorf("%w: %s\nhint: %s", ErrEtype, "none of the enctypes in [libdefaults] is known", etypeHint))
	}
	return c, errors.Join(r.bad...)
}

func within(ids, among []int32) []int32 {
	var out []int32
	for _, id := range ids {
		if slices.Contains(among, id) {
			out = append(out, id)
		}
	}
	return out
}

// realmOf is the realm of a host, by the longest name that [domain_realm] has.
func (c *config) realmOf(host string) string {
	host = strings.ToLower(host)
	if r := c.domains[host]; r != "" {
		return r
	}
	for i := strings.IndexByte(host, '.'); i >= 0; {
		if r := c.domains[host[i:]]; r != "" {
			return r
		}
		if r := c.domains[host[i+1:]]; r != "" {
			return r
		}
		next := strings.IndexByte(host[i+1:], '.')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return ""
}

// expandCache fills the variables that a cache's name may have.
func expandCache(s string) string {
	uid := strconv.Itoa(os.Getuid())
	return strings.NewReplacer("%{uid}", uid, "%{euid}", strconv.Itoa(os.Geteuid()), "%{USERID}", uid, "%{TEMP}", os.TempDir()).Replace(s)
}

// settings reads values of [libdefaults] and collects what is wrong.
type settings struct {
	p   *profile
	bad []error
}

func (s *settings) find(key string) *node {
	if all := s.p.all("libdefaults", key); len(all) > 0 {
		return all[0]
	}
	return nil
}

func (s *settings) wrong(n *node, what string) {
	s.bad = append(s.bad, fmt.Errorf("%s: %s: %q is no %s", n.at, n.name, n.value, what))
}

func (s *settings) text(key string) string {
	if n := s.find(key); n != nil {
		return n.value
	}
	return ""
}

func (s *settings) truth(key string, def bool) bool {
	n := s.find(key)
	if n == nil {
		return def
	}
	switch strings.ToLower(n.value) {
	case "y", "yes", "true", "t", "1", "on":
		return true
	case "n", "no", "false", "nil", "0", "off":
		return false
	case "fallback": // of dns_canonicalize_hostname: the name as it stands first
		return true
	}
	s.wrong(n, "truth value")
	return def
}

func (s *settings) duration(key string, def time.Duration) time.Duration {
	n := s.find(key)
	if n == nil {
		return def
	}
	d, ok := lifetime(n.value)
	if !ok {
		s.wrong(n, "duration")
		return def
	}
	return d
}

// lifetime reads MIT's forms: seconds, h:m and h:m:s, and 1d 2h 3m 4s.
func lifetime(s string) (time.Duration, bool) {
	const most = 100 * 365 * 24 * time.Hour
	if strings.Contains(s, ":") {
		var d time.Duration
		unit := time.Hour
		parts := strings.Split(s, ":")
		for _, p := range parts {
			n, err := strconv.ParseUint(strings.TrimSpace(p), 10, 31)
			if err != nil || len(parts) > 3 {
				return 0, false
			}
			d += time.Duration(n) * unit
			unit /= 60
		}
		return d, d <= most
	}
	units := map[byte]time.Duration{'d': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}
	var d time.Duration
	rest := strings.TrimSpace(s)
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.ParseUint(rest[:digits], 10, 31)
		if err != nil {
			return 0, false
		}
		rest = strings.TrimLeft(rest[digits:], " \t")
		unit := time.Second
		if rest != "" {
			u, ok := units[rest[0]|0x20]
			if !ok {
				return 0, false
			}
			unit, rest = u, strings.TrimLeft(rest[1:], " \t")
		}
		if d += time.Duration(n) * unit; d > most || d < 0 {
			return 0, false
		}
	}
	return d, s != ""
}

// etypes reads a list of encryption types and leaves those out that are not
// known here.
func (s *settings) etypes(key string, def []int32) []int32 {
	n := s.find(key)
	if n == nil {
		return def
	}
	var out []int32
	add := func(ids ...int32) {
		for _, id := range ids {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	for _, w := range strings.FieldsFunc(strings.ToLower(n.value), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		word, remove := strings.CutPrefix(w, "-")
		word = strings.TrimPrefix(word, "+")
		ids := []int32{etypeNames[word]}
		switch word {
		case "default":
			ids = etypes
		case "aes":
			ids = []int32{18, 17, 20, 19}
		}
		if ids[0] == 0 {
			continue
		}
		if remove {
			out = slices.DeleteFunc(out, func(id int32) bool { return slices.Contains(ids, id) })
		} else {
			add(ids...)
		}
	}
	return out
}
