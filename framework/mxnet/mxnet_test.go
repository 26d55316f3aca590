package mxnet

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/framework/frameworktest"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// shared are the variables that all tasks of the job in
// TestTheVariablesOfEachPart have in common.
func shared(role, host string) map[string]string {
	return map[string]string{
		"DMLC_ROLE": role, "DMLC_PS_ROOT_URI": "10.0.0.3", "DMLC_PS_ROOT_PORT": "40060", "DMLC_LOCAL": "0",
		"DMLC_NUM_SERVER": "3", "DMLC_NUM_WORKER": "4", "DMLC_NODE_HOST": host,
	}
}

func TestTheVariablesOfEachPart(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, frameworktest.Role("worker", 2, 2), frameworktest.Role("server", 3, 1),
		frameworktest.Role("tensorboard", 1, 1), frameworktest.Role("scheduler", 1, 1))
	r := frameworktest.Roster(p)
	for _, tc := range []struct {
		task string
		proc int
		role string
		host string
		own  map[string]string
	}{
		{"worker/0", 0, "worker", "10.0.0.0", map[string]string{"DMLC_WORKER_ID": "0", "PORT": "40000"}},
		{"worker/1", 1, "worker", "10.0.0.0", map[string]string{"DMLC_WORKER_ID": "3", "PORT": "40011"}},
		{"server/0", 0, "server", "10.0.0.1", map[string]string{"DMLC_SERVER_ID": "0", "PORT": "40020"}},
		{"server/2", 0, "server", "10.0.0.2", map[string]string{"DMLC_SERVER_ID": "2", "PORT": "40040"}},
		{"scheduler/0", 0, "scheduler", "10.0.0.3", nil},
	} {
		want := shared(tc.role, tc.host)
		maps.Copy(want, tc.own)
		if d := cmp.Diff(want, frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, r, tc.task), tc.proc)); d != "" {
			t.Errorf("%s.%d: %s", tc.task, tc.proc, d)
		}
	}
	if e := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, r, "tensorboard/0"), 0); len(e) != 0 {
		t.Errorf("tensorboard sees %v", e)
	}
}

func TestSchedulerAndServerAreAddedWhenMissing(t *testing.T) {
	w := frameworktest.Role("worker", 2, 1)
	w.Env = map[string]spec.EnvValue{"OMP_NUM_THREADS": {Value: "1"}}
	p := frameworktest.Build(t, Framework{}, w, frameworktest.Role("evaluator", 1, 1))
	want := []string{
		"worker: stop job wait ranks, ports ps",
		"evaluator: tolerate task, ports main",
		"server: stop job, ports ps",
		"scheduler: stop job, ports ps",
	}
	if d := cmp.Diff(want, frameworktest.Policies(p)); d != "" {
		t.Error(d)
	}
	for _, name := range []string{"server", "scheduler"} {
		r := p.Role(name)
		if r.Command.Shell != "python train.py" || r.Env["OMP_NUM_THREADS"].Value != "1" || r.Instances != (spec.Count{Min: 1, Max: 1}) || r.StopGrace == 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if cpus := p.Role("scheduler").Resources.CPUs; cpus != schedulerCPUs {
		t.Errorf("the scheduler has %g processors", cpus)
	}
}

func TestPSIsAnotherWordForServer(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, frameworktest.Role("ps", 2, 1), frameworktest.Role("chief", 1, 1), frameworktest.Role("worker", 2, 1))
	want := []string{
		"chief: stop job wait ends ranks, ports ps",
		"ps: stop job, ports ps",
		"worker: stop job wait ranks, ports ps",
		"scheduler: stop job, ports ps",
	}
	if d := cmp.Diff(want, frameworktest.Policies(p)); d != "" {
		t.Error(d)
	}
	e := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, frameworktest.Roster(p), "ps/1"), 0)
	if e["DMLC_ROLE"] != "server" || e["DMLC_SERVER_ID"] != "1" || e["DMLC_NUM_SERVER"] != "2" || e["DMLC_NUM_WORKER"] != "3" {
		t.Errorf("%v", e)
	}
}

func TestWhatIsWrittenHolds(t *testing.T) {
	yes := true
	s := frameworktest.Role("server", 1, 1)
	s.Wait, s.OnFailure, s.RestartScope, s.Ports = &yes, spec.FailureTolerate, spec.ScopeTask, map[string]int{"ps": 9000, "web": 0}
	p := frameworktest.Build(t, Framework{}, frameworktest.Role("worker", 1, 1), s)
	want := []string{
		"worker: stop job wait ranks, ports ps",
		"server: tolerate task wait, ports ps web",
		"scheduler: stop job, ports ps",
	}
	if d := cmp.Diff(want, frameworktest.Policies(p)); d != "" {
		t.Error(d)
	}
}

