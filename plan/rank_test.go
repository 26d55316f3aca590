package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-project/muster/spec"
)

// ranked is a plan of counted roles.
func ranked(roles ...Role) *Plan {
	p := &Plan{ID: "m-aaaaaaaaaa", Roles: roles}
	for i := range p.Roles {
		p.Roles[i].Procs = max(1, p.Roles[i].Procs)
	}
	return p
}

func counted(name string, n, procs int) Role {
	return Role{Name: name, Instances: spec.Count{Min: n, Max: n}, Procs: procs, Counted: true}
}

func at(role string, index int, rack, node string) Registration {
	return Registration{Task: TaskID{role, index}, Incarnation: 1, Rack: rack, Node: node, Host: node}
}

// show prints a roster as "task rank/group/local" lines.
func show(r *Roster) []string {
	var out []string
	for _, m := range r.Members {
		out = append(out, fmt.Sprintf("%s on %s: %d %d %d", m.Task, m.Node, m.Rank, m.GroupRank, m.LocalRank))
	}
	return out
}

func TestRanksFollowRolesThenNodesThenRacks(t *testing.T) {
	p := ranked(counted("chief", 1, 1), counted("worker", 5, 2), Role{Name: "ps", Instances: spec.Count{Min: 1, Max: 1}})
	got := BuildRoster(p, 1, "start", []Registration{
		at("ps", 0, "r1", "a"),
		at("worker", 4, "r1", "b"), at("worker", 3, "r2", "c"), at("worker", 2, "r1", "a"), at("worker", 1, "r2", "d"), at("worker", 0, "r1", "a"),
		at("chief", 0, "r2", "d"),
	}, nil)
	want := []string{
		"chief/0 on d: 0 0 0",
		"worker/0 on a: 1 1 0",
		"worker/2 on a: 3 2 2",
		"worker/4 on b: 5 3 0", // rack r1 before r2, which holds no index below 1
		"worker/1 on d: 7 4 1",
		"worker/3 on c: 9 5 0",
		"ps/0 on a: -1 -1 -1",
	}
	if d := cmp.Diff(want, show(got)); d != "" {
		t.Error(d)
	}
	if got.World != 11 {
		t.Errorf("world %d, want 11", got.World)
	}
}

// F-044: rank 0 sits with task 0 of the first role in every epoch, whoever
// registers first and wherever the nodes are.
func TestF044Rank0IsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := ranked(counted("worker", 4, 1))
		var last *Roster
		for epoch := range 5 {
			present := rapid.Permutation(registrations(t, p)).Draw(t, "order of arrival")
			last = BuildRoster(p, epoch+1, "", present, last)
			if first := last.Members[0]; first.Rank != 0 || first.Task != (TaskID{"worker", 0}) {
				t.Fatalf("epoch %d: rank 0 is %v", epoch+1, first)
			}
		}
	})
}

// registrations puts every task of the plan on a drawn node of a drawn rack.
func registrations(t *rapid.T, p *Plan) []Registration {
	var out []Registration
	for _, id := range p.Tasks() {
		node := rapid.IntRange(0, 5).Draw(t, "node of "+id.String())
		out = append(out, at(id.Role, id.Index, fmt.Sprintf("rack-%d", node%2), fmt.Sprintf("node-%d", node)))
	}
	return out
}

func drawPlan(t *rapid.T) *Plan {
	var roles []Role
	for i := range rapid.IntRange(1, 3).Draw(t, "roles") {
		roles = append(roles, counted(fmt.Sprintf("r%d", i), rapid.IntRange(1, 6).Draw(t, "tasks"), rapid.IntRange(1, 3).Draw(t, "procs")))
	}
	return ranked(roles...)
}

// permutation fails unless the roster's ranks are 0 to world-1, each once, and
// so the local ranks of each node and the group ranks.
func permutation(t *rapid.T, r *Roster) {
	var all, groups []int
	local := map[string][]int{}
	for _, m := range r.Members {
		for i := range m.Procs {
			all = append(all, m.Rank+i)
			local[m.Node] = append(local[m.Node], m.LocalRank+i)
		}
		groups = append(groups, m.GroupRank)
	}
	check := func(what string, got []int) {
		slices.Sort(got)
		for i, v := range got {
			if i != v {
				t.Fatalf("%s are %v: not 0 to %d\n%v", what, got, len(got)-1, show(r))
			}
		}
	}
	check("ranks", all)
	check("group ranks", groups)
	for node, got := range local {
		check("local ranks of "+node, got)
	}
	if r.World != len(all) {
		t.Fatalf("world %d, want %d", r.World, len(all))
	}
}

func TestRanksAreAPermutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		permutation(t, BuildRoster(p, 1, "start", registrations(t, p), nil))
	})
}

