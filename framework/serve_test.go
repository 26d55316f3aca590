package framework_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/framework/frameworktest"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// serving is a framework in which the role called server serves the one called
// worker, and every process has a port.
type serving struct{}

func (serving) Name() string { return "serving" }

func (serving) Prepare(d *plan.Draft) {
	if r := d.Plan.Role("server"); r != nil {
		framework.Serve(d, r, d.Plan.Role("worker"))
	}
	for i := range d.Plan.Roles {
		framework.AddPorts(&d.Plan.Roles[i], "own", d.Plan.Roles[i].Name == "server")
	}
	framework.CheckReady(d, func(r *plan.Role) bool { return r.Name == "worker" })
}

func (serving) Launch(*plan.Plan, *plan.Roster, plan.TaskID) (plan.Launch, error) {
	return plan.Launch{}, nil
}

func TestARoleThatServesIsOfTheStageOfThoseItServes(t *testing.T) {
	fetch, worker, server := frameworktest.Role("fetch", 1, 1), frameworktest.Role("worker", 1, 1), frameworktest.Role("server", 1, 1)
	p := frameworktest.Build(t, serving{}, fetch, frameworktest.After(worker, "fetch"), server)
	if r := p.Role("server"); r.Stage != 1 || r.Wait || r.Counted || r.OnFailure != spec.FailureStop || r.RestartScope != spec.ScopeJob {
		t.Errorf("%+v", r)
	}
	// What is written holds: another stage, and being waited for.
	server.After = []spec.After{{Role: "fetch", Is: spec.Started}}
	report := frameworktest.After(frameworktest.Role("report", 1, 1), "server")
	p = frameworktest.Build(t, serving{}, fetch, frameworktest.After(worker, "fetch"), server, report)
	if r := p.Role("server"); r.Stage != 0 || !r.Wait {
		t.Errorf("%+v", r)
	}
}

func TestEveryProcessHasAPort(t *testing.T) {
	worker, server := frameworktest.Role("worker", 1, 3), frameworktest.Role("server", 1, 2)
	worker.Ports, server.Ports = map[string]int{"web": 0, "own-1": 7001}, map[string]int{"web": 0}
	p := frameworktest.Build(t, serving{}, worker, server)
	want := []string{
		"worker: stop task wait ranks, ports own-1 web own own-2",
		"server: stop job, ports own web own-1",
	}
	if d := cmp.Diff(want, frameworktest.Policies(p)); d != "" {
		t.Error(d)
	}
	m := &plan.Member{Task: plan.TaskID{Role: "worker"}, Host: "fd00::1", Procs: 3, Ports: map[string]int{"own": 1, "own-1": 2, "own-2": 3}}
	got, err := framework.Endpoints([]*plan.Member{m}, "own")
	if d := cmp.Diff([]string{"[fd00::1]:1", "[fd00::1]:2", "[fd00::1]:3"}, got); d != "" || err != nil {
		t.Error(err, d)
	}
	delete(m.Ports, "own-2")
	if _, err := framework.Endpoints([]*plan.Member{m}, "own"); err == nil || err.Error() != `worker/0: port "own-2": missing in the roster` {
		t.Errorf("got %v", err)
	}
}

func TestDevicesAreSharedOutInOrder(t *testing.T) {
	for gpus, want := range map[int]string{0: "[] [] []", 3: "[0] [1] [2]", 7: "[0 1] [2 3] [4 5 6]"} {
		role, m := &plan.Role{Resources: plan.Resources{GPUs: gpus}}, &plan.Member{Procs: 3}
		got := fmt.Sprint(framework.Devices(role, m, 0), " ", framework.Devices(role, m, 1), " ", framework.Devices(role, m, 2))
		if got != want {
			t.Errorf("%d devices: %s, want %s", gpus, got, want)
		}
	}
}

func TestAWaitThatNoPortEndsIsTold(t *testing.T) {
	late := frameworktest.Role("late", 1, 1)
	late.After = []spec.After{{Role: "worker", Is: spec.Ready}, {Role: "server", Is: spec.Ready}}
	p := frameworktest.Build(t, serving{}, frameworktest.Role("worker", 1, 1), frameworktest.Role("server", 1, 1), late)
	want := []string{"roles.late.after: not every task of worker listens on its first port: they are ready once they create the file $MUSTER_READY_FILE"}
	if d := cmp.Diff(want, p.Warnings); d != "" {
		t.Error(d)
	}
}
