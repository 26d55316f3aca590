//go:build hadoop

package yarn

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/token"
)

func liveContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestLiveCluster(t *testing.T) {
	ctx, r := liveContext(t), liveRM(t)
	nodes, err := r.Nodes(ctx)
	if err != nil || len(nodes) == 0 || ResourceOf(nodes[0].GetCapability()).Memory == 0 {
		t.Errorf("nodes: %v, %v", nodes, err)
	}
	if m, err := r.Metrics(ctx); err != nil || int(m.GetActive()) != len(nodes) {
		t.Errorf("metrics: %v, %v", m, err)
	}
	types, err := r.ResourceTypes(ctx)
	if err != nil || !slices.ContainsFunc(types, func(i *yarnpb.ResourceTypeInfo) bool { return i.GetName() == GPU }) {
		t.Errorf("resource types: %v, %v", types, err)
	}
	for _, name := range []string{"default", "root.default", "root"} {
		q, err := r.Queue(ctx, name)
		if err != nil || !SameQueue(q.GetPath(), name) {
			t.Errorf("queue %s: %v, %v", name, q, err)
		}
		if p := Partition(q, ""); p != nil && ResourceOf(p.GetEffectiveMax()).Memory == 0 {
			t.Errorf("queue %s: no maximum: %v", name, p)
		}
	}
	if q, err := r.Queue(ctx, "no-such-queue"); !errors.Is(err, ErrNoQueue) {
		t.Errorf("a queue that is not there: %v, %v", q, err)
	}
	if acls, err := r.QueueACLs(ctx); err != nil || len(acls) == 0 {
		t.Errorf("queue ACLs: %v, %v", acls, err)
	}
	labels, err := r.NodeLabels(ctx)
	if err != nil {
		t.Errorf("labels: %v", err)
	}
	on, err := r.LabelNodes(ctx)
	if err != nil || len(on) != len(labels) {
		t.Errorf("labels %v are on %v, %v", labels, on, err)
	}
	if _, err := r.NodeAttributes(ctx); err != nil {
		t.Errorf("attributes: %v", err)
	}
	if _, err := r.Report(ctx, AppID{Cluster: 1, Number: 1}); !errors.Is(err, NoSuchApplication) {
		t.Errorf("an application that is not there: %v", err)
	}
}

// A token that the ResourceManager gave logs in instead of the user's name, until
// it is cancelled. (Where there is Kerberos, only that gets one.)
func TestLiveDelegationToken(t *testing.T) {
	ctx, r := liveContext(t), liveRM(t)
	tok, err := r.DelegationToken(ctx, liveUser)
	if err != nil || tok.Kind != token.KindRM {
		t.Fatalf("%v, %v", tok, err)
	}
	login := func() error {
		bearer, err := NewRM(liveConf(t), func(context.Context) (rpc.Auth, error) { return rpc.Auth{Token: tok}, nil })
		if err != nil {
			t.Fatal(err)
		}
		defer bearer.Close()
		_, err = bearer.Metrics(ctx)
		return err
	}
	if err := login(); err != nil {
		t.Error(err)
	}
	if err := r.CancelDelegationToken(ctx, tok); err != nil {
		t.Error(err)
	}
	if err := login(); !errors.Is(err, InvalidToken) {
		t.Errorf("a cancelled token: %v", err)
	}
}