func TestNeighboursOnOneNodeAreContiguousAtFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		r := BuildRoster(p, 1, "start", registrations(t, p), nil)
		for _, key := range []func(Member) string{
			func(m Member) string { return m.Task.Role },
			func(m Member) string { return m.Task.Role + " in " + m.Rack },
			func(m Member) string { return m.Task.Role + " on " + m.Node },
		} {
			seen, before := map[string]bool{}, ""
			for _, m := range r.Members {
				if k := key(m); k != before {
					if seen[k] {
						t.Fatalf("%s is torn apart: %v", k, show(r))
					}
					seen[k], before = true, k
				}
			}
		}
	})
}

// A restart of any set of tasks, on whatever nodes, leaves the others' ranks
// alone and fills the rest without a gap.
func TestSurvivorsKeepTheirRanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		last := BuildRoster(p, 1, "start", registrations(t, p), nil)
		for epoch := 2; epoch < 5; epoch++ {
			present := registrations(t, p)
			for i := range present {
				if present[i].Survivor = rapid.Bool().Draw(t, "survives"); present[i].Survivor {
					old := last.Member(present[i].Task)
					present[i].Node, present[i].Rack, present[i].Host = old.Node, old.Rack, old.Host
				}
			}
			next := BuildRoster(p, epoch, "restart", present, last)
			for _, g := range present {
				old, now := last.Member(g.Task), next.Member(g.Task)
				if g.Survivor && (now.Rank != old.Rank || now.GroupRank != old.GroupRank || now.LocalRank != old.LocalRank) {
					t.Fatalf("survivor %s went from %v to %v", g.Task, old, now)
				}
			}
			ranksOnly(t, next)
			last = next
		}
	})
}

// ranksOnly is permutation without local ranks, which have gaps where a
// survivor's neighbour moved away.
func ranksOnly(t *rapid.T, r *Roster) {
	seen := map[int]bool{}
	for _, m := range r.Members {
		for i := range m.Procs {
			seen[m.Rank+i] = true
		}
	}
	for i := range r.World {
		if !seen[i] {
			t.Fatalf("nobody has rank %d of %d: %v", i, r.World, show(r))
		}
	}
	if len(seen) != r.World {
		t.Fatalf("%d ranks in a world of %d: %v", len(seen), r.World, show(r))
	}
}

func TestAJobThatShrankKeepsItsGaps(t *testing.T) {
	p := ranked(counted("worker", 3, 1))
	all := []Registration{at("worker", 0, "", "a"), at("worker", 1, "", "a"), at("worker", 2, "", "a")}
	last := BuildRoster(p, 1, "start", all, nil)
	rest := []Registration{all[0], all[2]}
	rest[1].Survivor = true
	got := BuildRoster(p, 2, "worker/1 lost", rest, last)
	want := []string{"worker/0 on a: 0 0 0", "worker/2 on a: 2 2 2"}
	if d := cmp.Diff(want, show(got)); d != "" {
		t.Error(d)
	}
	if got.World != 3 {
		t.Errorf("world %d, want 3: rank 2 lives", got.World)
	}
	// Once everybody starts anew, ranks close up.
	rest[1].Survivor = false
	got = BuildRoster(p, 3, "restart", rest, got)
	if d := cmp.Diff([]string{"worker/0 on a: 0 0 0", "worker/2 on a: 1 1 1"}, show(got)); d != "" || got.World != 2 {
		t.Errorf("world %d\n%s", got.World, d)
	}
}

func TestEachStageHasRanksOfItsOwn(t *testing.T) {
	train := counted("train", 2, 1)
	train.Stage = 1
	p := ranked(counted("fetch", 3, 1), train)
	fetch := []Registration{at("fetch", 0, "", "a"), at("fetch", 1, "", "a"), at("fetch", 2, "", "b")}
	first := BuildRoster(p, 1, "start", fetch, nil)
	if first.World != 3 || peers(first, p, "fetch") != 3 || peers(first, p, "train") != 0 {
		t.Errorf("stage 0: world %d, %v", first.World, show(first))
	}
	for i := range fetch {
		fetch[i].Survivor = true
	}
	second := BuildRoster(p, 2, "stage 1", append(fetch, at("train", 0, "", "a"), at("train", 1, "", "b")), first)
	want := []string{
		"fetch/0 on a: 0 0 0", "fetch/1 on a: 1 1 1", "fetch/2 on b: 2 2 0",
		"train/0 on a: 0 0 0", "train/1 on b: 1 1 0",
	}
	if d := cmp.Diff(want, show(second)); d != "" {
		t.Error(d)
	}
	if n := second.WorldOf(p, "train"); second.World != 2 || n != 2 {
		t.Errorf("world %d, of train %d; want 2", second.World, n)
	}
	if n := second.WorldOf(p, "fetch"); n != 3 {
		t.Errorf("world of fetch %d, want 3", n)
	}
}

func peers(r *Roster, p *Plan, role string) int {
	n := 0
	for range r.Peers(p, role) {
		n++
	}
	return n
}
