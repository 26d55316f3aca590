//go:build hadoop

package hdfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/kerberos"
	"github.com/muster-project/muster/hadoop/pb/hdfspb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/sasl"
	"github.com/muster-project/muster/hadoop/token"
)

// secureConf is that of the Kerberos cluster that HADOOP_CONF_DIR tells.
func secureConf(t *testing.T) *conf.Conf {
	t.Helper()
	c, err := conf.Load(os.Getenv("HADOOP_CONF_DIR"))
	must(t, err)
	return c
}

// client makes one that is closed after the test.
func client(t *testing.T, c *conf.Conf, auth Auth) *Client {
	t.Helper()
	out, err := New(c, auth)
	must(t, err)
	t.Cleanup(func() { must(t, out.Close()) })
	return out
}

// asPrincipal makes a client of the Kerberos cluster by a user's keytab.
func asPrincipal(t *testing.T, user string) *Client {
	t.Helper()
	c := secureConf(t)
	login, err := kerberos.Open(kerberos.Source{Keytab: filepath.Join(os.Getenv("MUSTER_KEYTABS"), user+".keytab"),
		Principal: user + "@LAB.TEST", Getenv: os.Getenv})
	must(t, err)
	t.Cleanup(func() { must(t, login.Close()) })
	proof := login.Service(c.String("dfs.namenode.kerberos.principal", ""))
	return client(t, c, func(context.Context) (rpc.Auth, error) { return rpc.Auth{Kerberos: proof}, nil })
}

// byToken makes one that has a token alone.
func byToken(t *testing.T, tok *token.Token) *Client {
	t.Helper()
	return client(t, secureConf(t), func(context.Context) (rpc.Auth, error) { return rpc.Auth{Token: tok}, nil })
}

// up writes a file and reads what was flushed of it while it is open.
func up(t *testing.T, c *Client, path string, data []byte) {
	t.Helper()
	w, err := c.Create(t.Context(), path, Options{Mode: 0o600, BlockSize: 4 << 20})
	must(t, err)
	half := len(data)/2 + 100
	_, err = w.Write(data[:half])
	must(t, err)
	must(t, w.Flush(t.Context()))
	if got := content(t, c, path, 0); !bytes.Equal(got, data[:half]) {
		t.Errorf("%d of %d bytes that were flushed", len(got), half)
	}
	_, err = w.Write(data[half:])
	must(t, err)
	must(t, w.Close())
	if !bytes.Equal(content(t, c, path, 0), data) {
		t.Error("not what was written")
	}
}

// noting notes all that goes over connections to a port.
type noting struct {
	net.Conn
	seen *bytes.Buffer
}

func (n *noting) Write(p []byte) (int, error) { n.seen.Write(p); return n.Conn.Write(p) }

func TestSecureDataTransferIsProtected(t *testing.T) {
	c := asPrincipal(t, "root")
	dir := scratch(t, c)
	level, _, err := sasl.ParseProtections(protectionKey, c.conf.String(protectionKey, ""))
	must(t, err)
	var seen bytes.Buffer
	plain := c.nodes.dial
	c.nodes.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := plain(ctx, network, address)
		return &noting{conn, &seen}, err
	}
	kinds := map[string]int{}
	wrap := c.nodes.secure
	c.nodes.secure = func(ctx context.Context, conn net.Conn, node *hdfspb.DatanodeID, lb *hdfspb.LocatedBlock) (net.Conn, error) {
		out, err := wrap(ctx, conn, node, lb)
		kinds[fmt.Sprintf("%T", out)]++
		return out, err
	}
	begun := time.Now()
	up(t, c, dir+"/file", bytes.Repeat([]byte("not for everybody"), 1<<20))
	t.Logf("17 MiB up and down by %v in %v: %v", level, time.Since(begun), kinds)
	magic := []byte{0xde, 0xad, 0xbe, 0xef}
	if n := bytes.Count(seen.Bytes(), magic); n < 5 {
		t.Errorf("%d handshakes", n)
	}
	if bytes.Contains(seen.Bytes(), []byte("not for everybody")) != (level != sasl.Privacy) {
		t.Errorf("the bytes can be seen, or not, by %v", level)
	}
}

