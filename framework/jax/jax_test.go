package jax

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/framework/frameworktest"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

func TestTheVariablesOfAProcess(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, frameworktest.Role("worker", 3, 2), frameworktest.Role("tensorboard", 1, 1))
	r := frameworktest.Roster(p)
	want := map[string]string{
		"JAX_COORDINATOR_ADDRESS": "10.0.0.0:40000", "JAX_NUM_PROCESSES": "6", "JAX_PROCESS_ID": "5",
		"OMPI_MCA_orte_hnp_uri": "0.0;tcp://10.0.0.0:40000", "OMPI_COMM_WORLD_SIZE": "6",
		"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
		"JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo",
	}
	if d := cmp.Diff(want, frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, r, "worker/2"), 1)); d != "" {
		t.Error(d)
	}
	if e := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, r, "tensorboard/0"), 0); len(e) != 0 {
		t.Errorf("tensorboard sees %v", e)
	}
}

// Each process has its share of the task's devices, and gloo is for those that
// have none.
func TestProcessesShareTheDevicesOfTheirTask(t *testing.T) {
	for _, tc := range []struct {
		gpus, procs int
		granted     []string
		want        []string
	}{
		{4, 1, nil, []string{"0,1,2,3"}},
		{4, 2, nil, []string{"0,1", "2,3"}},
		{3, 2, nil, []string{"0", "1,2"}},
		{2, 2, []string{"4", "5", "6", "7"}, []string{"0,1", "2,3"}},
		{0, 2, nil, []string{"", ""}},
	} {
		w := frameworktest.Role("worker", 1, tc.procs)
		w.GPUs = tc.gpus
		p := frameworktest.Build(t, Framework{}, w)
		r := frameworktest.Roster(p)
		r.Members[0].Devices = tc.granted
		l := frameworktest.Launch(t, Framework{}, p, r, "worker/0")
		var got []string
		for i := range l.Procs {
			got = append(got, l.Procs[i]["JAX_LOCAL_DEVICE_IDS"])
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%d GPUs, %d processes: %s", tc.gpus, tc.procs, d)
		}
		if _, gloo := l.Default["JAX_CPU_COLLECTIVES_IMPLEMENTATION"]; gloo != (tc.gpus == 0) {
			t.Errorf("%d GPUs: gloo %v", tc.gpus, gloo)
		}
	}
}

func TestProcessesNeedEachOther(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, frameworktest.Role("chief", 1, 1), frameworktest.Role("worker", 2, 1), frameworktest.Role("evaluator", 1, 1))
	want := []string{
		"chief: stop job wait ends ranks, ports coordinator",
		"worker: stop job wait ranks, ports coordinator",
		"evaluator: tolerate task, ports main",
	}
	if d := cmp.Diff(want, frameworktest.Policies(p)); d != "" {
		t.Error(d)
	}
	w := frameworktest.Role("worker", 2, 1)
	w.OnFailure, w.RestartScope, w.Ports = spec.FailureTolerate, spec.ScopeTask, map[string]int{"coordinator": 1234, "web": 0}
	p = frameworktest.Build(t, Framework{}, w)
	if d := cmp.Diff([]string{"worker: tolerate task wait ranks, ports coordinator web"}, frameworktest.Policies(p)); d != "" {
		t.Error(d)
	}
}

// An elastic job, started again with another task and on other ports.
func TestTheNextEpochHasVariablesOfItsOwn(t *testing.T) {
	w := frameworktest.Role("worker", 3, 1)
	w.Instances = spec.Count{Min: 3, Max: 4}
	p := frameworktest.Build(t, Framework{}, w)
	all := frameworktest.Present(p)
	first := plan.BuildRoster(p, 1, "start", []plan.Registration{all[0], all[2], all[3]}, nil)
	for i := range all {
		all[i].Incarnation, all[i].Host, all[i].Ports = 2, "10.0.9.9", map[string]int{Port: 50000 + i}
	}
	second := plan.BuildRoster(p, 2, "worker/2 failed", all, first)
	for _, tc := range []struct {
		r                    *plan.Roster
		address, size, index string
	}{{first, "10.0.0.0:40000", "3", "2"}, {second, "10.0.9.9:50000", "4", "3"}} {
		e := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, tc.r, "worker/3"), 0)
		if e["JAX_COORDINATOR_ADDRESS"] != tc.address || e["OMPI_COMM_WORLD_SIZE"] != tc.size || e["JAX_PROCESS_ID"] != tc.index {
			t.Errorf("epoch %d: %v", tc.r.Epoch, e)
		}
	}
}

// What an earlier stage ran is no part of the job of the next.
func TestAStageHasACoordinatorOfItsOwn(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, frameworktest.Role("fetch", 3, 1), frameworktest.After(frameworktest.Role("train", 2, 1), "fetch"))
	present := frameworktest.Present(p)
	first := plan.BuildRoster(p, 1, "start", present[:3], nil)
	for i := range 3 {
		present[i].Survivor = true
	}
	second := plan.BuildRoster(p, 2, "stage 1", present, first)
	e := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, second, "train/1"), 0)
	if e["JAX_COORDINATOR_ADDRESS"] != "10.0.0.1:40030" || e["JAX_NUM_PROCESSES"] != "2" || e["OMPI_COMM_WORLD_RANK"] != "1" {
		t.Errorf("%v", e)
	}
}

func TestWhatWouldNotHoldIsTold(t *testing.T) {
	w := frameworktest.Role("worker", 2, 1)
	w.Env = map[string]spec.EnvValue{"JAX_PROCESS_ID": {Value: "7"}, "JAX_CPU_COLLECTIVES_IMPLEMENTATION": {Value: "mpi"}}
	late := frameworktest.Role("late", 1, 1)
	late.After = []spec.After{{Role: "worker", Is: spec.Ready}}
	p := frameworktest.Build(t, Framework{}, w, late)
	want := []string{
		"roles.late.after: not every task of worker listens on its first port: they are ready once they create the file $MUSTER_READY_FILE",
		"roles.worker.env.JAX_PROCESS_ID: reserved: muster sets it for every jax task, the value written here is not used",
	}
	if d := cmp.Diff(want, p.Warnings); d != "" {
		t.Error(d)
	}
	e := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, frameworktest.Roster(p), "worker/1"), 0)
	if e["JAX_PROCESS_ID"] != "1" || e["JAX_CPU_COLLECTIVES_IMPLEMENTATION"] != "mpi" {
		t.Errorf("%v", e)
	}
}

func TestARosterWithoutTheCoordinatorIsAnError(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, frameworktest.Role("worker", 2, 1))
	r := frameworktest.Roster(p)
	r.Members[0].Ports = map[string]int{"web": 1}
	_, err := Framework{}.Launch(p, r, plan.TaskID{Role: "worker", Index: 1})
	if want := `epoch 1: worker/0: port "coordinator": missing in the roster`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