func TestLiveMaster(t *testing.T) {
	ctx, r := liveContext(t), liveRM(t)
	id, tok := unmanaged(ctx, t, r, nil)
	m := liveMaster(t, tok)
	if _, err := m.Allocate(ctx, &yarnpb.AllocateRequest{}); !errors.Is(err, ErrResync) {
		t.Errorf("allocate before register: %v", err)
	}
	reg, err := m.Register(ctx, "localhost", "http://localhost:1/")
	if err != nil || reg.AnswerLost || !SameQueue(reg.GetQueue(), "default") {
		t.Fatalf("%+v, %v", reg, err)
	}
	if _, err := liveMaster(t, tok).Register(ctx, "localhost", ""); !errors.Is(err, InvalidMaster) {
		t.Errorf("a second master: %v", err)
	}
	n := NewNodes(Limits{})
	defer n.Close()
	size := Resource{Memory: 100, VCores: 1}
	cs := gather(ctx, t, m, n, 2, &yarnpb.AllocateRequest{Ask: []*yarnpb.ResourceRequest{ask(2, 7, size)}})
	want := RoundingOf(liveConf(t), "").Round(size)
	for _, c := range cs {
		if got := ResourceOf(c.GetResource()); c.GetAllocationRequestId() != 7 || got.Memory != want.Memory || got.VCores != want.VCores {
			t.Errorf("class %d of %v, want 7 of %v", c.GetAllocationRequestId(), got, want)
		}
	}
	for range 2 { // the second must find that they run
		for _, c := range cs {
			out, err := n.Start(ctx, NodeAddr(c.GetNodeId()), []*yarnpb.StartContainerRequest{shell(c, "exec sleep 60")})
			if err != nil || len(out.Done) != 1 || len(out.Failed) != 0 {
				t.Fatalf("start: %+v, %v", out, err)
			}
		}
	}
	for _, c := range cs {
		within(ctx, t, "a running process", func() bool {
			all, unknown, err := n.Statuses(ctx, NodeAddr(c.GetNodeId()), []ContainerID{ContainerOf(c.GetId())})
			if err != nil || len(unknown) > 0 {
				t.Fatal(unknown, err)
			}
			return all[0].GetSubState() == yarnpb.ContainerSubState_CSS_RUNNING
		})
	}
	if all, err := r.Containers(ctx, AttemptID{App: id, Number: 1}); err != nil || len(all) != 2 {
		t.Errorf("%d containers by the ResourceManager, %v", len(all), err)
	}
	stopped, released := ContainerOf(cs[0].GetId()), ContainerOf(cs[1].GetId())
	if out, err := n.Stop(ctx, NodeAddr(cs[0].GetNodeId()), []ContainerID{stopped, {Attempt: stopped.Attempt, Number: 999}}); err != nil || len(out.Failed) != 0 {
		t.Errorf("stop: %+v, %v", out, err)
	}
	ends := map[ContainerID]int32{}
	req := &yarnpb.AllocateRequest{Release: []*yarnpb.ContainerId{released.Proto()}}
	within(ctx, t, "two ends", func() bool {
		resp, err := m.Allocate(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		req = &yarnpb.AllocateRequest{Progress: proto.Float32(0.5)}
		for _, s := range resp.GetCompleted() {
			ends[ContainerOf(s.GetContainerId())] = s.GetExitStatus()
		}
		return len(ends) == 2
	})
	if ends[stopped] != ExitStoppedByMaster || ends[released] != ExitAborted {
		t.Errorf("ends: %v", ends)
	}
	finishAndSee(ctx, t, r, m, id)
	if _, err := m.Allocate(ctx, &yarnpb.AllocateRequest{}); err == nil {
		t.Error("allocate after the end")
	}
}

func finishAndSee(ctx context.Context, t *testing.T, r *RM, m *Master, id AppID) {
	t.Helper()
	if err := m.Finish(ctx, yarnpb.FinalStatus_APP_SUCCEEDED, "as it should be", ""); err != nil {
		t.Fatal(err)
	}
	within(ctx, t, "the end", func() bool {
		rep, err := r.Report(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if rep.GetState() != yarnpb.AppState_FINISHED {
			return false
		}
		if rep.GetFinalStatus() != yarnpb.FinalStatus_APP_SUCCEEDED || rep.GetDiagnostics() != "as it should be" {
			t.Errorf("%s, %q", rep.GetFinalStatus(), rep.GetDiagnostics())
		}
		return true
	})
}

// cutter closes a connection right after a method's request has gone out, the
// first time for each method.
type cutter struct {
	net.Conn
	armed *sync.Map // method to true
	cut   atomic.Bool
}

func (c *cutter) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.armed.Range(func(method, _ any) bool {
		if !bytes.Contains(b, []byte(method.(string))) {
			return true
		}
		c.armed.Delete(method)
		c.cut.Store(true)
		return false
	})
	return n, err
}

func (c *cutter) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b) // the answer: it is there, and nobody gets it
	if c.cut.Load() {
		c.Conn.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// The real ResourceManager's answers to each of the three calls are lost once.
func TestLiveLostAnswers(t *testing.T) {
	ctx, r := liveContext(t), liveRM(t)
	id, tok := unmanaged(ctx, t, r, nil)
	servers, err := liveConf(t).ResourceManagers(conf.RMScheduler)
	if err != nil {
		t.Fatal(err)
	}
	var armed sync.Map
	m := newMaster(rpc.Config{
		Addresses: conf.Addresses(servers),
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &cutter{Conn: c, armed: &armed}, nil
		},
	}, func(context.Context) (rpc.Auth, error) { return rpc.Auth{Token: tok}, nil })
	defer m.Close()

	armed.Store("registerApplicationMaster", true)
	reg, err := m.Register(ctx, "localhost", "")
	if err != nil || !reg.AnswerLost {
		t.Fatalf("register: %+v, %v", reg, err)
	}
	n := NewNodes(Limits{})
	defer n.Close()
	armed.Store("allocate", true)
	cs := gather(ctx, t, m, n, 1, &yarnpb.AllocateRequest{Ask: []*yarnpb.ResourceRequest{ask(1, 1, Resource{Memory: 64, VCores: 1})}})
	if len(cs) != 1 {
		t.Errorf("%d containers, asked for one", len(cs))
	}
	armed.Store("finishApplicationMaster", true)
	finishAndSee(ctx, t, r, m, id)
	armed.Range(func(method, _ any) bool { t.Errorf("%s was never cut", method); return true })
}

func TestLiveKill(t *testing.T) {
	ctx, r := liveContext(t), liveRM(t)
	id, tok := unmanaged(ctx, t, r, nil)
	m := liveMaster(t, tok)
	if _, err := m.Register(ctx, "localhost", ""); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Kill(ctx, id, "enough"); err != nil {
			t.Fatal(err)
		}
	}
	// 3.4 says that the kill is done while it still stores it.
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		rep, err := r.Report(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if rep.GetState() == yarnpb.AppState_KILLED {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never killed: %v", rep)
		}
	}
	if _, err := m.Allocate(ctx, &yarnpb.AllocateRequest{}); !errors.Is(err, ErrGone) && !errors.Is(err, InvalidToken) {
		t.Errorf("a killed master: %v", err)
	}
	if list, err := r.Applications(ctx, Filter{Types: []string{"MUSTERTEST"}, States: []yarnpb.AppState{yarnpb.AppState_KILLED}}); err != nil ||
		!slices.ContainsFunc(list, func(a *yarnpb.ApplicationReport) bool { return AppOf(a.GetApplicationId()) == id }) {
		t.Errorf("the list lacks it: %v, %v", len(list), err)
	}
}
