//go:build hadoop

package hdfs

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/muster-project/muster/test/cluster/hadoop/lab"
)

// While NameNodes take turns, by order and by death, or the only one is started
// again, everything goes on, by one delegation token where there are two: each file
// that is made is made once, an open one gets its blocks, one is taken from its
// writer, and old tokens hold at both.
func TestSecureNameNodesTakeTurns(t *testing.T) {
	cluster, err := lab.Open(os.Getenv("HADOOP_CONF_DIR"))
	must(t, err)
	defer http.DefaultClient.CloseIdleConnections() // which lab asks by
	alice := asPrincipal(t, "alice")
	tok, err := alice.DelegationToken(t.Context(), "alice")
	must(t, err)
	renew := func() { // tokens of this cluster are short
		t.Helper()
		must(t, second(alice.RenewToken(t.Context(), tok)))
	}
	c := byToken(t, tok)
	pair := len(c.conf.Strings("dfs.ha.namenodes.lab")) > 1
	if !pair { // whose tokens last for seconds, less than a start takes
		c, renew = alice, func() {}
	}
	dir := scratchIn(t, c, c.Home("alice"))

	data := random(t, 6<<20)
	open, err := c.Create(t.Context(), dir+"/open", Options{Mode: 0o600, BlockSize: 1 << 20})
	must(t, err)
	written := 0
	more := func() {
		t.Helper()
		n := 1<<20 + 1<<19 // over the end of a block
		_, err := open.Write(data[written : written+n])
		must(t, err)
		must(t, open.Flush(t.Context()))
		written += n
	}
	more()

	making, stop := context.WithCancel(t.Context())
	made := make(chan int, 1)
	go func() { made <- makeFiles(making, t, c, dir) }()
	defer stop()

	begun := time.Now()
	active, err := cluster.Active(t.Context(), "nn")
	must(t, err)
	if pair {
		active, err = cluster.Failover(t.Context(), "nn")
		must(t, err)
		t.Logf("%s is active after %v", active, time.Since(begun))
		more()
	}
	must(t, cluster.Kill(t.Context(), active))
	begun = time.Now()
	answered := make(chan error, 1)
	go func() { // it waits for a NameNode
		_, err := c.Stat(t.Context(), dir)
		answered <- err
	}()
	ctx := context.WithoutCancel(t.Context())
	if pair {
		_, err = cluster.Failover(t.Context(), "nn")
		must(t, err)
	} else {
		must(t, cluster.Start(ctx, active))
	}
	must(t, <-answered)
	renew()
	t.Logf("%s was killed; one answers after %v", active, time.Since(begun))
	more()
	if pair {
		must(t, cluster.Start(ctx, active))
	}
	must(t, cluster.Wait(ctx))
	renew()

	stop()
	n := <-made
	list, err := c.List(t.Context(), dir)
	must(t, err)
	if len(list) != n+1 || n == 0 {
		t.Errorf("%d files, %d were made", len(list)-1, n)
	}
	t.Logf("%d files were made meanwhile", n)

	fresh := asPrincipal(t, "alice")
	if pair {
		fresh = byToken(t, tok) // which begins at the first of them, whoever is active
	}
	closed, err := fresh.RecoverLease(t.Context(), dir+"/open")
	for err == nil && !closed {
		must(t, sleep(t.Context(), 50*time.Millisecond))
		closed, err = fresh.Closed(t.Context(), dir+"/open")
	}
	must(t, err)
	if got := content(t, fresh, dir+"/open", 0); !bytes.Equal(got, data[:written]) {
		t.Errorf("%d bytes of %d", len(got), written)
	}
	if open.Close() == nil {
		t.Error("who lost the file closes it")
	}
}

// makeFiles makes one file after the other; any error but the end is one.
func makeFiles(ctx context.Context, t *testing.T, c *Client, dir string) int {
	for n := 0; ; n++ {
		if ctx.Err() != nil {
			return n
		}
		// A file that was begun is finished, so that their number is known.
		path := fmt.Sprintf("%s/%d", dir, n)
		w, err := c.Create(context.WithoutCancel(ctx), path, Options{Mode: 0o600})
		if err == nil && n%10 == 0 {
			_, err = w.Write([]byte("some bytes"))
		}
		if err == nil {
			err = w.Close()
		}
		if err == nil && n%3 == 0 { // what is renamed is there once, too
			err = c.Rename(context.WithoutCancel(ctx), path, path+".renamed")
		}
		if err != nil {
			t.Error(err)
			return n
		}
	}
}
