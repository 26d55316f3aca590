package kerberos

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// write makes files of a txtar-like list of name and content.
func write(t *testing.T, files ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(files[i+1], "DIR", dir)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestConfig(t *testing.T) {
	dir := write(t, "krb5.conf", `# a comment
includedir DIR/more/
[libdefaults]
	default_realm = LAB.TEST
	ticket_lifetime = 1d 2h
	renew_lifetime = 7:30
	clockskew = 60
	forwardable = yes
	rdns = off
	default_ccache_name = "FILE:/tmp/cc_x"
	permitted_enctypes = aes256-cts des3-cbc-sha1 aes128-sha2, aes128-cts-hmac-sha1-96
	default_tgs_enctypes = DEFAULT -aes256-cts-hmac-sha1-96
	; another comment
[realms]
	LAB.TEST = {
		kdc = kdc1.lab.test
		kdc = tcp/kdc2.lab.test:8888
		auth_to_local_names = {
			x = y
		}
		kdc = [::1]:99
	}
[domain_realm]
	.lab.test = LAB.TEST
	special.lab.test = SPECIAL.TEST
[appdefaults]
	pam = {
		x = true
	}
`, "more/10-realm", "[realms]\n OTHER.TEST = {\n  kdc = udp/other\n }\n", "more/20.conf", "[libdefaults]\n dns_lookup_kdc = no\n", "more/readme.txt", "not read", "more/.hidden.conf", "not read")
	got, err := loadConfig(Source{Getenv: func(k string) string {
		if k == "KRB5_CONFIG" {
			return dir + "/none:" + dir + "/krb5.conf"
		}
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := &config{
		path: dir + "/none:" + dir + "/krb5.conf", realm: "LAB.TEST", cache: "FILE:/tmp/cc_x",
		tgt: []int32{18, 19, 17}, service: []int32{17, 19}, life: 26 * time.Hour, renew: 7*time.Hour + 30*time.Minute, skew: time.Minute,
		forwardable: true, canonicalize: true, lookup: false,
		kdcs:    map[string][]string{"LAB.TEST": {"kdc1.lab.test", "tcp/kdc2.lab.test:8888", "[::1]:99"}, "OTHER.TEST": {"udp/other"}},
		domains: map[string]string{".lab.test": "LAB.TEST", "special.lab.test": "SPECIAL.TEST"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(config{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for host, realm := range map[string]string{"a.lab.test": "LAB.TEST", "A.B.Lab.Test": "LAB.TEST", "special.lab.test": "SPECIAL.TEST", "lab.test": "", "elsewhere": ""} {
		if got := got.realmOf(host); got != realm {
			t.Errorf("%s is in %q, want %q", host, got, realm)
		}
	}
	servers, err := got.servers(t.Context(), "LAB.TEST")
	if err != nil {
		t.Fatal(err)
	}
	wantKDCs := []kdc{{"tcp", "kdc1.lab.test:88"}, {"tcp", "kdc2.lab.test:8888"}, {"tcp", "[::1]:99"}, {"udp", "kdc1.lab.test:88"}, {"udp", "[::1]:99"}}
	if diff := cmp.Diff(wantKDCs, servers, cmp.AllowUnexported(kdc{})); diff != "" {
		t.Errorf("KDCs (-want +got):\n%s", diff)
	}
	if _, err := got.ask(t.Context(), "NOWHERE.TEST", nil); !errors.Is(err, ErrKDC) || !strings.Contains(err.Error(), "names none for the realm NOWHERE.TEST") {
		t.Errorf("a realm without KDC: %v", err)
	}
}

func TestConfigRefuses(t *testing.T) {
	for what, c := range map[string]struct{ text, says string }{
		"no section":        {"default_realm = X\n", "krb5.conf:1: a value outside of any section"},
		"no value":          {"[libdefaults]\n\nnonsense\n", `krb5.conf:3: "nonsense" is neither a section nor name = value`},
		"an open brace":     {"[realms]\n X = {\n kdc = y\n", "the braces of X are not closed (DIR/krb5.conf:2)"},
		"a closed brace":    {"[realms]\n }\n", "krb5.conf:2: a brace that was not opened"},
		"a section inside":  {"[realms]\n X = {\n[other]\n", "krb5.conf:3: a section where none can begin"},
		"a wrong duration":  {"[libdefaults]\n ticket_lifetime = soon\n", `krb5.conf:2: ticket_lifetime: "soon" is no duration`},
		"a wrong truth":     {"[libdefaults]\n rdns = maybe\n", `krb5.conf:2: rdns: "maybe" is no truth value`},
		"old ciphers alone": {"[libdefaults]\n permitted_enctypes = rc4-hmac\n", "no encryption type in common"},
		"itself":            {"include DIR/krb5.conf\n", "included more than 10 deep"},
		"what is not there": {"[libdefaults]\ninclude DIR/gone\n", "krb5.conf:2: DIR/gone: no such file"},
		"no such directory": {"includedir DIR/gone\n", "DIR/gone: no such file"},
		"a module":          {"module /lib/x.so:y\n", "krb5.conf:1: a module cannot be loaded here"},
	} {
		dir := write(t, "krb5.conf", c.text)
		_, err := loadConfig(Source{Config: filepath.Join(dir, "krb5.conf")})
		if want := strings.ReplaceAll(c.says, "DIR", dir); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	if _, err := loadConfig(Source{Config: "/nowhere/krb5.conf"}); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "KRB5_CONFIG names it") {
		t.Errorf("no file: %v", err)
	}
}

func TestLifetime(t *testing.T) {
	for s, want := range map[string]time.Duration{"90": 90 * time.Second, "24h": 24 * time.Hour, "1d 2h 3m 4s": 26*time.Hour + 3*time.Minute + 4*time.Second,
		"10:00": 10 * time.Hour, "1:02:03": time.Hour + 2*time.Minute + 3*time.Second, "7D": 7 * 24 * time.Hour, "0": 0} {
		if got, ok := lifetime(s); !ok || got != want {
			t.Errorf("%q is %v, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "x", "1y", "1:2:3:4", "-1", "h", "99999999999", "2000000000d"} {
		if got, ok := lifetime(s); ok {
			t.Errorf("%q is read as %v", s, got)
		}
	}
}

func FuzzProfile(f *testing.F) {
	f.Add("[libdefaults]\n default_realm = X\n[realms]\n X* = {\n kdc = y\n }\ninclude a\nincludedir b\n")
	f.Fuzz(func(t *testing.T, text string) {
		p := newProfile()
		p.read = func(string) ([]byte, error) { return []byte(text), nil }
		p.list = func(string) ([]string, error) { return []string{"x", "y"}, nil }
		if p.file("krb5.conf", 0) != nil {
			return
		}
		c, err := readConfig(p)
		if err == nil {
			c.realmOf("a.b.c")
		}
	})
}