func TestSecureATokenIsEnough(t *testing.T) {
	c := asPrincipal(t, "alice")
	tok, err := c.DelegationToken(t.Context(), "bob")
	must(t, err)
	if want := c.service; tok.Kind != token.KindHDFS || strings.HasPrefix(want, "ha-hdfs:") && tok.Service != want {
		t.Errorf("got %v", tok)
	}
	other := byToken(t, tok)
	up(t, other, scratchIn(t, other, other.Home("alice"))+"/file", random(t, 5<<20))

	_, err = c.RenewToken(t.Context(), tok)
	if !errors.Is(err, rpc.AccessControl) {
		t.Errorf("who is not the renewer renews it: %v", err)
	}
	until, err := asPrincipal(t, "bob").RenewToken(t.Context(), tok)
	must(t, err)
	if d := time.Until(until); d <= 0 || d > 24*time.Hour {
		t.Errorf("it lasts until %v", until)
	}
	must(t, c.CancelToken(t.Context(), tok))
	err = second(byToken(t, tok).Stat(t.Context(), "/"))
	if !errors.Is(err, TokenExpired) {
		t.Errorf("a token that was cancelled: %v", err)
	}
}

// A reader that lives longer than its block tokens goes on with others.
func TestSecureOldBlockTokensAreReplaced(t *testing.T) {
	c := asPrincipal(t, "root")
	path := scratch(t, c) + "/file"
	data := random(t, 6<<20)
	w, err := c.Create(t.Context(), path, Options{Mode: 0o600, BlockSize: 1 << 20})
	must(t, err)
	_, err = w.Write(data)
	must(t, err)
	must(t, w.Close())
	r, err := c.Open(t.Context(), path, 0)
	must(t, err)
	defer r.Close()
	got := make([]byte, 1<<20)
	_, err = io.ReadFull(r, got)
	must(t, err)
	for i, s := range r.blocks { // the identifier begins with when it expires, and with the number of its key
		id := s.lb.BlockToken.Identifier
		_, n, err := token.ConsumeVint(id)
		must(t, err)
		if i%2 == 0 {
			id[1]-- // years ago
		} else {
			id[n+1] ^= 1
		}
	}
	begun := time.Now()
	rest, err := io.ReadAll(r)
	must(t, err)
	if !bytes.Equal(append(got, rest...), data) {
		t.Error("not what was written")
	}
	if d := time.Since(begun); d > 5*time.Second || len(c.away.nodes) > 0 {
		t.Errorf("it took %v; %d datanodes are blamed", d, len(c.away.nodes))
	}
	// A writer's token is used once for each block; what it holds may be old.
	if !errors.Is(&refusal{status: 5}, errStale) {
		t.Error("a refusal of the token is not told as that")
	}
}

func TestSecureClientsRefuseWhatIsNotProtected(t *testing.T) {
	c := secureConf(t)
	for name, tc := range map[string]struct {
		set  map[string]string
		auth func(*Client) Auth
		want string
	}{
		"a datanode that wants more": {map[string]string{protectionKey: ""}, nil, "another protection than this configuration says"},
		"nobody": {nil, func(*Client) Auth {
			return func(context.Context) (rpc.Auth, error) { return rpc.Auth{User: "root"}, nil }
		}, "SIMPLE authentication is not enabled"},
	} {
		t.Run(name, func(t *testing.T) {
			good := asPrincipal(t, "root")
			path := scratch(t, good) + "/file"
			w, err := good.Create(t.Context(), path, Options{Mode: 0o600})
			must(t, err)
			_, err = w.Write([]byte("abc"))
			must(t, err)
			must(t, w.Close())
			auth := good.auth
			if tc.auth != nil {
				auth = tc.auth(good)
			}
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
			defer stop()
			bad := client(t, c.With(tc.set), auth)
			r, err := bad.Open(ctx, path, 0)
			if err == nil {
				_, err = bad.readBlock(ctx, "x", r.blocks[0].lb.GetLocs()[0], r.blocks[0].lb, 0, 3)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestSecureACLsAndGroups(t *testing.T) {
	root, bob := asPrincipal(t, "root"), asPrincipal(t, "bob")
	dir := scratch(t, root)
	must(t, root.SetPermission(t.Context(), dir, 0o700))
	must(t, root.ModifyACL(t.Context(), dir, []ACLEntry{{Subject: Group, Name: "research", Action: Read | Execute}}))
	must(t, bob.Access(t.Context(), dir, Read|Execute))
	groups, err := bob.Groups(t.Context(), "bob")
	must(t, err)
	if !slices.Contains(groups, "research") {
		t.Errorf("bob is in %q", groups)
	}
}
