package kdc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Realm is the name of every realm of ours.
const Realm = "LAB.TEST"

// KDC is a realm in its directory:
//
//	krb5.conf    for clients: KRB5_CONFIG
//	kdc.conf     for the server
//	principal…   the database
//	keytabs/     a keytab for each user, and for each kind of service
//	kdc.log
//
// It holds what is needed to go on with it in another process, too.
type KDC struct {
	Dir  string
	Port int

	server *server // nil unless this process runs it
}

// New makes a realm in dir, which must be absent or empty. The server will
// listen on port; 0 takes a free one.
func New(ctx context.Context, dir string, port int) (*KDC, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("%s: is not empty", dir)
	}
	if port == 0 {
		if port, err = free(); err != nil {
			return nil, err
		}
	}
	k := &KDC{Dir: dir, Port: port}
	if err := os.MkdirAll(k.Keytabs(), 0o700); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{k.Config(): k.client(), k.path("kdc.conf"): k.profile()} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	// The master key is in the stash; nobody needs the password from which it is made.
	_, err = k.run(ctx, "", "kdb5_util", "create", "-s", "-r", Realm, "-P", rand.Text())
	return k, err
}

// Config is the realm's KRB5_CONFIG.
func (k *KDC) Config() string { return k.path("krb5.conf") }

// Keytabs is the folder of all keytabs.
func (k *KDC) Keytabs() string { return k.path("keytabs") }

// Keytab is the file with the keys of a principal. A service's is named by its
// first part, so it has those of all of its hosts.
func (k *KDC) Keytab(principal string) string {
	name, _, _ := strings.Cut(principal, "@")
	name, _, _ = strings.Cut(name, "/")
	return filepath.Join(k.Keytabs(), name+".keytab")
}

// Environ is the environment in which programs of MIT use this realm; they need no
// more. Where no cache is named they find none: never that of whoever runs the tests.
func (k *KDC) Environ() []string {
	return []string{"KRB5_CONFIG=" + k.Config(), "KRB5_KDC_PROFILE=" + k.path("kdc.conf"), "KRB5CCNAME=FILE:" + k.path("cache")}
}

func (k *KDC) path(name string) string { return filepath.Join(k.Dir, name) }

// run runs a program of MIT and returns all that it said.
func (k *KDC) run(ctx context.Context, stdin, name string, args ...string) (string, error) {
	path, err := find(name)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = k.Environ(), k.Dir, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return string(out), nil
}

// find looks where Debian keeps what only administrators run, too.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	if path, err := exec.LookPath(filepath.Join("/usr/sbin", name)); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("%s: not found: %w\n  hint: bash test/cluster/kdc.sh, or as root: apt-get install krb5-kdc krb5-admin-server krb5-user", name, err)
}

// free is a port that nobody has at the moment, for TCP and for UDP.
func free() (int, error) {
	var last error
	for range 20 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if last = unused(port); last == nil {
			return port, nil
		}
	}
	return 0, last
}

// unused fails when somebody has a port. krb5kdc would share it with another one
// of its kind, and each would be asked about principals that only the other has.
func unused(port int) error {
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	l, err := net.Listen("tcp", at)
	if err != nil {
		return fmt.Errorf("kdc: port %d: %w", port, err)
	}
	defer l.Close()
	p, err := net.ListenPacket("udp", at)
	if err != nil {
		return fmt.Errorf("kdc: port %d: %w", port, err)
	}
	return p.Close()
}
