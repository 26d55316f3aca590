package paddle

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/framework/frameworktest"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

func TestTheVariablesOfATrainer(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, frameworktest.Role("worker", 3, 2), frameworktest.Role("tensorboard", 1, 1))
	r := frameworktest.Roster(p)
	want := map[string]string{
		"PADDLE_MASTER":       "10.0.0.0:40002",
		"PADDLE_TRAINERS_NUM": "6", "PADDLE_GLOBAL_SIZE": "6", "PADDLE_LOCAL_SIZE": "2", "PADDLE_NNODES": "3",
		"PADDLE_TRAINER_ENDPOINTS": "10.0.0.0:40000,10.0.0.0:40001,10.0.0.0:40010,10.0.0.0:40011,10.0.0.1:40020,10.0.0.1:40021",
		"PADDLE_TRAINER_ID":        "5", "PADDLE_GLOBAL_RANK": "5", "PADDLE_LOCAL_RANK": "1", "PADDLE_RANK_IN_NODE": "1",
		"PADDLE_CURRENT_ENDPOINT": "10.0.0.1:40021", "POD_IP": "10.0.0.1",
		"PADDLE_DISTRI_BACKEND": "gloo", "GLOO_SOCKET_IFNAME": "${muster.iface}",
	}
	if d := cmp.Diff(want, frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, r, "worker/2"), 1)); d != "" {
		t.Error(d)
	}
	if e := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, r, "tensorboard/0"), 0); len(e) != 0 {
		t.Errorf("tensorboard sees %v", e)
	}
}

func TestTheVariablesOfServersAndTheirTrainers(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, frameworktest.Role("trainer", 2, 1), frameworktest.Role("ps", 3, 1))
	r := frameworktest.Roster(p)
	for task, own := range map[string]map[string]string{
		"trainer/1": {"TRAINING_ROLE": "TRAINER", "PADDLE_ROLE": "TRAINER", "PADDLE_TRAINER_ID": "1", "PADDLE_PORT": "40010", "POD_IP": "10.0.0.0"},
		"ps/0":      {"TRAINING_ROLE": "PSERVER", "PADDLE_ROLE": "PSERVER", "PADDLE_PORT": "40020", "POD_IP": "10.0.0.1"},
		"ps/2":      {"TRAINING_ROLE": "PSERVER", "PADDLE_ROLE": "PSERVER", "PADDLE_PORT": "40040", "POD_IP": "10.0.0.2"},
	} {
		want := map[string]string{
			"PADDLE_PSERVERS_IP_PORT_LIST": "10.0.0.1:40020,10.0.0.1:40030,10.0.0.2:40040",
			"PADDLE_TRAINER_ENDPOINTS":     "10.0.0.0:40000,10.0.0.0:40010", "PADDLE_TRAINERS_NUM": "2",
			"PADDLE_WITH_GLOO": "1", "PADDLE_GLOO_RENDEZVOUS": "3", "PADDLE_GLOO_HTTP_ENDPOINT": "10.0.0.1:40021",
			"GLOO_SOCKET_IFNAME": "${muster.iface}",
		}
		maps.Copy(want, own)
		if d := cmp.Diff(want, frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, r, task), 0)); d != "" {
			t.Errorf("%s: %s", task, d)
		}
	}
}

// Two words for servers are one list, whose order every server finds itself by.
func TestServersComeInTheOrderOfThePlan(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, frameworktest.Role("server", 1, 2), frameworktest.Role("worker", 1, 1), frameworktest.Role("ps", 2, 1))
	present := frameworktest.Present(p)
	for i := range present { // the last tasks are on the node of the first
		present[i].Node = fmt.Sprint(len(present) - i)
	}
	r := plan.BuildRoster(p, 1, "start", present, nil)
	e := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, r, "server/0"), 1)
	if want := "10.0.0.0:40000,10.0.0.0:40001,10.0.0.1:40020,10.0.0.1:40030"; e["PADDLE_PSERVERS_IP_PORT_LIST"] != want || e["PADDLE_PORT"] != "40001" {
		t.Errorf("%v\nwant %s", e, want)
	}
}

func TestPoliciesOfBothModes(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, frameworktest.Role("chief", 1, 1), frameworktest.Role("worker", 2, 2), frameworktest.Role("evaluator", 1, 1))
	want := []string{
		"chief: stop job wait ends ranks, ports endpoint master",
		"worker: stop job wait ranks, ports endpoint endpoint-1 master",
		"evaluator: tolerate task, ports main",
	}
	if d := cmp.Diff(want, frameworktest.Policies(p)); d != "" {
		t.Error(d)
	}
	p = frameworktest.Build(t, Framework{}, frameworktest.Role("server", 1, 1), frameworktest.Role("worker", 2, 1))
	want = []string{"server: stop job, ports endpoint gloo", "worker: stop job wait ranks, ports endpoint master"}
	if d := cmp.Diff(want, frameworktest.Policies(p)); d != "" {
		t.Error(d)
	}
}