func TestWhatCannotWorkIsRefused(t *testing.T) {
	for want, roles := range map[string][]spec.NamedRole{
		"roles: no workers: a server or scheduler alone has nobody to serve\n    add a role called worker": {
			frameworktest.Role("server", 1, 1), frameworktest.Role("scheduler", 1, 1),
		},
		"roles.scheduler.instances: a job has one scheduler, and that is one process\n    leave it out\n" +
			"roles.scheduler.procs: a job has one scheduler, and that is one process\n    leave it out": {
			frameworktest.Role("worker", 1, 1), frameworktest.Role("scheduler", 2, 2),
		},
	} {
		_, err := frameworktest.Try(Framework{}, roles...)
		if err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// An elastic job, started again with another worker and a scheduler elsewhere.
func TestTheNextEpochHasVariablesOfItsOwn(t *testing.T) {
	w := frameworktest.Role("worker", 3, 1)
	w.Instances = spec.Count{Min: 3, Max: 4}
	p := frameworktest.Build(t, Framework{}, w)
	all := frameworktest.Present(p)
	first := plan.BuildRoster(p, 1, "start", append([]plan.Registration{all[0], all[2]}, all[3:]...), nil)
	for i := range all {
		all[i].Incarnation, all[i].Host, all[i].Ports = 2, "10.0.9.9", map[string]int{Port: 50000 + i}
	}
	second := plan.BuildRoster(p, 2, "server/0 failed", all, first)
	for _, tc := range []struct {
		r                      *plan.Roster
		root, port, num, index string
	}{{first, "10.0.0.2", "40050", "3", "2"}, {second, "10.0.9.9", "50005", "4", "3"}} {
		e := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, tc.r, "worker/3"), 0)
		if e["DMLC_PS_ROOT_URI"] != tc.root || e["DMLC_PS_ROOT_PORT"] != tc.port || e["DMLC_NUM_WORKER"] != tc.num || e["DMLC_WORKER_ID"] != tc.index {
			t.Errorf("epoch %d: %v", tc.r.Epoch, e)
		}
	}
}

// Servers belong to the stage of the workers: what fetches the data has no
// store, and is not counted by the one that comes later.
func TestTheStoreIsThatOfTheWorkersStage(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, frameworktest.Role("fetch", 3, 1), frameworktest.After(frameworktest.Role("worker", 2, 1), "fetch"),
		frameworktest.Role("server", 1, 1))
	for _, name := range []string{"worker", "server", "scheduler"} {
		if stage := p.Role(name).Stage; stage != 1 {
			t.Errorf("%s is of stage %d, want 1", name, stage)
		}
	}
	present := frameworktest.Present(p)
	first := plan.BuildRoster(p, 1, "start", present[:3], nil)
	if e := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, first, "fetch/0"), 0); len(e) != 0 {
		t.Errorf("fetch sees %v", e)
	}
	for i := range 3 {
		present[i].Survivor = true
	}
	second := plan.BuildRoster(p, 2, "stage 1", present, first)
	e := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, second, "worker/1"), 0)
	if e["DMLC_NUM_WORKER"] != "2" || e["DMLC_WORKER_ID"] != "1" || e["DMLC_NUM_SERVER"] != "1" || e["DMLC_PS_ROOT_PORT"] != "40060" {
		t.Errorf("%v", e)
	}
}

func TestReservedVariablesAreTold(t *testing.T) {
	w := frameworktest.Role("worker", 1, 1)
	w.Env = map[string]spec.EnvValue{"PORT": {Value: "80"}, "PS_VERBOSE": {Value: "1"}, "DMLC_INTERFACE": {Value: "eth1"}}
	s := frameworktest.Role("server", 1, 1)
	p := frameworktest.Build(t, Framework{}, w, s, frameworktest.Role("scheduler", 1, 1))
	want := []string{"roles.worker.env.PORT: reserved: muster sets it for every mxnet task, the value written here is not used"}
	if d := cmp.Diff(want, p.Warnings); d != "" {
		t.Error(d)
	}
	e := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, frameworktest.Roster(p), "worker/0"), 0)
	if e["PORT"] != "40000" || e["PS_VERBOSE"] != "1" || e["DMLC_INTERFACE"] != "eth1" {
		t.Errorf("%v", e)
	}
}

func TestARosterWithoutTheSchedulersPortIsAnError(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, frameworktest.Role("worker", 1, 1))
	present := frameworktest.Present(p)
	present[2].Ports = nil
	r := plan.BuildRoster(p, 4, "", present, nil)
	_, err := Framework{}.Launch(p, r, plan.TaskID{Role: "worker"})
	if want := `epoch 4: scheduler/0: port "ps": missing in the roster`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func BenchmarkLaunchOfTenThousandTasks(b *testing.B) {
	p := frameworktest.Build(b, Framework{}, frameworktest.Role("worker", 10_000, 1))
	r := frameworktest.Roster(p)
	r.MakeIndex(p)
	for b.Loop() {
		if _, err := (Framework{}).Launch(p, r, plan.TaskID{Role: "worker", Index: 5000}); err != nil {
			b.Fatal(err)
		}
	}
}
