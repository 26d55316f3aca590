package yarn

import (
	"fmt"
	"strings"
	"testing"
	"time"

	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

func gib(n int64) int64 { return n << 10 } // in MiB

func full(mem, cores, gpus int64) Size {
	return Size{Memory: mem, VCores: cores, More: map[string]int64{GPU: gpus}}
}

// testCluster has four nodes of 4 GiB and 8 cores: two without a label and four
// GPUs each, one gpu (exclusive) with four, one batch (not exclusive) with none.
func testCluster() *cluster {
	node := func(n int, label string, gpus int64) machine {
		return machine{Name: fmt.Sprintf("nm%d:8041", n), Rack: "/default-rack", Label: label, State: nodeRunning, Total: full(gib(4), 8, gpus)}
	}
	leaf := func(path string, parts map[string]hadoop.Share, labels ...string) *queue {
		return &queue{Path: path, Leaf: true, State: queueRunning, Partitions: parts, Labels: labels, Largest: full(gib(4), 8, 4), UserLimitFactor: -1,
			MaxApps: 10000, MaxParallel: hadoop.Unlimited}
	}
	all := hadoop.Share{Min: full(3276, 6, 3), Max: full(gib(8), 16, 8)}
	ops := leaf("root.ops", map[string]hadoop.Share{"": {Min: full(1638, 3, 1), Max: full(gib(4), 8, 4)}}, "batch")
	ops.UserLimitFactor, ops.ACLs, ops.MaxLifetime = 1, map[string]string{"SUBMIT_APP": "bob"}, 3600
	closed := leaf("root.closed", map[string]hadoop.Share{"": all})
	closed.State = "STOPPED"
	ml := leaf("root.ml", map[string]hadoop.Share{"": all, "gpu": {Max: full(gib(4), 8, 4)}, "batch": {Max: full(gib(4), 8, 0)}}, "gpu", "batch")
	ml.ACLs = map[string]string{"SUBMIT_APP": "alice"}
	team := func(name string) *queue {
		return &queue{Path: "root." + name, State: queueRunning, Children: []*queue{leaf("root."+name+".night", map[string]hadoop.Share{"": all})}}
	}
	return &cluster{
		Scheduler: Scheduler{Kind: "CapacityScheduler", Rounding: hadoop.Rounding{Min: full(64, 1, 0), Step: full(64, 1, 0), Max: full(gib(4), 8, 4)}, HostPort: true},
		Machines:  []machine{node(1, "", 4), node(2, "", 4), node(3, "gpu", 4), node(4, "batch", 0)},
		Labels:    map[string]bool{"gpu": true, "batch": false},
		Types:     []string{nameMemory, nameCores, GPU, "licence"},
		Root: &queue{Path: "root", State: queueRunning, Children: []*queue{
			leaf("root.default", map[string]hadoop.Share{"": all}, "*"), ml, ops, closed, team("a"), team("b")}},
		Submits:     map[string]bool{"root.default": true, "root.ml": true, "root.closed": true, "root.a.night": true, "root.b.night": true},
		MaxPriority: 10, Docker: "no",
	}
}

func testPlan(tasks int, mem spec.Size, native map[string]any) *plan.Plan {
	p := &plan.Plan{Version: plan.PlanVersion, ID: "m-7k3fq2aaxz", Name: "digits", User: "alice", Backend: Name,
		Roles: []plan.Role{{Name: "worker", Instances: spec.Count{Min: tasks, Max: tasks}, Procs: 1, Resources: plan.Resources{CPUs: 1, Memory: int64(mem)}}}}
	if native != nil {
		p.Native = map[string]any{Name: native}
	}
	return p
}

const size1 = spec.Size(1 << 30)

// What is refused, and in which words.
func TestRefuse(t *testing.T) {
	type change = func(*plan.Plan, *cluster)
	native := func(m map[string]any) change {
		return func(p *plan.Plan, _ *cluster) { p.Native = map[string]any{Name: m} }
	}
	queue := func(name string) change { return func(p *plan.Plan, _ *cluster) { p.Queue = name } }
	tasks := func(n int, mem spec.Size) change {
		return func(p *plan.Plan, _ *cluster) {
			p.Roles[0].Instances = spec.Count{Min: n, Max: n}
			p.Roles[0].Resources.Memory = int64(mem)
		}
	}
	var out strings.Builder
	for _, c := range []struct {
		name    string
		changes []change
	}{
		{"nothing", nil},
		{"no such queue", []change{queue("defaul")}},
		{"queue with queues below", []change{queue("a")}},
		{"queue meant twice", []change{queue("night")}},
		{"queue by its path", []change{queue("root.a.night")}},
		{"queue stopped", []change{queue("closed")}},
		{"no right to submit", []change{queue("ops")}},
		{"queue full of jobs", []change{func(_ *plan.Plan, c *cluster) {
			q := find(c.Root, "default")[0]
			q.MaxApps, q.Running, q.Pending = 5, 2, 3
		}}},
		{"priority too high", []change{func(p *plan.Plan, _ *cluster) { p.Priority = 11 }}},
		{"priority negative", []change{func(p *plan.Plan, _ *cluster) { p.Priority = -1 }}},
		{"lifetime too long", []change{queue("ops"), native(map[string]any{"lifetime": "2h"}), func(_ *plan.Plan, c *cluster) { c.Submits = nil }}},
		{"timeout longer than the queue allows", []change{queue("ops"), func(p *plan.Plan, c *cluster) { c.Submits = nil; p.Timeout.Run = spec.Duration(3 * time.Hour) }}},
		{"larger than any container", []change{tasks(1, 5<<30)}},
		{"container exactly as large", []change{tasks(1, 4<<30)}},
		{"more than exists, by the queue", []change{tasks(9, 1<<30), func(_ *plan.Plan, c *cluster) { c.Machines = c.Machines[:3] }}},
		{"as much as the queue has, without the coordinator", []change{tasks(8, 1<<30), func(_ *plan.Plan, c *cluster) { c.Machines = c.Machines[:3] }}},
		{"a little less", []change{tasks(7, 1<<30), func(_ *plan.Plan, c *cluster) { c.Machines = c.Machines[:3] }}},
		{"lent by a label that is not exclusive", []change{tasks(8, 1<<30)}},
		{"sums fit, pieces do not", []change{tasks(3, 2200<<20), func(_ *plan.Plan, c *cluster) { c.Machines = c.Machines[:3] }}},
		{"would fit if a lost node came back", []change{tasks(3, 2200<<20), func(_ *plan.Plan, c *cluster) {
			find(c.Root, "default")[0].Partitions[""] = hadoop.Share{Max: full(gib(12), 24, 12)}
			c.Machines = append(c.Machines[:3], machine{Name: "nm5:8041", State: "LOST", Total: full(gib(4), 8, 4)})
		}}},
		{"no node runs", []change{func(_ *plan.Plan, c *cluster) { c.Machines = []machine{} }}},
		{"cores are not counted", []change{func(p *plan.Plan, c *cluster) {
			c.Scheduler.Sees = []string{nameMemory}
			p.Roles[0].Instances = spec.Count{Min: 7, Max: 7}
			p.Roles[0].Resources.CPUs = 8
		}}},
		{"cores are counted", []change{func(p *plan.Plan, _ *cluster) {
			p.Roles[0].Instances = spec.Count{Min: 7, Max: 7}
			p.Roles[0].Resources.CPUs = 8
		}}},
		{"more GPUs than a node has", []change{func(p *plan.Plan, _ *cluster) { p.Roles[0].Resources.GPUs = 5 }}},
		{"GPUs unknown", []change{func(p *plan.Plan, c *cluster) {
			p.Roles[0].Resources.GPUs, c.Types = 1, []string{nameMemory, nameCores}
			c.Scheduler.Rounding.Max = Size{Memory: gib(4), VCores: 8}
			find(c.Root, "default")[0].Largest = Size{}
		}}},
		{"GPUs where none are", []change{queue("ml"), native(map[string]any{"node_label": "batch"}), func(p *plan.Plan, _ *cluster) { p.Roles[0].Resources.GPUs = 1 }}},
		{"unknown label", []change{native(map[string]any{"node_label": "gpus"})}},
		{"label not for this queue", []change{queue("ops"), native(map[string]any{"node_label": "gpu"}), func(_ *plan.Plan, c *cluster) { c.Submits = nil }}},
		{"label of which the queue has nothing", []change{native(map[string]any{"node_label": "gpu"})}},
		{"label of a role", []change{queue("ml"), native(map[string]any{"roles": map[string]any{"worker": map[string]any{"node_label": "gpu"}}})}},
		{"no labels at all", []change{native(map[string]any{"node_label": "gpu"}), func(_ *plan.Plan, c *cluster) { c.Labels = map[string]bool{} }}},
		{"label without a node", []change{queue("ml"), native(map[string]any{"node_label": "gpu"}), func(_ *plan.Plan, c *cluster) { c.Machines[2].State = "LOST" }}},
		{"unknown resource", []change{native(map[string]any{"resources": map[string]any{"licenses": 1.0}})}},
		{"more of a resource than there is", []change{tasks(2, 1<<30), native(map[string]any{"resources": map[string]any{"licence": 2.0}}), func(_ *plan.Plan, c *cluster) {
			c.Scheduler.Rounding.Max.More["licence"] = 9
			find(c.Root, "default")[0].Largest = Size{}
			find(c.Root, "default")[0].Partitions[""].Max.More["licence"] = 9
			c.Machines[0].Total.More["licence"] = 3
		}}},
		{"more than one user may have", []change{queue("ops"), tasks(3, 1<<30), func(_ *plan.Plan, c *cluster) { c.Submits = nil }}},
		{"as much as one user may have", []change{queue("ops"), tasks(2, 1<<30), func(_ *plan.Plan, c *cluster) { c.Submits = nil }}},
		{"spread over all nodes", []change{native(map[string]any{"placement": "spread"}), tasks(2, size1)}},
		{"spread over more nodes than there are", []change{native(map[string]any{"placement": "spread"}), tasks(3, size1)}},
		{"spread over a node that is away", []change{native(map[string]any{"placement": "spread"}), tasks(2, size1), func(_ *plan.Plan, c *cluster) { c.Machines[1].State = "LOST" }}},
		{"spread over more racks than there are", []change{native(map[string]any{"placement": map[string]any{"kind": "spread", "scope": "rack"}}), tasks(2, size1)}},
		{"packed", []change{native(map[string]any{"placement": "pack"}), tasks(3, size1)}},
		{"image without Docker", []change{func(p *plan.Plan, _ *cluster) { p.Roles[0].Image = "pytorch:2" }}},
		{"image, Docker unknown", []change{func(p *plan.Plan, c *cluster) { p.Roles[0].Image = "pytorch:2"; c.Docker = "" }}},
		{"image of two roles", []change{native(map[string]any{"docker": map[string]any{"image": "pytorch:2"}}), func(p *plan.Plan, _ *cluster) {
			p.Roles = append(p.Roles, p.Roles[0])
			p.Roles[1].Name = "ps"
		}}},
		{"mounts without image", []change{native(map[string]any{"docker": map[string]any{"mounts": []any{"/data:/data"}}})}},
		{"no memory written", []change{tasks(1, 0)}},
		{"in place", []change{func(p *plan.Plan, _ *cluster) { p.Work.InPlace, p.Work.Source = true, "/home/alice/train" }}},
		{"later stages are gangs of their own", []change{func(p *plan.Plan, c *cluster) {
			c.Machines = c.Machines[:3]
			p.Roles = append(testPlan(7, size1, nil).Roles, testPlan(7, size1, nil).Roles...)
			p.Roles[1].Name, p.Roles[1].Stage = "evaluator", 1
		}}},
		{"coordinator too large", []change{native(map[string]any{"am": map[string]any{"memory": "5GiB"}})}},
		{"little is known", []change{tasks(100, 1<<30), func(_ *plan.Plan, c *cluster) { *c = cluster{MaxPriority: -1} }}},
	} {
		p, cl := testPlan(1, size1, nil), testCluster()
		for _, change := range c.changes {
			change(p, cl)
		}
		fmt.Fprintf(&out, "# %s\n", c.name)
		for _, f := range refuse(p, cl, "alice") {
			if f.Warning {
				out.WriteString("warning: ")
			}
			fmt.Fprintln(&out, f)
		}
	}
	golden(t, "refuse", out.String())
}
