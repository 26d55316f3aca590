package ray

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/framework/frameworktest"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

func role(name string, least, most int, command string) spec.NamedRole {
	return spec.NamedRole{Name: name, Role: spec.Role{
		Command: spec.Command{Shell: command}, Instances: spec.Count{Min: least, Max: most}}}
}

func try(roles ...spec.NamedRole) (*plan.Plan, error) {
	return frameworktest.Try(Framework{}, roles...)
}

func build(t *testing.T, roles ...spec.NamedRole) *plan.Plan {
	t.Helper()
	return frameworktest.Build(t, Framework{}, roles...)
}

var roster = frameworktest.Roster

func launch(t *testing.T, p *plan.Plan, r *plan.Roster, role string, index int) plan.Launch {
	t.Helper()
	return frameworktest.Launch(t, Framework{}, p, r, plan.TaskID{Role: role, Index: index}.String())
}

// shape is what a job's roles have become.
func shape(p *plan.Plan) []string {
	var out []string
	for _, r := range p.Roles {
		out = append(out, fmt.Sprintf("%s %d..%d %s: ends %t, wait %t, %s %d %s", r.Name, r.Instances.Min, r.Instances.Max, r.Command.Shell,
			r.EndsJob, r.Wait, r.OnFailure, r.Restarts, r.RestartScope))
	}
	return out
}

const (
	theHead   = "head 1..1 python driver.py: ends true, wait true, stop 0 job"
	ofWorkers = " python driver.py: ends false, wait false, restart 3 task"
)

