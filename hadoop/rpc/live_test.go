//go:build hadoop

package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/sasl"
	"github.com/muster-project/muster/hadoop/token"
)

// These tests speak to the cluster that HADOOP_CONF_DIR names, at whatever
// protection its hadoop.rpc.protection says.

const (
	forClients = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
	forMasters = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
	forHDFS    = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
)

func site(t *testing.T) *conf.Conf {
	t.Helper()
	c, err := conf.Load(os.Getenv("HADOOP_CONF_DIR"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func addresses(t *testing.T, s conf.Service) []string {
	t.Helper()
	servers, err := site(t).ResourceManagers(s)
	if err != nil {
		t.Fatal(err)
	}
	return conf.Addresses(servers)
}

func live(t *testing.T, cfg Config) *Client {
	t.Helper()
	if cfg.Auth == nil {
		cfg.Auth = as(Auth{User: "alice"})
	}
	c := New(cfg)
	t.Cleanup(func() { c.Close() })
	return c
}

func metrics(ctx context.Context, c *Client) (*yarnpb.ClusterMetrics, error) {
	var out yarnpb.GetClusterMetricsResponse
	err := c.Call(ctx, "getClusterMetrics", &yarnpb.GetClusterMetricsRequest{}, &out)
	return out.GetMetrics(), err
}

func TestLiveSimple(t *testing.T) {
	rm := live(t, Config{Addresses: addresses(t, conf.RMClient), Protocol: forClients})
	m, err := metrics(t.Context(), rm)
	if err != nil || m.GetNodes() == 0 {
		t.Fatalf("got %v, %v", m, err)
	}
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			for range 10 {
				if m, err := metrics(t.Context(), rm); err != nil || m.GetNodes() == 0 {
					t.Errorf("got %v, %v", m, err)
				}
			}
		})
	}
	group.Wait()
	err = rm.Call(t.Context(), "bakeBread", &yarnpb.GetClusterMetricsRequest{}, &yarnpb.GetClusterMetricsResponse{})
	if !errors.Is(err, NoSuchMethod) || !strings.Contains(err.Error(), "bakeBread") {
		t.Errorf("an unknown method: %v", err)
	}
	if _, err := metrics(t.Context(), live(t, Config{Addresses: addresses(t, conf.RMClient), Protocol: "org.example.Bread"})); !errors.Is(err, NoSuchProtocol) {
		t.Errorf("an unknown protocol: %v", err)
	}
	nobody := live(t, Config{Addresses: addresses(t, conf.RMClient), Protocol: forClients, Auth: as(Auth{}), Retry: Never})
	if _, err := metrics(t.Context(), nobody); err == nil {
		t.Error("a call for nobody was answered")
	}
}

func TestLiveNameNode(t *testing.T) {
	fs, err := site(t).NameNodes("")
	if err != nil {
		t.Fatal(err)
	}
	c := live(t, Config{Addresses: conf.Addresses(fs.NameNodes), Protocol: forHDFS})
	var out yarnpb.GetClusterMetricsResponse // its fields stay unknown: any message will do
	if err := c.Call(t.Context(), "getFsStats", &yarnpb.GetClusterMetricsRequest{}, &out); err != nil || len(out.ProtoReflect().GetUnknown()) == 0 && out.Metrics == nil {
		t.Errorf("got %v, %v", &out, err)
	}
}

func TestLiveFailover(t *testing.T) {
	// Port 1 refuses; the scheduler's port wants a token and is no stand-in.
	rm := live(t, Config{Addresses: append([]string{"localhost:1"}, addresses(t, conf.RMClient)...), Protocol: forClients})
	if _, err := metrics(t.Context(), rm); err != nil {
		t.Error(err)
	}
	if rm.Address() == "localhost:1" {
		t.Error("the dead address is still the first")
	}
	gone := live(t, Config{Addresses: []string{"localhost:1"}, Protocol: forClients, Retry: Retry{For: 300 * time.Millisecond}})
	if _, err := metrics(t.Context(), gone); !errors.Is(err, ErrConnect) {
		t.Errorf("got %v, want %v", err, ErrConnect)
	}
}

func TestLiveProofs(t *testing.T) {
	var none yarnpb.RegisterResponse
	register := func(a Auth, least sasl.Protection) error {
		c := live(t, Config{Addresses: addresses(t, conf.RMScheduler), Protocol: forMasters, Auth: as(a), Least: least, Retry: Never})
		return c.Once(t.Context(), "registerApplicationMaster", &yarnpb.RegisterRequest{}, &none)
	}
	if err := register(Auth{User: "alice"}, sasl.Authentication); !errors.Is(err, AccessControl) || !strings.Contains(err.Error(), "Available:[TOKEN]") {
		t.Errorf("without proof: %v", err)
	}
	forged := master(t)
	forged.Password = []byte("guess")
	if err := register(Auth{Token: forged}, sasl.Authentication); err == nil {
		t.Error("a forged token was taken")
	} else {
		t.Log("a forged token:", err)
	}
	offered := strongest(t)
	if err := register(Auth{Token: master(t)}, sasl.Privacy); offered < sasl.Privacy && !errors.Is(err, sasl.ErrProtection) {
		t.Errorf("privacy where the server offers %v: %v", offered, err)
	} else {
		t.Log("privacy wanted:", err)
	}
}