// Each trainer has its share of the task's devices; where one trainer has none,
// all talk by gloo.
func TestTrainersShareTheDevicesOfTheirTask(t *testing.T) {
	w, c := frameworktest.Role("worker", 1, 2), frameworktest.Role("chief", 1, 1)
	w.GPUs, c.GPUs = 4, 1
	p := frameworktest.Build(t, Framework{}, c, w)
	l := frameworktest.Launch(t, Framework{}, p, frameworktest.Roster(p), "worker/0")
	if a, b := frameworktest.Seen(l, 0)["FLAGS_selected_gpus"], frameworktest.Seen(l, 1)["FLAGS_selected_gpus"]; a != "0,1" || b != "2,3" {
		t.Errorf("devices %q and %q", a, b)
	}
	if v, set := l.Default["PADDLE_DISTRI_BACKEND"]; set {
		t.Errorf("PADDLE_DISTRI_BACKEND %q", v)
	}
	c.GPUs = 0
	p = frameworktest.Build(t, Framework{}, c, w)
	l = frameworktest.Launch(t, Framework{}, p, frameworktest.Roster(p), "worker/0")
	if v := l.Default["PADDLE_DISTRI_BACKEND"]; v != "gloo" {
		t.Errorf("PADDLE_DISTRI_BACKEND %q, want gloo", v)
	}
}

func TestPaddlesLauncherFindsItsDefaults(t *testing.T) {
	for _, command := range []string{
		"python -m paddle.distributed.launch train.py", "exec fleetrun train.py", "cd src && python3 -u -m paddle.distributed.launch --log_level DEBUG train.py",
	} {
		w := frameworktest.Role("worker", 2, 4)
		w.Command.Shell = command
		w.Env = map[string]spec.EnvValue{"PADDLE_TRAINER_ID": {Value: "7"}, "FLAGS_selected_gpus": {Value: "$X", Expand: true}}
		p := frameworktest.Build(t, Framework{}, w)
		l := frameworktest.Launch(t, Framework{}, p, frameworktest.Roster(p), "worker/1")
		if len(l.Procs) != 1 || len(l.Procs[0]) != 0 || len(l.Expand) != 0 {
			t.Errorf("%s: processes %v, expanded %v; want the launcher alone", command, l.Procs, l.Expand)
		}
		want := map[string]string{
			"PADDLE_MASTER": "10.0.0.0:40004", "PADDLE_NNODES": "2", "PADDLE_RANK": "1", "PADDLE_NPROC_PER_NODE": "4",
			"PADDLE_JOB_ID": "m-aaaaaaaaaa", "POD_IP": "10.0.0.0", "GLOO_SOCKET_IFNAME": "${muster.iface}",
			"XPU_VISIBLE_DEVICES": "all", "PADDLE_LOG_DIR": "${muster.dir}/log",
		}
		if d := cmp.Diff(want, frameworktest.Seen(l, 0)); d != "" {
			t.Errorf("%s: %s", command, d)
		}
	}
}

func TestWhereTheLaunchersLogsGoIsTheAuthorsToSay(t *testing.T) {
	w := frameworktest.Role("worker", 2, 1)
	w.Command.Shell = "python -m paddle.distributed.launch --log_dir=mine train.py"
	p := frameworktest.Build(t, Framework{}, w)
	if dir, set := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, frameworktest.Roster(p), "worker/1"), 0)["PADDLE_LOG_DIR"]; set {
		t.Errorf("PADDLE_LOG_DIR=%s, which would win over --log_dir", dir)
	}
}

func TestTheLaunchersLineSaysHowManyProcesses(t *testing.T) {
	w := frameworktest.Role("worker", 2, 0)
	w.Command.Shell = "python -m paddle.distributed.launch --nproc_per_node=3 train.py"
	if n := frameworktest.Build(t, Framework{}, w).Roles[0].Procs; n != 3 {
		t.Errorf("%d processes, want 3", n)
	}
	w.Procs = 4
	want := []string{"roles.worker.procs: 4 here, which wins over --nproc-per-node 3 of the command"}
	if d := cmp.Diff(want, frameworktest.Build(t, Framework{}, w).Warnings); d != "" {
		t.Error(d)
	}
}

