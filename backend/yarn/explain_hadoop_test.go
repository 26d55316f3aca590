//go:build hadoop

package yarn

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/token"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/storage"
)

// holder is an application whose master is the test: it asks for what the test
// wants and keeps it.
type holder struct {
	t       *testing.T
	client  *Backend
	ref     backend.Ref
	app     hadoop.AppID
	master  *hadoop.Master
	asks    []*yarnpb.ResourceRequest
	held    []*yarnpb.Container
	classes int64 // asked for so far
}

// newHolder registers a master for a job of this plan.
func newHolder(t *testing.T, b *Backend, p *plan.Plan) *holder {
	t.Helper()
	ctx := t.Context()
	if err := b.connect(); err != nil {
		t.Fatal(err)
	}
	h := &holder{t: t, client: b}
	var err error
	if h.app, _, err = b.rm.NewApplication(ctx); err != nil {
		t.Fatal(err)
	}
	err = b.rm.Submit(ctx, &yarnpb.ApplicationSubmissionContext{ApplicationId: h.app.Proto(), Name: new(t.Name()), Queue: new(queueOf(p)),
		UnmanagedAm: new(true), ApplicationType: new(AppType), Tags: []string{Tag(p.ID)}, AmContainerSpec: &yarnpb.ContainerLaunchContext{},
		Priority: hadoop.PriorityOf(int32(p.Priority)), MaxAppAttempts: new(int32(1)), Resource: Size{Memory: 64, VCores: 1}.Proto()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.rm.Kill(context.WithoutCancel(ctx), h.app, "the test is over"); err != nil {
			t.Error(err)
		}
	})
	var cred *token.Token
	until(t, "the application has a token for its master", func() bool {
		r, err := b.rm.Report(ctx, h.app)
		if err != nil || r.AmRmToken == nil {
			return false
		}
		cred = token.FromProto(r.GetAmRmToken())
		return true
	})
	h.master, err = hadoop.NewMaster(b.Conf, func(context.Context) (rpc.Auth, error) { return rpc.Auth{Token: cred}, nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.master.Close() })
	if _, err := h.master.Register(ctx, "localhost", ""); err != nil {
		t.Fatal(err)
	}
	st := newStore(b.fs, b.Layout)
	dir := b.Layout.Job(p.ID)
	if err := st.prepare(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := b.writeJob(ctx, st, dir, submission(p)); err != nil {
		t.Fatal(err)
	}
	if err := storage.PublishBytes(ctx, b.fs, dir.App(1), modeData, []byte(h.app.String())); err != nil {
		t.Fatal(err)
	}
	h.ref = backend.Ref{Job: p.ID, Native: h.app.String(), Dir: string(dir)}
	return h
}

// ask adds to what is asked for, on one node or anywhere.
func (h *holder) ask(size Size, label, node string, count int32) {
	h.t.Helper()
	h.classes++ // asks of one class would replace each other
	id := h.classes
	one := func(where string, relax bool) {
		h.asks = append(h.asks, &yarnpb.ResourceRequest{Priority: hadoop.PriorityOf(int32(id)), ResourceName: &where, Capability: size.Proto(),
			NumContainers: new(count), RelaxLocality: &relax, NodeLabelExpression: &label, AllocationRequestId: &id, ExecutionType: hadoop.Guaranteed()})
	}
	one("*", node == "")
	if node != "" {
		one("/default-rack", false)
		one(node, true)
	}
	h.beat()
	h.asks = h.asks[:0:0]
	h.asks = nil
}

// beat is one heartbeat.
func (h *holder) beat() {
	h.t.Helper()
	resp, err := h.master.Allocate(h.t.Context(), &yarnpb.AllocateRequest{Ask: h.asks, Progress: new(float32(0))})
	if err != nil {
		h.t.Fatal(err)
	}
	h.held = append(h.held, resp.GetAllocated()...)
}

func (h *holder) hold(n int) {
	h.t.Helper()
	until(h.t, fmt.Sprintf("%d containers are held", n), func() bool { h.beat(); return len(h.held) >= n })
}

// explained waits until the job's reasons hold this one, and gives it.
func (h *holder) explained(code string) backend.Reason {
	h.t.Helper()
	var last []backend.Reason
	var said string
	var found backend.Reason
	until(h.t, "explained by "+code, func() bool {
		h.beat()
		var err error
		if last, err = h.client.Explain(h.t.Context(), h.ref); err != nil {
			h.t.Fatal(err)
		}
		if now := fmt.Sprintf("%+v", last); now != said {
			h.t.Log(now)
			said = now
		}
		i := slices.IndexFunc(last, func(r backend.Reason) bool { return r.Code == code })
		if i >= 0 {
			found = last[i]
		}
		return i >= 0
	})
	if found.Text == "" || found.Next == "" {
		h.t.Errorf("no text or no next step: %+v", found)
	}
	return found
}

// truth reads the resource manager's own answer, with code that shares nothing
// with what is tested.
func (b *Backend) truth(t *testing.T, path string) map[string]any {
	t.Helper()
	base, err := b.Conf.RMWebURLs()
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base[0]+"/ws/v1/cluster/"+path+"?user.name=root", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return out
}

// at walks into a decoded answer; a string picks a key, and key=value an element
// of a list.
func at(v any, path ...string) any {
	for _, step := range path {
		key, value, pick := strings.Cut(step, "=")
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			v = nil
			for _, e := range x {
				if m, ok := e.(map[string]any); ok && pick && m[key] == value {
					v = m
				}
			}
		default:
			return nil
		}
	}
	return v
}

