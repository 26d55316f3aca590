package plan

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-project/muster/spec"
)

const gib = 1 << 30

func nodes(n int, r Resources) []Node {
	out := make([]Node, n)
	for i := range out {
		out[i] = Node{Name: fmt.Sprintf("node-%d", i), Resources: r}
	}
	return out
}

// want is a role of n tasks of one size.
func want(name string, n int, size Resources, ports ...int) Role {
	r := Role{Name: name, Instances: spec.Count{Min: n, Max: n}, Resources: size}
	for i, p := range ports {
		r.Ports = append(r.Ports, Port{Name: fmt.Sprintf("p%d", i), Number: p})
	}
	return r
}

func TestCheckFit(t *testing.T) {
	four := nodes(2, Resources{CPUs: 16, Memory: 64 * gib, GPUs: 4})
	for name, tc := range map[string]struct {
		roles []Role
		nodes []Node
		want  []Finding
	}{
		"fits exactly": {[]Role{want("worker", 2, Resources{CPUs: 16, Memory: 64 * gib, GPUs: 4})}, four, nil},
		"fractions of processors add up": {
			[]Role{want("worker", 10, Resources{CPUs: 0.1})}, nodes(1, Resources{CPUs: 1}), nil,
		},
		"no node at all": {
			[]Role{want("worker", 1, Resources{CPUs: 1})}, nil, []Finding{{Path: "roles", Problem: `"local" has no node`}},
		},
		"larger than any node in two ways": {
			[]Role{want("worker", 1, Resources{CPUs: 17, Memory: 64*gib + 512<<20})}, four, []Finding{
				{Path: "roles.worker.memory", Problem: "64.5GiB asked, the largest node has 64GiB"},
				{Path: "roles.worker.cpus", Problem: "17 asked, the largest node has 16"},
			},
		},
		"no node has both": {
			[]Role{want("worker", 1, Resources{CPUs: 8, Memory: 512 << 20, GPUs: 1})},
			[]Node{{"a", Resources{CPUs: 8, Memory: gib}}, {"b", Resources{CPUs: 2, Memory: gib, GPUs: 1}}},
			[]Finding{{Path: "roles.worker", Problem: "no node has 8 cpus, 512MiB memory, 1 gpus together"}},
		},
		"gang larger than all nodes together": {
			[]Role{want("worker", 5, Resources{CPUs: 1, GPUs: 2}), want("ps", 1, Resources{CPUs: 1, GPUs: 1})}, four,
			[]Finding{{Path: "roles", Problem: "11 gpus asked at once (worker 5 × 2, ps 1 × 1), all nodes together have 8",
				Hint: "ask for fewer tasks or smaller ones, or for a range of instances"}},
		},
		"one role larger than all nodes together": {
			[]Role{want("worker", 3, Resources{CPUs: 1, GPUs: 3})}, four, []Finding{
				{Path: "roles.worker.gpus", Problem: "9 gpus asked at once (worker 3 × 3), all nodes together have 8",
					Hint: "ask for fewer tasks or smaller ones, or for a range of instances"}},
		},
		"fragments": {
			[]Role{want("worker", 4, Resources{CPUs: 1, GPUs: 3})}, nodes(3, Resources{CPUs: 9, GPUs: 4}),
			[]Finding{{Path: "roles.worker.instances",
				Problem: "worker 4 × (1 cpus, 3 gpus): no way was found to place all of them at once on 3 nodes"}},
		},
		"a range needs its minimum only": {
			[]Role{{Name: "worker", Instances: spec.Count{Min: 2, Max: 200}, Resources: Resources{CPUs: 16}}}, four, nil,
		},
		"stages need not fit together": {
			[]Role{want("fetch", 2, Resources{CPUs: 16}), {Name: "train", Stage: 1, Instances: spec.Count{Min: 2, Max: 2}, Resources: Resources{CPUs: 16}}},
			four, nil,
		},
		"two tasks with one fixed port on one node": {
			[]Role{want("worker", 1, Resources{CPUs: 1}, 8080), want("ps", 1, Resources{CPUs: 1}, 0, 8080)}, four[:1],
			[]Finding{{Path: "roles.ps.ports.p1", Problem: "8080 asked by 2 tasks at once, but a node has it once and there is 1 node",
				Hint: "write 0 for any free port, seen as MUSTER_PORT_…"}},
		},
		"one fixed port on each of two nodes": {
			[]Role{want("worker", 2, Resources{CPUs: 1}, 8080)}, four, nil,
		},
		"a fixed port keeps tasks apart": {
			[]Role{want("a", 1, Resources{CPUs: 16}), want("b", 2, Resources{CPUs: 1}, 8080)}, four,
			[]Finding{{Path: "roles", Problem: "a 1 × (16 cpus), b 2 × (1 cpus): no way was found to place all of them at once on 2 nodes"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := CheckFit(&Plan{Backend: "local", Roles: tc.roles}, tc.nodes)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestF016MoreGPUsForOneTaskThanAnyNodeHas(t *testing.T) {
	got := CheckFit(&Plan{Roles: []Role{want("worker", 1, Resources{CPUs: 1, GPUs: 5})}}, nodes(9, Resources{CPUs: 8, GPUs: 4}))
	if d := cmp.Diff([]Finding{{Path: "roles.worker.gpus", Problem: "5 asked, the largest node has 4"}}, got); d != "" {
		t.Error(d)
	}
}

func TestF017GPUAskedOfAClusterThatHasNone(t *testing.T) {
	bare := nodes(3, Resources{CPUs: 8})
	if got := CheckFit(&Plan{Roles: []Role{want("a", 3, Resources{CPUs: 1})}}, bare); got != nil {
		t.Errorf("no GPU asked, but got %v", got)
	}
	got := CheckFit(&Plan{Roles: []Role{want("b", 1, Resources{CPUs: 1, GPUs: 1})}}, bare)
	if d := cmp.Diff([]Finding{{Path: "roles.b.gpus", Problem: "1 asked, the largest node has 0"}}, got); d != "" {
		t.Error(d)
	}
}

func TestF080MoreRanksThanGPUs(t *testing.T) {
	one := want("worker", 8, Resources{CPUs: 1, GPUs: 1})
	got := CheckFit(&Plan{Roles: []Role{one}}, nodes(1, Resources{CPUs: 64, GPUs: 4}))
	if len(got) != 1 || got[0].Warning || got[0].Path != "roles.worker.gpus" {
		t.Errorf("eight tasks with a GPU each on four GPUs: got %v, want a refusal at roles.worker.gpus", got)
	}
	_, err := Build(&spec.Job{Role: spec.Role{Command: run("true"), Procs: 8, GPUs: 4}}, nil, local, Options{})
	if err == nil {
		t.Error("eight processes of one task on its four GPUs were planned without asking to share")
	}
}

// A placement that exists is never refused: roles are cut out of full nodes, so
// that each gang fits by construction.
func TestPackFindsPlacementsThatExist(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ns []Node
		var roles []Role
		sizes := []Resources{}
		for i := range rapid.IntRange(1, 3).Draw(t, "roles") {
			sizes = append(sizes, Resources{CPUs: float64(rapid.IntRange(1, 4).Draw(t, "cpus")), GPUs: rapid.IntRange(0, 3).Draw(t, "gpus")})
			roles = append(roles, want(fmt.Sprintf("r%d", i), 0, sizes[i]))
		}
		for n := range rapid.IntRange(1, 4).Draw(t, "nodes") {
			node := Node{Name: fmt.Sprint(n)}
			for i := range roles {
				k := rapid.IntRange(0, 2).Draw(t, "here")
				roles[i].Instances.Min += k
				node.CPUs += float64(k) * sizes[i].CPUs
				node.GPUs += k * sizes[i].GPUs
			}
			ns = append(ns, node)
		}
		var asked []Role
		for _, r := range roles {
			if r.Instances.Min > 0 {
				asked = append(asked, r)
			}
		}
		for _, f := range CheckFit(&Plan{Roles: asked}, ns) {
			t.Fatalf("refused a gang that fits: %v", f)
		}
	})
}

func BenchmarkCheckFitOfAThousandNodes(b *testing.B) {
	p := &Plan{Roles: []Role{want("chief", 1, Resources{CPUs: 4}), want("worker", 8000, Resources{CPUs: 2, GPUs: 1}), want("ps", 900, Resources{CPUs: 16})}}
	ns := nodes(1000, Resources{CPUs: 32, GPUs: 8})
	for b.Loop() {
		if got := CheckFit(p, ns); got != nil {
			b.Fatal(got)
		}
	}
}
