package plain

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

func TestEveryTaskHoldsAPort(t *testing.T) {
	r := func(name string, ports map[string]int) spec.NamedRole {
		return spec.NamedRole{Name: name, Role: spec.Role{Command: spec.Command{Shell: "true"}, Ports: ports}}
	}
	p, err := plan.Build(&spec.Job{Roles: spec.Roles{
		r("bare", nil), r("own", map[string]int{"web": 0, "api": 8080})}}, Framework{}, plan.Capabilities{}, plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]plan.Port{}
	for _, r := range p.Roles {
		got[r.Name] = r.Ports
	}
	want := map[string][]plan.Port{"bare": {{Name: "main"}}, "own": {{Name: "api", Number: 8080}, {Name: "web"}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	ro := plan.Example(p)
	l, err := Framework{}.Launch(p, ro, plan.TaskID{Role: "own"})
	if err != nil {
		t.Fatal(err)
	}
	ports := map[string]string{}
	for _, name := range []string{"MUSTER_PORT", "MUSTER_PORT_API", "MUSTER_PORT_WEB"} {
		ports[name] = l.Env[name]
	}
	if d := cmp.Diff(map[string]string{"MUSTER_PORT": "8080", "MUSTER_PORT_API": "8080", "MUSTER_PORT_WEB": "40001"}, ports); d != "" {
		t.Error(d)
	}
}