func TestWhatCannotWorkIsRefused(t *testing.T) {
	launched := frameworktest.Role("worker", 1, 1)
	launched.Command.Shell = "python -m paddle.distributed.launch train.py"
	for want, roles := range map[string][]spec.NamedRole{
		"roles: no trainers: servers alone have nobody to serve\n    add a role called worker or trainer": {frameworktest.Role("server", 1, 1)},
		"roles.worker.command: paddle.distributed.launch would start servers and trainers of its own in every task\n" +
			"    run the program itself: the roles of the job file say who is a server": {frameworktest.Role("ps", 1, 1), launched},
	} {
		_, err := frameworktest.Try(Framework{}, roles...)
		if err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// An elastic job, started again with another trainer and on other ports.
func TestTheNextEpochHasVariablesOfItsOwn(t *testing.T) {
	w := frameworktest.Role("worker", 3, 1)
	w.Instances = spec.Count{Min: 3, Max: 4}
	p := frameworktest.Build(t, Framework{}, w)
	all := frameworktest.Present(p)
	first := plan.BuildRoster(p, 1, "start", []plan.Registration{all[0], all[2], all[3]}, nil)
	for i := range all {
		all[i].Incarnation, all[i].Ports = 2, map[string]int{Port: 50000 + i, Master: 60000 + i}
	}
	second := plan.BuildRoster(p, 2, "worker/2 failed", all, first)
	for _, tc := range []struct {
		r                          *plan.Roster
		master, endpoints, num, id string
	}{
		{first, "10.0.0.0:40001", "10.0.0.0:40000,10.0.0.1:40020,10.0.0.1:40030", "3", "2"},
		{second, "10.0.0.0:60000", "10.0.0.0:50000,10.0.0.0:50001,10.0.0.1:50002,10.0.0.1:50003", "4", "3"},
	} {
		e := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, tc.r, "worker/3"), 0)
		if e["PADDLE_MASTER"] != tc.master || e["PADDLE_TRAINER_ENDPOINTS"] != tc.endpoints || e["PADDLE_TRAINERS_NUM"] != tc.num || e["PADDLE_TRAINER_ID"] != tc.id {
			t.Errorf("epoch %d: %v", tc.r.Epoch, e)
		}
	}
}

// Servers belong to the stage of the trainers that they serve.
func TestAStageIsAJobOfItsOwn(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, frameworktest.Role("fetch", 2, 1), frameworktest.After(frameworktest.Role("worker", 2, 1), "fetch"),
		frameworktest.Role("ps", 1, 1))
	present := frameworktest.Present(p)
	first := plan.BuildRoster(p, 1, "start", present[:2], nil)
	if e := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, first, "fetch/1"), 0); e["PADDLE_TRAINERS_NUM"] != "2" || e["TRAINING_ROLE"] != "" {
		t.Errorf("fetch sees %v", e)
	}
	for i := range 2 {
		present[i].Survivor = true
	}
	second := plan.BuildRoster(p, 2, "stage 1", present, first)
	e := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, second, "worker/1"), 0)
	if e["PADDLE_TRAINER_ENDPOINTS"] != "10.0.0.1:40020,10.0.0.1:40030" || e["PADDLE_TRAINER_ID"] != "1" || e["PADDLE_PSERVERS_IP_PORT_LIST"] != "10.0.0.2:40040" {
		t.Errorf("worker sees %v", e)
	}
}

func TestWhatWouldNotHoldIsTold(t *testing.T) {
	w := frameworktest.Role("worker", 2, 1)
	w.Env = map[string]spec.EnvValue{"PADDLE_TRAINER_ID": {Value: "7"}, "PADDLE_DISTRI_BACKEND": {Value: "xccl"}}
	late := frameworktest.Role("late", 1, 1)
	late.After = []spec.After{{Role: "worker", Is: spec.Ready}}
	p := frameworktest.Build(t, Framework{}, w, late)
	want := []string{
		"roles.late.after: not every task of worker listens on its first port: they are ready once they create the file $MUSTER_READY_FILE",
		"roles.worker.env.PADDLE_TRAINER_ID: reserved: muster sets it for every paddle task, the value written here is not used",
	}
	if d := cmp.Diff(want, p.Warnings); d != "" {
		t.Error(d)
	}
	if e := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, frameworktest.Roster(p), "worker/1"), 0); e["PADDLE_TRAINER_ID"] != "1" || e["PADDLE_DISTRI_BACKEND"] != "xccl" {
		t.Errorf("%v", e)
	}
}

func TestAListThatLinuxDoesNotTakeIsAnError(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, frameworktest.Role("worker", 9000, 1))
	r := frameworktest.Roster(p)
	_, err := Framework{}.Launch(p, r, plan.TaskID{Role: "worker"})
	if err == nil || !strings.HasPrefix(err.Error(), "epoch 1: worker/0: PADDLE_TRAINER_ENDPOINTS: ") || !strings.HasSuffix(err.Error(), "for 9000 processes: Linux takes 131072 in one variable") {
		t.Errorf("got %v", err)
	}
}

func TestARosterWithoutAPortIsAnError(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, frameworktest.Role("worker", 2, 1))
	for _, port := range []string{Port, Master} {
		r := frameworktest.Roster(p)
		delete(r.Members[0].Ports, port)
		_, err := Framework{}.Launch(p, r, plan.TaskID{Role: "worker", Index: 1})
		if want := fmt.Sprintf("epoch 1: worker/0: port %q: missing in the roster", port); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
