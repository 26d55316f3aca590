package horovod

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/framework/frameworktest"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

var (
	role   = frameworktest.Role
	roster = frameworktest.Roster
	seen   = frameworktest.Seen
)

func try(roles ...spec.NamedRole) (*plan.Plan, error) {
	return frameworktest.Try(Framework{}, roles...)
}

func build(t *testing.T, roles ...spec.NamedRole) *plan.Plan {
	t.Helper()
	return frameworktest.Build(t, Framework{}, roles...)
}

func launch(t *testing.T, p *plan.Plan, r *plan.Roster, role string, index int) plan.Launch {
	t.Helper()
	return frameworktest.Launch(t, Framework{}, p, r, plan.TaskID{Role: role, Index: index}.String())
}

func TestTheVariablesOfAProcess(t *testing.T) {
	p := build(t, role("worker", 3, 2))
	l := launch(t, p, roster(p), "worker", 2)
	want := map[string]string{
		"HOROVOD_CONTROLLER": "gloo", "HOROVOD_CPU_OPERATIONS": "gloo",
		"HOROVOD_GLOO_RENDEZVOUS_ADDR": "10.0.0.0", "HOROVOD_GLOO_RENDEZVOUS_PORT": "40000",
		"HOROVOD_HOSTNAME": "worker-2", "HOROVOD_RANK": "5", "HOROVOD_SIZE": "6",
		"HOROVOD_LOCAL_RANK": "1", "HOROVOD_LOCAL_SIZE": "2", "HOROVOD_CROSS_RANK": "2", "HOROVOD_CROSS_SIZE": "3",
		"HOROVOD_GLOO_IFACE": "${muster.iface}", "HOROVOD_GLOO_TIMEOUT_SECONDS": "300", "OMP_NUM_THREADS": "1",
	}
	if d := cmp.Diff(want, seen(l, 1)); d != "" {
		t.Error(d)
	}
	if len(l.Procs) != 2 || l.Default["HOROVOD_GLOO_IFACE"] == "" || l.Default["HOROVOD_GLOO_TIMEOUT_SECONDS"] == "" {
		t.Errorf("%d processes; defaults %v", len(l.Procs), l.Default)
	}
	if port, ok := l.Env["MUSTER_PORT"]; ok {
		t.Errorf("MUSTER_PORT is %s, but the store is not the task's to listen on", port)
	}
	if l.Env["MUSTER_PORT_STORE"] != "40020" {
		t.Errorf("MUSTER_PORT_STORE %q", l.Env["MUSTER_PORT_STORE"])
	}
	if d := cmp.Diff([]plan.Port{{Name: Port, Store: true}}, p.Roles[0].Ports); d != "" {
		t.Error(d)
	}
}

