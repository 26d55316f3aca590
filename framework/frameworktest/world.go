// Package frameworktest is the world of a framework's tests: roles come in; a
// plan, a made-up roster and what a process of a task sees go out.
package frameworktest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// Role is a role of n tasks that each run procs processes of "python train.py".
func Role(name string, n, procs int) spec.NamedRole {
	return spec.NamedRole{Name: name, Role: spec.Role{
		Command: spec.Command{Shell: "python train.py"}, Procs: procs, Instances: spec.Count{Min: n, Max: n}}}
}

// After makes a role wait until others have succeeded.
func After(r spec.NamedRole, others ...string) spec.NamedRole {
	for _, o := range others {
		r.After = append(r.After, spec.After{Role: o, Is: spec.Succeeded})
	}
	return r
}

// Try plans a job of roles.
func Try(f framework.Framework, roles ...spec.NamedRole) (*plan.Plan, error) {
	return plan.Build(&spec.Job{Roles: roles}, f, plan.Capabilities{}, plan.Options{ID: "m-aaaaaaaaaa"})
}

// Build plans a job of roles that cannot be wrong.
func Build(t testing.TB, f framework.Framework, roles ...spec.NamedRole) *plan.Plan {
	t.Helper()
	p, err := Try(f, roles...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Present is every task of a plan: two on each of 10.0.0.0, 10.0.0.1 and so on,
// with the ports 40000, 40001 and so on, those of the next task 10 higher.
func Present(p *plan.Plan) []plan.Registration {
	var out []plan.Registration
	for i, id := range p.Tasks() {
		host := fmt.Sprintf("10.0.0.%d", i/2)
		ports := map[string]int{}
		for n, port := range p.Role(id.Role).Ports {
			ports[port.Name] = 40000 + 10*i + n
		}
		out = append(out, plan.Registration{Task: id, Incarnation: 1, Node: host, Host: host, Ports: ports})
	}
	return out
}

// Roster is the first roster of a plan whose tasks are all present.
func Roster(p *plan.Plan) *plan.Roster { return plan.BuildRoster(p, 1, "start", Present(p), nil) }

// Launch is what a task, written as in "worker/1", is told.
func Launch(t testing.TB, f framework.Framework, p *plan.Plan, r *plan.Roster, task string) plan.Launch {
	t.Helper()
	var id plan.TaskID
	if err := id.UnmarshalText([]byte(task)); err != nil {
		t.Fatal(err)
	}
	l, err := f.Launch(p, r, id)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Seen is what a process of a launch sees, but for what every task sees.
func Seen(l plan.Launch, proc int) map[string]string {
	out := map[string]string{}
	for _, env := range []map[string]string{l.Default, l.Env, l.Procs[proc]} {
		for name, v := range env {
			if !strings.HasPrefix(name, "MUSTER_") {
				out[name] = v
			}
		}
	}
	return out
}

// Policies says of each role what it means to the job: "worker: stop job wait
// ranks, ports main".
func Policies(p *plan.Plan) []string {
	var out []string
	for _, r := range p.Roles {
		line := fmt.Sprintf("%s: %s %s", r.Name, r.OnFailure, r.RestartScope)
		if r.Wait {
			line += " wait"
		}
		if r.EndsJob {
			line += " ends"
		}
		if r.Counted {
			line += " ranks"
		}
		line += ", ports"
		for _, port := range r.Ports {
			line += " " + port.Name
		}
		out = append(out, line)
	}
	return out
}
