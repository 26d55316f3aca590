//go:build hadoop

package kerberos

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
)

// What a real server says of a ticket that it cannot decrypt, because the KDC has
// another key, or that was made for another service, is explained; the next try
// goes with a new ticket.
func TestSecureServerRefuses(t *testing.T) {
	dir := os.Getenv("HADOOP_CONF_DIR")
	c, err := conf.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	servers, err := c.ResourceManagers(conf.RMClient)
	if err != nil {
		t.Fatal(err)
	}
	lab := filepath.Join(filepath.Dir(dir), "kdc")
	l := enter(t, Source{Keytab: filepath.Join(lab, "keytabs", "alice.keytab"), Config: filepath.Join(lab, "krb5.conf")}, time.Now)
	client := rpc.New(rpc.Config{
		Addresses: conf.Addresses(servers), Protocol: "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB",
		Auth: func(context.Context) (rpc.Auth, error) {
			return rpc.Auth{Kerberos: l.Service(c.String("yarn.resourcemanager.principal", ""))}, nil
		},
	})
	defer client.Close()
	call := func() error {
		return client.Call(t.Context(), "getClusterMetrics", &yarnpb.GetClusterMetricsRequest{}, &yarnpb.GetClusterMetricsResponse{})
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	newHost(t, 18, "rm", "localhost").admit(t, l, 18) // a ticket of another key
	client.Reset()
	err = Explain(call())
	p, ok := errors.AsType[*Problem](err)
	if !ok || !errors.Is(p.Kind, ErrService) || !strings.Contains(p.Hint, "klist -kte") {
		t.Errorf("a ticket of another key: %v", err)
	}
	t.Log(err)
	if err := call(); err != nil {
		t.Errorf("the next try: %v", err)
	}
	if err := Explain(context.Canceled); !errors.Is(err, context.Canceled) || err.Error() != context.Canceled.Error() {
		t.Errorf("another error becomes %v", err)
	}
}
