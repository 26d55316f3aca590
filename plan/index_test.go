package plan

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-project/muster/spec"
)

// An index answers what looking at all members gives.
func TestAnIndexSaysWhatItsRosterSays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := &Plan{ID: "m-test"}
		for i := range rapid.IntRange(1, 3).Draw(rt, "roles") {
			n := rapid.IntRange(1, 6).Draw(rt, "tasks")
			p.Roles = append(p.Roles, Role{Name: fmt.Sprintf("r%d", i), Instances: spec.Count{Min: n, Max: n},
				Procs: rapid.IntRange(1, 3).Draw(rt, "procs"), Counted: rapid.Bool().Draw(rt, "counted"),
				Stage: rapid.IntRange(0, 1).Draw(rt, "stage")})
		}
		var present []Registration
		for _, id := range p.Tasks() {
			if rapid.IntRange(0, 4).Draw(rt, "absent") > 0 {
				present = append(present, Registration{Task: id, Node: fmt.Sprintf("n%d", rapid.IntRange(0, 2).Draw(rt, "node"))})
			}
		}
		with := BuildRoster(p, 1, "start", present, nil)
		without := *with
		without.Index = nil
		for _, id := range append(p.Tasks(), TaskID{Role: "stranger"}) {
			checkStanding(t, p, with, &without, id)
		}
	})
}

func checkStanding(t testing.TB, p *Plan, with, without *Roster, id TaskID) {
	t.Helper()
	if d := cmp.Diff(without.Member(id), with.Member(id)); d != "" {
		t.Fatalf("%s: another member (-scan +index):\n%s", id, d)
	}
	var want Peerage
	world, tasks, own := -1, 0, without.Member(id)
	for m := range without.Peers(p, id.Role) {
		world = max(world, m.Rank+m.Procs)
		if own == nil {
			continue
		}
		want.Groups = max(want.Groups, m.GroupRank+1)
		if m.Task.Role == id.Role {
			want.RoleWorld += m.Procs
			if m.Rank < own.Rank {
				want.RoleRank += m.Procs
			}
		}
	}
	if world < 0 {
		world = without.World
	}
	for _, m := range without.Members {
		if m.Task.Role == id.Role {
			tasks++
		}
	}
	if got := with.WorldOf(p, id.Role); got != world {
		t.Fatalf("%s: world of %d, want %d", id, got, world)
	}
	if got := with.Tasks(p)[id.Role]; got != tasks {
		t.Fatalf("%s: %d tasks, want %d", id, got, tasks)
	}
	if got := with.Peerage(p, id); got != want {
		t.Fatalf("%s: stands at %+v, want %+v", id, got, want)
	}
	if own != nil {
		for _, i := range with.OnNode(p, own.Node) {
			if with.Members[i].Node != own.Node {
				t.Fatalf("%s: %s is not on its node", id, with.Members[i].Task)
			}
		}
	}
}
