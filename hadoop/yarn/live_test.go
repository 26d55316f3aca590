//go:build hadoop

package yarn

import (
	"context"
	"os"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/token"
)

const liveUser = "root"

func liveConf(t *testing.T) *conf.Conf {
	t.Helper()
	c, err := conf.Load(os.Getenv("HADOOP_CONF_DIR"))
	if err != nil {
		t.Fatalf("HADOOP_CONF_DIR: %v", err)
	}
	return c
}

func asUser(name string) Auth {
	return func(context.Context) (rpc.Auth, error) { return rpc.Auth{User: name}, nil }
}

func liveRM(t *testing.T) *RM {
	t.Helper()
	r, err := NewRM(liveConf(t), asUser(liveUser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// within polls until it is so.
func within(ctx context.Context, t *testing.T, what string, so func() bool) {
	t.Helper()
	for !so() {
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// unmanaged submits an application whose master is this process, and gives the
// token that it logs in with. It is killed when the test ends.
func unmanaged(ctx context.Context, t *testing.T, r *RM, change func(*yarnpb.ApplicationSubmissionContext)) (AppID, *token.Token) {
	t.Helper()
	id, largest, err := r.NewApplication(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if largest.Memory <= 0 {
		t.Fatalf("largest container: %v", largest)
	}
	s := &yarnpb.ApplicationSubmissionContext{
		ApplicationId: id.Proto(), Name: proto.String("yarn live test"), Queue: proto.String("default"),
		AmContainerSpec: &yarnpb.ContainerLaunchContext{}, UnmanagedAm: proto.Bool(true), MaxAppAttempts: proto.Int32(1),
		Resource: Resource{Memory: 64, VCores: 1}.Proto(), ApplicationType: proto.String("MUSTERTEST"), Tags: []string{"live"},
		Priority: PriorityOf(1),
	}
	if change != nil {
		change(s)
	}
	for range 2 { // the second must change nothing
		if err := r.Submit(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		if err := r.Kill(ctx, id, "the test is over"); err != nil {
			t.Errorf("kill: %v", err)
		}
	})
	var tok *token.Token
	within(ctx, t, "the master's token", func() bool {
		rep, err := r.Report(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if rep.GetState() == yarnpb.AppState_FAILED {
			t.Fatalf("failed: %s", rep.GetDiagnostics())
		}
		tok = token.FromProto(rep.GetAmRmToken())
		return tok != nil
	})
	return id, tok
}

func liveMaster(t *testing.T, tok *token.Token) *Master {
	t.Helper()
	m, err := NewMaster(liveConf(t), func(context.Context) (rpc.Auth, error) { return rpc.Auth{Token: tok}, nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func ask(n int32, class int64, r Resource) *yarnpb.ResourceRequest {
	return &yarnpb.ResourceRequest{
		Priority: PriorityOf(1), ResourceName: proto.String(Anything), Capability: r.Proto(), NumContainers: proto.Int32(n),
		RelaxLocality: proto.Bool(true), AllocationRequestId: proto.Int64(class), ExecutionType: Guaranteed(),
	}
}

// gather allocates until n containers are there.
func gather(ctx context.Context, t *testing.T, m *Master, n *Nodes, count int, req *yarnpb.AllocateRequest) []*yarnpb.Container {
	t.Helper()
	var got []*yarnpb.Container
	within(ctx, t, "containers", func() bool {
		resp, err := m.Allocate(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		req = &yarnpb.AllocateRequest{Progress: proto.Float32(0)}
		n.Keep(resp.GetNmTokens())
		got = append(got, resp.GetAllocated()...)
		return len(got) >= count
	})
	return got
}

func shell(c *yarnpb.Container, line string) *yarnpb.StartContainerRequest {
	return &yarnpb.StartContainerRequest{
		Context:        &yarnpb.ContainerLaunchContext{Command: []string{line}},
		ContainerToken: c.GetContainerToken(),
	}
}