// What Horovod checks when it starts: within a host local ranks are 0 to
// size-1, and all ranks of one local rank are the cross ranks, each once.
func TestRanksAreThoseOfHostsThatAreTasks(t *testing.T) {
	p := build(t, role("chief", 1, 1), role("worker", 2, 3))
	r := roster(p)
	var got []string
	for _, id := range p.Tasks() {
		l := launch(t, p, r, id.Role, id.Index)
		for proc := range l.Procs {
			e := seen(l, proc)
			got = append(got, strings.Join([]string{e["HOROVOD_HOSTNAME"], e["HOROVOD_RANK"], "of", e["HOROVOD_SIZE"],
				"local", e["HOROVOD_LOCAL_RANK"], "of", e["HOROVOD_LOCAL_SIZE"], "cross", e["HOROVOD_CROSS_RANK"], "of", e["HOROVOD_CROSS_SIZE"]}, " "))
		}
	}
	want := []string{
		"chief-0 0 of 7 local 0 of 1 cross 0 of 3",
		"worker-0 1 of 7 local 0 of 3 cross 1 of 3", "worker-0 2 of 7 local 1 of 3 cross 0 of 2", "worker-0 3 of 7 local 2 of 3 cross 0 of 2",
		"worker-1 4 of 7 local 0 of 3 cross 2 of 3", "worker-1 5 of 7 local 1 of 3 cross 1 of 2", "worker-1 6 of 7 local 2 of 3 cross 1 of 2",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTheHostsOfAnEpochArePrinted(t *testing.T) {
	p := build(t, role("worker", 3, 2), role("tensorboard", 1, 1))
	r := roster(p)
	script := launch(t, p, r, "worker", 0).Files[DiscoverHosts]
	out, err := exec.Command("/bin/sh", "-c", string(script)).Output()
	if err != nil || string(out) != "10.0.0.0:4\n10.0.0.1:2\n" || !strings.HasPrefix(string(script), "#!") {
		t.Errorf("%s, %v, from %q", out, err, script)
	}
	if _, ok := launch(t, p, r, "worker", 1).Files[DiscoverHosts]; ok {
		t.Error("what grows with the job is sent to everybody")
	}
}

func TestAnAuthorsPortIsTheStores(t *testing.T) {
	w := role("worker", 1, 1)
	w.Ports = map[string]int{"store": 29400, "web": 0}
	p := build(t, w)
	if d := cmp.Diff([]plan.Port{{Name: "store", Number: 29400, Store: true}, {Name: "web"}}, p.Roles[0].Ports); d != "" {
		t.Error(d)
	}
	if l := launch(t, p, roster(p), "worker", 0); l.Env["MUSTER_PORT"] != "40001" {
		t.Errorf("MUSTER_PORT %q, want that of web", l.Env["MUSTER_PORT"])
	}
}

func TestRanksThatNeedEachOtherEndTogether(t *testing.T) {
	p := build(t, role("chief", 1, 1), role("worker", 2, 1), role("tensorboard", 1, 1))
	for _, r := range p.Roles[:2] {
		if r.OnFailure != spec.FailureStop || r.RestartScope != spec.ScopeJob {
			t.Errorf("%s: %s, %s", r.Name, r.OnFailure, r.RestartScope)
		}
	}
	l := launch(t, p, roster(p), "tensorboard", 0)
	if e := seen(l, 0); len(e) != 0 || l.Env["MUSTER_PORT"] == "" {
		t.Errorf("tensorboard sees %v", e)
	}
}

func TestReservedVariablesAreTold(t *testing.T) {
	w := role("worker", 1, 1)
	w.Env = map[string]spec.EnvValue{"HOROVOD_RANK": {Value: "9"}, "HOROVOD_GLOO_IFACE": {Value: "ib0"}, "HOROVOD_TIMELINE": {Value: "t.json"}}
	p := build(t, w)
	want := []string{"roles.worker.env.HOROVOD_RANK: reserved: muster sets it for every horovod task, the value written here is not used"}
	if d := cmp.Diff(want, p.Warnings); d != "" {
		t.Error(d)
	}
	if e := seen(launch(t, p, roster(p), "worker", 0), 0); e["HOROVOD_RANK"] != "0" || e["HOROVOD_GLOO_IFACE"] != "ib0" || e["HOROVOD_TIMELINE"] != "t.json" {
		t.Errorf("%v", e)
	}
	// Every variable that is set is one that the plan warns of.
	l := launch(t, p, roster(p), "worker", 0)
	for _, name := range slices.Sorted(maps.Keys(l.Procs[0])) {
		if strings.HasPrefix(name, "HOROVOD_") && !reserved(name) {
			t.Errorf("%s is set, but not reserved", name)
		}
	}
}

func TestWhatCannotMeetIsRefused(t *testing.T) {
	if _, err := try(role("worker", 700, 2)); err != nil {
		t.Errorf("1400 ranks: %v", err)
	}
	after := role("worker", 700, 2)
	after.After = []spec.After{{Role: "first", Is: spec.Succeeded}}
	if _, err := try(role("first", 700, 2), after); err != nil {
		t.Errorf("1400 ranks in each of two stages: %v", err)
	}
	_, err := try(role("worker", 701, 2))
	want := "roles.worker.instances: 1402 ranks: gloo connects every pair of them, and at most 1400 can meet\n" +
		"    use Horovod's MPI controller under framework: mpi"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestAWaitThatNoPortEndsIsTold(t *testing.T) {
	late := role("late", 1, 1)
	late.After = []spec.After{{Role: "worker", Is: spec.Ready}}
	want := []string{"roles.late.after: not every task of worker listens on its first port: they are ready once they create the file $MUSTER_READY_FILE"}
	if d := cmp.Diff(want, build(t, role("worker", 1, 1), late).Warnings); d != "" {
		t.Error(d)
	}
	web := role("worker", 1, 1)
	web.Ports = map[string]int{"web": 0}
	if w := build(t, web, late).Warnings; w != nil {
		t.Errorf("it listens on its own port, but got %q", w)
	}
}

func TestARosterThatDoesNotFitThePlanIsAnError(t *testing.T) {
	p := build(t, role("worker", 1, 1))
	r := roster(p)
	delete(r.Members[0].Ports, Port)
	_, err := Framework{}.Launch(p, r, plan.TaskID{Role: "worker"})
	if want := `worker/0: port "store": missing in the roster of epoch 1`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
