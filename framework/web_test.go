package framework_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

func TestWhatPeopleLookAtIsMadeKnown(t *testing.T) {
	own := spec.Role{Command: spec.Command{Argv: []string{"jupyter", "lab"}}}
	named := spec.Role{Env: map[string]spec.EnvValue{"JUPYTER_TOKEN": {Value: "mine"}}}
	type known struct{ Publish, Token, Host string }
	for name, tc := range map[string]struct {
		role spec.NamedRole
		want known
	}{
		"tensorboard":              {spec.NamedRole{Name: "tensorboard"}, known{"http://n:7/", "", "n"}},
		"notebook":                 {spec.NamedRole{Name: "notebook"}, known{"http://n:7/?token=${muster.secret}", "${muster.secret}", "n"}},
		"notebook, own command":    {spec.NamedRole{Name: "notebook", Role: own}, known{"http://n:7/", "", "n"}},
		"notebook, its own token":  {spec.NamedRole{Name: "notebook", Role: named}, known{"http://n:7/", "mine", "n"}},
		"a role with another name": {spec.NamedRole{Name: "board", Role: own}, known{}},
	} {
		worker := spec.NamedRole{Name: "worker", Role: own}
		p := build(t, &spec.Job{Roles: spec.Roles{worker, tc.role}})
		id := plan.TaskID{Role: tc.role.Name}
		r := plan.BuildRoster(p, 1, "start", []plan.Registration{
			{Task: plan.TaskID{Role: "worker"}, Incarnation: 1, Node: "m", Host: "m", Ports: map[string]int{"main": 1}},
			{Task: id, Incarnation: 1, Node: "n", Host: "n", Ports: map[string]int{"main": 7}}}, nil)
		l := common(t, p, r, id)
		got := known{l.Publish[tc.role.Name], l.Env["JUPYTER_TOKEN"], l.Env["MUSTER_HOST"]}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
