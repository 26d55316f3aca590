//go:build hadoop

package yarn

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/hadoop/login"
	"github.com/muster-project/muster/test/cluster/hadoop/lab"
)

// newSecureWorld is the world of a user who has a ticket, on a cluster with Kerberos.
func newSecureWorld(t *testing.T, user string) *world {
	t.Helper()
	c, err := lab.Open(os.Getenv("HADOOP_CONF_DIR"))
	if err != nil {
		t.Fatal(err)
	}
	krb5, _ := c.Kerberos()
	if krb5 == "" {
		t.Fatal("HADOOP_CONF_DIR: this cluster has no Kerberos: TestSecure… run on modes secure and integrity")
	}
	cache := filepath.Join(t.TempDir(), "cache")
	if err := c.Ticket(t.Context(), user, cache, 0); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KRB5_CONFIG", krb5)
	t.Setenv("KRB5CCNAME", "FILE:"+cache)
	return newWorldOf(t, user)
}

// keytab is that of the world's user, and the principal that is in it.
func (w *world) keytab() (file, principal string) {
	w.t.Helper()
	c, err := lab.Open(w.conf)
	if err != nil {
		w.t.Fatal(err)
	}
	_, keytabs := c.Kerberos()
	return filepath.Join(keytabs, w.user+".keytab"), w.user + "@LAB.TEST"
}

// files is HDFS as the world's user sees it.
func (w *world) files() *hdfs.Client {
	w.t.Helper()
	c, err := conf.Load(w.conf)
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := login.New(c, login.Options{Getenv: os.Getenv})
	if err != nil {
		w.t.Fatal(err)
	}
	at, err := c.NameNodes("")
	if err != nil {
		w.t.Fatal(err)
	}
	client, err := hdfs.New(c, l.NameNode(at))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := client.Close(); err != nil {
			w.t.Error(err)
		}
		if err := l.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return client
}
