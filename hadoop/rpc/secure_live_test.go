//go:build hadoop

package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/kerberos"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/sasl"
)

// These tests speak to the cluster with Kerberos that HADOOP_CONF_DIR names, at
// whatever protection it has. Its keytabs lie beside the configuration.

const (
	forClients = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
	forHDFS    = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
)

func secureSite(t *testing.T) (c *conf.Conf, level sasl.Protection) {
	t.Helper()
	c, err := conf.Load(os.Getenv("HADOOP_CONF_DIR"))
	if err == nil {
		level, err = sasl.ParseProtection(c.String("hadoop.rpc.protection", ""))
	}
	if err != nil {
		t.Fatal(err)
	}
	return c, level
}

func ticketOf(t *testing.T, user string) *kerberos.Login {
	t.Helper()
	lab := filepath.Join(filepath.Dir(os.Getenv("HADOOP_CONF_DIR")), "kdc")
	l, err := kerberos.Open(kerberos.Source{Keytab: filepath.Join(lab, "keytabs", user+".keytab"), Config: filepath.Join(lab, "krb5.conf")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// spy keeps what goes over the wire each way.
type spy struct {
	net.Conn
	mu        sync.Mutex
	sent, got []byte
}

func (s *spy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	nc, err := (&net.Dialer{}).DialContext(ctx, network, address)
	s.Conn = nc
	return s, err
}

func (s *spy) Write(b []byte) (int, error) {
	s.mu.Lock()
	s.sent = append(s.sent, b...)
	s.mu.Unlock()
	return s.Conn.Write(b)
}

func (s *spy) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	s.mu.Lock()
	s.got = append(s.got, b[:n]...)
	s.mu.Unlock()
	return n, err
}

func secureClient(t *testing.T, addresses []string, protocol string, a rpc.Auth, change func(*rpc.Config)) *rpc.Client {
	t.Helper()
	cfg := rpc.Config{Addresses: addresses, Protocol: protocol, Auth: func(context.Context) (rpc.Auth, error) { return a, nil }}
	if change != nil {
		change(&cfg)
	}
	c := rpc.New(cfg)
	t.Cleanup(func() { c.Close() })
	return c
}

func metrics(ctx context.Context, c *rpc.Client) error {
	var out yarnpb.GetClusterMetricsResponse
	err := c.Call(ctx, "getClusterMetrics", &yarnpb.GetClusterMetricsRequest{}, &out)
	if err == nil && out.GetMetrics().GetNodes() == 0 {
		err = errors.New("no nodes")
	}
	return err
}

func TestSecureCalls(t *testing.T) {
	c, level := secureSite(t)
	servers, err := c.ResourceManagers(conf.RMClient)
	if err != nil {
		t.Fatal(err)
	}
	fs, err := c.NameNodes("")
	if err != nil {
		t.Fatal(err)
	}
	alice := ticketOf(t, "alice")
	rm := rpc.Auth{Kerberos: alice.Service(c.String("yarn.resourcemanager.principal", ""))}
	nn := rpc.Auth{Kerberos: alice.Service(c.String("dfs.namenode.kerberos.principal", ""))}
	var wire spy
	client := secureClient(t, conf.Addresses(servers), forClients, rm, func(cfg *rpc.Config) { cfg.Least, cfg.Dial = level, wire.dial })
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 10 {
				if err := metrics(t.Context(), client); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	// More than one buffer in one request.
	large := &yarnpb.GetApplicationsRequest{Tags: []string{strings.Repeat("no such tag ", 40_000)}, Limit: proto.Int64(1)}
	if err := client.Call(t.Context(), "getApplications", large, &yarnpb.GetApplicationsResponse{}); err != nil {
		t.Error(err)
	}
	wire.mu.Lock()
	if seen := bytes.Contains(wire.sent, []byte("getClusterMetrics")); seen == (level == sasl.Privacy) {
		t.Errorf("at %v the method can be read on the wire: %v", level, seen)
	}
	wire.mu.Unlock()
	files := secureClient(t, conf.Addresses(fs.NameNodes), forHDFS, nn, func(cfg *rpc.Config) { cfg.Least = level })
	if err := files.Call(t.Context(), "getFsStats", &yarnpb.GetClusterMetricsRequest{}, &yarnpb.GetClusterMetricsResponse{}); err != nil {
		t.Error(err)
	}
}

func TestSecureRefusals(t *testing.T) {
	c, level := secureSite(t)
	servers, err := c.ResourceManagers(conf.RMClient)
	if err != nil {
		t.Fatal(err)
	}
	once := func(cfg *rpc.Config) { cfg.Retry = rpc.Never }
	asked := 0
	for i, a := range conf.Addresses(servers) {
		addresses := []string{a}
		believed := metrics(t.Context(), secureClient(t, addresses, forClients, rpc.Auth{User: "alice"}, once))
		if errors.Is(believed, rpc.ErrConnect) {
			continue // a standby does not listen
		}
		asked++
		if !errors.Is(believed, rpc.AccessControl) || !strings.Contains(believed.Error(), "KERBEROS") {
			t.Errorf("%d: without proof: %v", i, believed)
		}
		alice := ticketOf(t, "alice")
		wrong := rpc.Auth{Kerberos: alice.Service("nn/_HOST@" + alice.Realm())}
		if err := metrics(t.Context(), secureClient(t, addresses, forClients, wrong, once)); !errors.Is(err, kerberos.ErrService) || !strings.Contains(err.Error(), "the server says that it is rm/") {
			t.Errorf("another service: %v", err)
		}
		if level < sasl.Privacy {
			right := rpc.Auth{Kerberos: alice.Service(c.String("yarn.resourcemanager.principal", ""))}
			more := secureClient(t, addresses, forClients, right, func(cfg *rpc.Config) { cfg.Least, cfg.Retry = sasl.Privacy, rpc.Never })
			if err := metrics(t.Context(), more); !errors.Is(err, sasl.ErrProtection) {
				t.Errorf("privacy where the server has %v: %v", level, err)
			}
		}
	}
	if asked == 0 {
		t.Error("nobody was asked")
	}
}