func (b *Backend) queueTruth(t *testing.T, name string) any {
	t.Helper()
	return at(b.truth(t, "scheduler"), "scheduler", "schedulerInfo", "queues", "queue", "queueName="+name)
}

func rolePlan(user, queue string, native map[string]any, roles ...plan.Role) *plan.Plan {
	p := newPlan(user, 1)
	p.Queue, p.Roles = queue, roles
	if native != nil {
		p.Native = map[string]any{Name: native}
	}
	return p
}

func roleOfSize(n int, mem int64) plan.Role {
	return plan.Role{Name: "worker", Instances: spec.Count{Min: n, Max: n}, Procs: 1, Resources: plan.Resources{CPUs: 1, Memory: mem * mib}, Wait: true}
}

func same(t *testing.T, r backend.Reason, key string, want any) {
	t.Helper()
	got, ok := r.Numbers[key]
	if !ok || got != want {
		t.Errorf("%s: %s is %v, the resource manager says %v (%s)", r.Code, key, got, want, r.Text)
	}
}

// Coordinators may together have a part of their queue only, and those of one
// user a part of that.
func TestExplainMasters(t *testing.T) {
	limits := map[string]string{reasonUserMasters: "userAMResourceLimit", reasonMasters: "AMResourceLimit"}
	for _, c := range []struct{ user, queue, memory string }{
		{"bob", "small", "1280MiB"}, // which of both limits is lower moves with what other queues use
		{"alice", "ml", "3328MiB"},
	} {
		t.Run(c.queue, func(t *testing.T) {
			b := newClient(t, c.user, "sleep 120")
			submit := func() backend.Ref {
				p := newPlan(c.user, 1)
				p.Queue, p.Native = c.queue, map[string]any{Name: map[string]any{"am": map[string]any{"memory": c.memory}}}
				ref, err := b.Submit(t.Context(), submission(p))
				if err != nil {
					t.Fatal(err)
				}
				return ref
			}
			first := submit()
			until(t, "the first coordinator counts", func() bool {
				as, err := b.rm.Attempts(t.Context(), mustApp(t, first))
				return err == nil && len(as) == 1 && as[0].GetAmContainerId().GetId() != 0
			})
			second := submit()
			var r backend.Reason
			until(t, "explained", func() bool {
				list, err := b.Explain(t.Context(), second)
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range list {
					if limits[x.Code] != "" {
						r = x
					}
				}
				return r.Code != ""
			})
			t.Log(r.Code, r.Text)
			q := b.queueTruth(t, c.queue)
			same(t, r, "used_memory_mib", at(q, "usedAMResource", "memory"))
			same(t, r, "limit_memory_mib", at(q, limits[r.Code], "memory"))
			asked, err := spec.ParseSize(c.memory)
			if err != nil {
				t.Fatal(err)
			}
			same(t, r, "asked_memory_mib", float64(asked/mib))
		})
	}
}

// One user may have a part of a queue, and the queue a part of the cluster: both
// are told, with the resource manager's numbers.
func TestExplainUserLimitAndQueueMaximum(t *testing.T) {
	b := newClient(t, "bob", "")
	// Nodes whose label is not exclusive lend up to four more to the queue.
	h := newHolder(t, b, rolePlan("bob", "small", nil, roleOfSize(7, 1024)))
	h.ask(Size{Memory: 1024, VCores: 1}, "", "", 7)
	h.hold(2)
	r := h.explained(reasonUserLimit)
	q := b.queueTruth(t, "small")
	u := at(q, "users", "user", "username=bob")
	same(t, r, "used_memory_mib", at(u, "resources", "resourceUsagesByPartition", "partitionName=", "used", "memory"))
	same(t, r, "limit_memory_mib", at(u, "userResourceLimit", "memory"))
	r = h.explained(reasonQueueMaximum)
	same(t, r, "used_memory_mib", at(q, "resources", "resourceUsagesByPartition", "partitionName=", "used", "memory"))
	same(t, r, "maximum_memory_mib", at(q, "maxEffectiveCapacity", "memory"))
	same(t, r, "asked_memory_mib", 1024.0*float64(7-len(h.held)))
}

