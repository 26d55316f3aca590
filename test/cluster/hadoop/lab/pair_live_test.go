//go:build hadoop

package lab

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-project/muster/hadoop/kerberos"
)

// running is the cluster that the tests are given.
func running(t *testing.T) *Cluster {
	t.Helper()
	c, err := Open(os.Getenv("HADOOP_CONF_DIR"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// pairs is one with two of each. It is whole again when the test has ended.
func pairs(t *testing.T) *Cluster {
	t.Helper()
	c := running(t)
	if !c.mode().Pairs {
		t.Fatalf("%s: mode %s has no pairs", c.Dir, c.Mode)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		all, err := c.Daemons(ctx)
		for _, d := range all {
			if d.PID == 0 {
				err = errors.Join(err, c.Start(ctx, d.Name))
			}
		}
		if err := errors.Join(err, c.Wait(ctx)); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestSecureATicketOpensTheWebPortsAndNothingElseDoes(t *testing.T) {
	c := running(t)
	cache := filepath.Join(t.TempDir(), "cache")
	if err := c.Ticket(t.Context(), "alice", cache, time.Minute); err != nil {
		t.Fatal(err)
	}
	alice, err := kerberos.Open(kerberos.Source{Cache: cache, Principal: "alice", Config: c.realm().Config()})
	if err != nil {
		t.Fatal(err)
	}
	defer alice.Close()
	nn, err := c.Active(t.Context(), nameNode)
	if err != nil {
		t.Fatal(err)
	}
	rm, err := c.Active(t.Context(), manager)
	if err != nil {
		t.Fatal(err)
	}
	for what, url := range map[string]string{
		"NameNode":        address(c.Base, port(nn, nnHTTP)) + "/webhdfs/v1/?op=LISTSTATUS",
		"DataNode":        address(c.Base, dnHTTP) + "/jmx?qry=x",
		"ResourceManager": address(c.Base, port(rm, rmWeb)) + "/ws/v1/cluster/apps",
		"NodeManager":     address(c.Base, nmPort(1)+nmWeb) + "/ws/v1/node/info",
	} {
		for _, proven := range []bool{true, false} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+url, nil)
			if err != nil {
				t.Fatal(err)
			}
			browser, want := http.Client{Transport: connections}, http.StatusUnauthorized
			if proven {
				browser.Transport, want = alice.Transport(connections), http.StatusOK
			}
			got, err := browser.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			got.Body.Close()
			if got.StatusCode != want {
				t.Errorf("%s, with a ticket: %v: %s, want %d", what, proven, got.Status, want)
			}
		}
	}
}

// Both active ones die at once, and are back at once: JVMs that start are what such
// a test waits for.
func TestSecureTheOthersTakeOver(t *testing.T) {
	c := pairs(t)
	ctx := t.Context()
	nn, err := c.Active(ctx, nameNode)
	if err != nil {
		t.Fatal(err)
	}
	rm, err := c.Active(ctx, manager)
	if err != nil {
		t.Fatal(err)
	}
	webhdfs := func(method, name, query string) error {
		return c.web(ctx, method, port(name, nnHTTP), "/webhdfs/v1/tmp/takes-over?"+query, nil, nil)
	}
	if err := errors.Join(webhdfs(http.MethodPut, nn, "op=MKDIRS"), c.Kill(ctx, nn), c.Kill(ctx, rm)); err != nil {
		t.Fatal(err)
	}
	next, err := c.Failover(ctx, nameNode)
	if err != nil || next == nn {
		t.Fatalf("failover from %s: %s, %v", nn, next, err)
	}
	if err := webhdfs(http.MethodGet, next, "op=GETFILESTATUS"); err != nil {
		t.Errorf("%s does not know what %s wrote last: %v", next, nn, err)
	}
	if err := c.Wait(ctx); err != nil { // there is an active one of both, and every node has found it
		t.Fatal(err)
	}
	if now, err := c.Active(ctx, manager); err != nil || now == rm {
		t.Errorf("%s was killed; active is %s, %v", rm, now, err)
	}
	if nodes, err := c.NodeStates(ctx); err != nil || len(nodes) != len(c.mode().Nodes) {
		t.Errorf("nodes of the new one: %v, %v", nodes, err)
	}

	// Back again in order: nobody is killed.
	if err := errors.Join(c.Start(ctx, nn), c.Start(ctx, rm), c.Wait(ctx)); err != nil {
		t.Fatal(err)
	}
	pid := c.pid(t, next)
	if back, err := c.Failover(ctx, nameNode); err != nil || back != nn {
		t.Errorf("failover back: %s, %v; want %s", back, err, nn)
	}
	if now := c.pid(t, next); now != pid {
		t.Errorf("%s: pid %d became %d", next, pid, now)
	}
	if err := errors.Join(c.Wait(ctx), webhdfs(http.MethodDelete, nn, "op=DELETE")); err != nil {
		t.Error(err)
	}
}