func TestOneOfTheTasksIsTheHead(t *testing.T) {
	for name, tc := range map[string]struct {
		roles []spec.NamedRole
		want  []string
	}{
		"three nodes":      {[]spec.NamedRole{role("worker", 3, 3, "python driver.py")}, []string{theHead, "worker 2..2" + ofWorkers}},
		"a range":          {[]spec.NamedRole{role("worker", 2, 5, "python driver.py")}, []string{theHead, "worker 1..4" + ofWorkers}},
		"one node":         {[]spec.NamedRole{role("task", 1, 1, "python driver.py")}, []string{theHead}},
		"a head of theirs": {[]spec.NamedRole{role("worker", 2, 2, "python driver.py"), role("head", 1, 1, "python driver.py")}, []string{"worker 2..2" + ofWorkers, theHead}},
		"two kinds": {[]spec.NamedRole{role("gpu", 2, 2, "python driver.py"), role("cpu", 3, 3, "python driver.py")},
			[]string{theHead, "gpu 1..1" + ofWorkers, "cpu 3..3" + ofWorkers}},
	} {
		if d := cmp.Diff(tc.want, shape(build(t, tc.roles...))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestWhatTheAuthorWroteStays(t *testing.T) {
	one, yes := 1, true
	worker := role("worker", 2, 2, "python driver.py")
	worker.Restarts, worker.Wait, worker.RestartScope = &one, &yes, spec.ScopeRole
	head := role("head", 1, 1, "python driver.py")
	head.Restarts = &one
	want := []string{
		"head 1..1 python driver.py: ends true, wait true, restart 1 job",
		"worker 2..2 python driver.py: ends false, wait true, restart 1 role",
	}
	if d := cmp.Diff(want, shape(build(t, head, worker))); d != "" {
		t.Error(d)
	}
}

func TestWhoWaitedForTheOneTaskWaitsForTheHead(t *testing.T) {
	late := role("tensorboard", 1, 1, "true")
	late.After = []spec.After{{Role: "task", Is: spec.Ready}}
	p := build(t, role("task", 1, 1, "true"), late)
	if d := cmp.Diff([]spec.After{{Role: Head, Is: spec.Ready}}, p.Role("tensorboard").After); d != "" {
		t.Error(d)
	}
}

func TestTheLineOfTheHead(t *testing.T) {
	w := role("worker", 2, 2, "python driver.py --rows 3")
	w.CPUs, w.Memory, w.GPUs = 4.5, 10<<30, 1
	p := build(t, w)
	l := launch(t, p, roster(p), Head, 0)
	want := []string{
		"bash", "${muster.dir}/ray.sh", "head", "--disable-usage-stats", "--dashboard-host=10.0.0.0", "--node-ip-address=10.0.0.0",
		"--node-manager-port=40000", "--object-manager-port=40001", "--dashboard-agent-grpc-port=40002",
		"--dashboard-agent-listen-port=40003", "--runtime-env-agent-port=40004", "--metrics-export-port=40005",
		"--port=40006", "--dashboard-port=40007", "--ray-client-server-port=40008",
		"--num-cpus=4", "--num-gpus=1", "--object-store-memory=3221225472", "--memory=7516192768",
		"--", "bash", "-c", "python driver.py --rows 3",
	}
	if d := cmp.Diff(want, l.Argv); d != "" {
		t.Error(d)
	}
	if l.Env["RAY_ADDRESS"] != "10.0.0.0:40006" || l.Env["MUSTER_PORT"] != "40000" || !strings.HasPrefix(string(l.Files["ray.sh"]), "#!") {
		t.Errorf("%v", l.Env)
	}
	if d := cmp.Diff(map[string]string{"dashboard": "http://10.0.0.0:40007", "ray": "ray://10.0.0.0:40008"}, l.Publish); d != "" {
		t.Error(d)
	}
}

func TestTheLineOfAWorker(t *testing.T) {
	w := role("worker", 3, 3, "python driver.py")
	w.CPUs, w.Memory = 0.5, 100<<20
	p := build(t, w)
	l := launch(t, p, roster(p), "worker", 1)
	want := []string{
		"bash", "${muster.dir}/ray.sh", "worker", "--address=10.0.0.0:40006", "--node-ip-address=10.0.0.1",
		"--node-manager-port=40020", "--object-manager-port=40021", "--dashboard-agent-grpc-port=40022",
		"--dashboard-agent-listen-port=40023", "--runtime-env-agent-port=40024", "--metrics-export-port=40025",
		"--num-cpus=1", "--num-gpus=0", "--object-store-memory=78643200", "--memory=26214400",
		"--", "bash", "-c", "python driver.py",
	}
	if d := cmp.Diff(want, l.Argv); d != "" {
		t.Error(d)
	}
	if l.Env["RAY_ADDRESS"] != "10.0.0.0:40006" || l.Publish != nil {
		t.Errorf("%v, published %v", l.Env, l.Publish)
	}
}

func TestMemoryThatNobodyLimitsIsRaysToChoose(t *testing.T) {
	p := build(t, role("worker", 2, 2, "true"))
	l := launch(t, p, roster(p), "worker", 0)
	if i := slices.IndexFunc(l.Argv, func(a string) bool { return strings.Contains(a, "memory=") }); i >= 0 {
		t.Errorf("%s", l.Argv[i])
	}
}

func TestADashboardThatIsOffIsNotPublished(t *testing.T) {
	for _, args := range []string{"--include-dashboard=false", "--num-cpus=0 --include-dashboard false"} {
		w := role("worker", 2, 2, "true")
		w.Env = map[string]spec.EnvValue{"RAY_HEAD_ARGS": {Value: args}}
		p := build(t, w)
		if l := launch(t, p, roster(p), Head, 0); l.Publish["dashboard"] != "" || l.Publish["ray"] == "" {
			t.Errorf("%s: %v", args, l.Publish)
		}
	}
}

func TestAnAuthorsPortsAreRays(t *testing.T) {
	head := role("head", 1, 1, "true")
	head.Ports = map[string]int{"gcs": 6379, "dashboard": 8265, "web": 0}
	p := build(t, head)
	var got []string
	for _, port := range p.Roles[0].Ports {
		got = append(got, fmt.Sprint(port.Name, " ", port.Number))
	}
	want := []string{"node 0", "object 0", "agent 0", "agent-http 0", "runtime-env 0", "metrics 0", "dashboard 8265", "gcs 6379", "web 0", "client 0"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestWorkersWaitForTheHead(t *testing.T) {
	p := build(t, role("worker", 2, 2, "true"), role("tensorboard", 1, 1, "true"))
	r := roster(p)
	running := map[plan.TaskID]bool{}
	ask := func(role string) string {
		ok, waits := Framework{}.Ready(p, r, plan.TaskID{Role: role}, func(id plan.TaskID) bool { return running[id] })
		return fmt.Sprint(ok, " ", waits)
	}
	got := []string{ask(Head), ask("worker"), ask("tensorboard")}
	running[plan.TaskID{Role: Head}] = true
	got = append(got, ask("worker"))
	if d := cmp.Diff([]string{"true ", "false head/0", "true ", "true "}, got); d != "" {
		t.Error(d)
	}
	if l := launch(t, p, r, "tensorboard", 0); l.Argv[2] != "true" || l.Env["RAY_ADDRESS"] == "" || l.Env["MUSTER_PORT"] == "" {
		t.Errorf("tensorboard: %v, %v", l.Argv, l.Env)
	}
}

func TestWhatIsNoClusterIsRefused(t *testing.T) {
	procs := role("worker", 2, 2, "true")
	procs.Procs = 4
	late := role("worker", 2, 2, "true")
	late.After = []spec.After{{Role: "prep", Is: spec.Succeeded}}
	for want, roles := range map[string][]spec.NamedRole{
		"roles.head.instances: 2 heads: a cluster has one\n    the others are workers: add a role worker": {role("head", 2, 2, "true")},
		"roles.worker.instances: one task is the head, so at least 2 make a head and a worker\n" +
			"    write instances: 2..4, or a role head of its own": {role("worker", 1, 4, "true")},
		"roles.head.procs: 4: a task is one node of Ray, which starts its own processes\n" +
			"    cpus says how many tasks of Ray run on a node at once\n" +
			"roles.worker.procs: 4: a task is one node of Ray, which starts its own processes\n" +
			"    cpus says how many tasks of Ray run on a node at once": {procs},
		"roles.worker.after: prep and worker would be nodes of one cluster of Ray, which start together\n" +
			"    let the driver do one after the other, or make two jobs of it": {role("prep", 1, 1, "true"), late},
	} {
		if _, err := try(roles...); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func TestWhatIsNotUsedIsTold(t *testing.T) {
	worker := role("worker", 2, 2, "sleep 10")
	worker.Env = map[string]spec.EnvValue{"RAY_ADDRESS": {Value: "auto"}}
	want := []string{
		"roles.worker.command: not run: its tasks are nodes of Ray, and the driver is the command of head",
		"roles.worker.env.RAY_ADDRESS: reserved: muster sets it for every ray task, the value written here is not used",
	}
	if d := cmp.Diff(want, build(t, role("head", 1, 1, "python driver.py"), worker).Warnings); d != "" {
		t.Error(d)
	}
}

func TestARosterWithoutItsHeadIsAnError(t *testing.T) {
	p := build(t, role("worker", 2, 2, "true"))
	r := roster(p)
	r.Members, r.Index = r.Members[1:], nil
	_, err := Framework{}.Launch(p, r, plan.TaskID{Role: "worker"})
	if want := "worker/0: there is no head in epoch 1"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
