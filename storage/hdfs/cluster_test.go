//go:build hadoop

package hdfs

import (
	"context"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/storage"
	"github.com/muster-project/muster/storage/storagetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// confDir is the configuration of the cluster that the tests run against.
func confDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("HADOOP_CONF_DIR")
	if dir == "" {
		t.Fatal("HADOOP_CONF_DIR: not set: these tests need a cluster")
	}
	return dir
}

func client(t testing.TB) *hdfs.Client {
	t.Helper()
	c, err := conf.Load(confDir(t))
	if err != nil {
		t.Fatal(err)
	}
	client, err := hdfs.New(c, func(context.Context) (rpc.Auth, error) { return rpc.Auth{User: "root"}, nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// fresh gives a file system and a directory of the test's own in it.
func fresh(t testing.TB) (*FS, string) {
	t.Helper()
	fsys := New(client(t))
	dir := "/tmp/muster-storage-test/" + strings.NewReplacer("/", "-", ":", "-").Replace(t.Name())
	ctx := context.WithoutCancel(t.Context())
	if err := fsys.Remove(ctx, dir); err != nil {
		t.Fatal(err)
	}
	if err := fsys.Mkdir(ctx, dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fsys.Remove(ctx, dir); err != nil {
			t.Error(err)
		}
	})
	return fsys, dir
}

func TestConformance(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) (storage.FS, string) { return fresh(t) })
}