// strongest is what the cluster offers.
func strongest(t *testing.T) sasl.Protection {
	t.Helper()
	best := sasl.Authentication
	for _, word := range site(t).Strings("hadoop.rpc.protection") {
		p, err := sasl.ParseProtection(word)
		if err != nil {
			t.Fatal(err)
		}
		best = max(best, p)
	}
	return best
}

// master submits an application whose master is this process, and returns the
// token that it logs in with. The application is killed with the test.
func master(t *testing.T) *token.Token {
	t.Helper()
	ctx := t.Context()
	rm := live(t, Config{Addresses: addresses(t, conf.RMClient), Protocol: forClients})
	var fresh yarnpb.GetNewApplicationResponse
	if err := rm.Call(ctx, "getNewApplication", &yarnpb.GetNewApplicationRequest{}, &fresh); err != nil {
		t.Fatal(err)
	}
	id := fresh.GetApplicationId()
	submit := &yarnpb.SubmitApplicationRequest{Context: &yarnpb.ApplicationSubmissionContext{
		ApplicationId: id, Name: proto.String("rpc test"), Queue: proto.String("default"), UnmanagedAm: proto.Bool(true),
		AmContainerSpec: &yarnpb.ContainerLaunchContext{}, Priority: &yarnpb.Priority{Priority: proto.Int32(0)},
		Resource: &yarnpb.Resource{MemoryMb: proto.Int64(64), Vcores: proto.Int32(1)},
	}}
	if err := rm.Call(ctx, "submitApplication", submit, &yarnpb.SubmitApplicationResponse{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		kill := New(Config{Addresses: addresses(t, conf.RMClient), Protocol: forClients, Auth: as(Auth{User: "alice"})})
		defer kill.Close()
		if err := kill.Call(ctx, "forceKillApplication", &yarnpb.KillApplicationRequest{ApplicationId: id}, &yarnpb.KillApplicationResponse{}); err != nil {
			t.Error(err)
		}
	})
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		var report yarnpb.GetApplicationReportResponse
		if err := rm.Call(ctx, "getApplicationReport", &yarnpb.GetApplicationReportRequest{ApplicationId: id}, &report); err != nil {
			t.Fatal(err)
		}
		if k := token.FromProto(report.GetReport().GetAmRmToken()); k != nil {
			return k
		}
		select {
		case <-tick.C:
		case <-time.After(30 * time.Second):
			t.Fatalf("no token: %v", report.GetReport())
		}
	}
}

// tap keeps what is sent.
type tap struct {
	net.Conn
	sent []byte
}

func (p *tap) dial(ctx context.Context, network, address string) (net.Conn, error) {
	nc, err := (&net.Dialer{}).DialContext(ctx, network, address)
	p.Conn = nc
	return p, err
}

func (p *tap) Write(b []byte) (int, error) {
	p.sent = append(p.sent, b...)
	return p.Conn.Write(b)
}

// A master's calls by its token: registered, a large request in several pieces,
// a heartbeat, finished.
func TestLiveToken(t *testing.T) {
	for _, list := range [][]string{{"rc4", "3des"}, {"3des"}} {
		t.Run(fmt.Sprint(list), func(t *testing.T) {
			saved := sasl.Ciphers
			sasl.Ciphers = list
			t.Cleanup(func() { sasl.Ciphers = saved })
			want := strongest(t)
			var tap tap
			c := live(t, Config{Addresses: addresses(t, conf.RMScheduler), Protocol: forMasters, Least: want,
				Auth: as(Auth{Token: master(t)}), Dial: tap.dial})
			var registered yarnpb.RegisterResponse
			if err := c.Once(t.Context(), "registerApplicationMaster", &yarnpb.RegisterRequest{
				Host: proto.String("localhost"), RpcPort: proto.Int32(0), TrackingUrl: proto.String("")}, &registered); err != nil {
				t.Fatal(err)
			}
			got := sasl.Authentication
			if l := c.live.p.layer; l != nil {
				got = l.Protection()
			}
			if got != want {
				t.Errorf("protection %v, want %v", got, want)
			}
			t.Logf("registered at %v; the maximum is %v", got, registered.GetMaximum())
			large := &yarnpb.AllocateRequest{ResponseId: proto.Int32(0), Progress: proto.Float32(0)}
			large.Blacklist = &yarnpb.Blacklist{}
			for i := range 20_000 { // names of nodes to shun: more than one buffer
				large.Blacklist.Add = append(large.Blacklist.Add, fmt.Sprintf("node-%06d.example.org", i))
			}
			var answer yarnpb.AllocateResponse
			if err := c.Call(t.Context(), "allocate", large, &answer); err != nil || answer.GetResponseId() != 1 {
				t.Fatalf("got %v, %v", &answer, err)
			}
			if seen := bytes.Contains(tap.sent, []byte("node-000000.example.org")); seen == (want == sasl.Privacy) {
				t.Errorf("the request can be read on the wire: %v, with %v", seen, want)
			}
			done := &yarnpb.FinishRequest{FinalStatus: yarnpb.FinalStatus_APP_SUCCEEDED.Enum()}
			if err := c.Call(t.Context(), "finishApplicationMaster", done, &yarnpb.FinishResponse{}); err != nil {
				t.Error(err)
			}
		})
	}
}