// A label that the queue has nothing of.
func TestExplainLabel(t *testing.T) {
	b := newClient(t, "alice", "")
	h := newHolder(t, b, rolePlan("alice", "default", map[string]any{"node_label": "gpu"}, roleOfSize(1, 512)))
	h.explained(reasonLabel)
}

// GPUs where no node has any.
func TestExplainNodeSize(t *testing.T) {
	b := newClient(t, "alice", "")
	w := roleOfSize(1, 512)
	w.Resources.GPUs = 1
	h := newHolder(t, b, rolePlan("alice", "ml", map[string]any{"node_label": "batch"}, w))
	r := h.explained(reasonNodeSize)
	same(t, r, "asked_gpus", 1.0)
	same(t, r, "largest_gpus", 0.0)
}

// Enough is free, but in pieces.
func TestExplainFragmentation(t *testing.T) {
	b := newClient(t, "alice", "")
	first := newHolder(t, b, rolePlan("alice", "default", nil, roleOfSize(2, 2304)))
	nodes := at(b.truth(t, "nodes"), "nodes", "node")
	var names []string
	for _, n := range nodes.([]any) {
		if at(n, "nodeLabels") == nil {
			names = append(names, at(n, "id").(string))
		}
	}
	for _, n := range names {
		first.ask(Size{Memory: 2304, VCores: 1}, "", n, 1)
	}
	first.hold(len(names))
	h := newHolder(t, b, rolePlan("alice", "default", nil, roleOfSize(1, 3072)))
	h.ask(Size{Memory: 3072, VCores: 1}, "", "", 1)
	r := h.explained(reasonFragments)
	free := 0.0
	for _, n := range at(b.truth(t, "nodes"), "nodes", "node").([]any) {
		if l, _ := at(n, "nodeLabels").([]any); !slices.Contains(l, any("gpu")) {
			free += at(n, "availMemoryMB").(float64)
		}
	}
	same(t, r, "free_memory_mib", free)
	same(t, r, "fit", 0.0)
}

// Not enough is free.
func TestExplainFull(t *testing.T) {
	b := newClient(t, "alice", "")
	first := newHolder(t, b, rolePlan("alice", "ml", map[string]any{"node_label": "gpu"}, roleOfSize(3, 1024)))
	first.ask(Size{Memory: 1024, VCores: 1}, "gpu", "", 3)
	first.hold(3)
	h := newHolder(t, b, rolePlan("alice", "ml", map[string]any{"node_label": "gpu"}, roleOfSize(2, 1024)))
	h.ask(Size{Memory: 1024, VCores: 1}, "gpu", "", 2)
	h.hold(1)
	r := h.explained(reasonFull)
	same(t, r, "asked_memory_mib", 1024.0)
	for _, n := range at(b.truth(t, "nodes"), "nodes", "node").([]any) {
		if l, _ := at(n, "nodeLabels").([]any); slices.Contains(l, any("gpu")) {
			same(t, r, "free_memory_mib", at(n, "availMemoryMB"))
			same(t, r, "total_memory_mib", at(n, "availMemoryMB").(float64)+at(n, "usedMemoryMB").(float64))
		}
	}
}

// The older gang is first, and is named.
func TestExplainBehind(t *testing.T) {
	b := newClient(t, "alice", "")
	native := map[string]any{"node_label": "batch"}
	first := newHolder(t, b, rolePlan("alice", "ml", native, roleOfSize(1, 512)))
	h := newHolder(t, b, rolePlan("alice", "ml", native, roleOfSize(1, 512)))
	r := h.explained(reasonBehind)
	if !strings.Contains(r.Text, first.ref.Job) && r.Numbers["ahead"] < 2 {
		t.Errorf("the gang before it is not named: %+v", r)
	}
	list, err := b.Explain(t.Context(), first.ref)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		if x.Code == reasonBehind && strings.Contains(x.Text, h.ref.Job) {
			t.Errorf("the first is said to wait for the second: %+v", list)
		}
	}
}
