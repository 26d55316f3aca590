package pytorch

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/framework/frameworktest"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

func role(name string, n, procs int, command string) spec.NamedRole {
	return spec.NamedRole{Name: name, Role: spec.Role{
		Command: spec.Command{Shell: command}, Procs: procs, Instances: spec.Count{Min: n, Max: n}}}
}

var (
	registrations = frameworktest.Present
	torch         = frameworktest.Seen // the variables that are PyTorch's
)

func build(t *testing.T, roles ...spec.NamedRole) *plan.Plan {
	t.Helper()
	return frameworktest.Build(t, Framework{}, roles...)
}

func launch(t *testing.T, p *plan.Plan, r *plan.Roster, role string, index int) plan.Launch {
	t.Helper()
	return frameworktest.Launch(t, Framework{}, p, r, plan.TaskID{Role: role, Index: index}.String())
}

func TestTheVariablesOfAProcess(t *testing.T) {
	p := build(t, role("master", 1, 1, "true"), role("worker", 2, 2, "true"))
	ro := plan.BuildRoster(p, 1, "start", registrations(p), nil)
	want := map[string]string{
		"MASTER_ADDR": "10.0.0.0", "MASTER_PORT": "40000", "RANK": "4", "LOCAL_RANK": "1", "WORLD_SIZE": "5",
		"LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "2", "NODE_RANK": "2", "GROUP_WORLD_SIZE": "3",
		"ROLE_NAME": "worker", "ROLE_RANK": "3", "ROLE_WORLD_SIZE": "4",
		"TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "0", "TORCHELASTIC_RUN_ID": "m-aaaaaaaaaa",
		"OMP_NUM_THREADS": "1",
	}
	if d := cmp.Diff(want, torch(launch(t, p, ro, "worker", 1), 1)); d != "" {
		t.Error(d)
	}
}

func TestPoliciesOfCollectives(t *testing.T) {
	p := build(t, role("master", 1, 1, "true"), role("worker", 2, 1, "true"), role("ps", 1, 1, "true"), role("tensorboard", 1, 1, "true"))
	got := map[string]string{}
	for _, r := range p.Roles {
		got[r.Name] = fmt.Sprintf("%s %s counted=%v ends=%v ports=%v", r.OnFailure, r.RestartScope, r.Counted, r.EndsJob, r.Ports)
	}
	want := map[string]string{
		"master":      "stop job counted=true ends=true ports=[{rendezvous 0 false}]",
		"worker":      "stop job counted=true ends=false ports=[{rendezvous 0 false}]",
		"ps":          "stop job counted=true ends=false ports=[{rendezvous 0 false}]",
		"tensorboard": "ignore task counted=false ends=false ports=[{main 0 false}]",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	w := role("worker", 2, 1, "true")
	w.OnFailure, w.RestartScope, w.Ports = spec.FailureTolerate, spec.ScopeTask, map[string]int{"web": 0, "rendezvous": 29500}
	r := build(t, w).Roles[0]
	if r.OnFailure != spec.FailureTolerate || r.RestartScope != spec.ScopeTask ||
		!slices.Equal(r.Ports, []plan.Port{{Name: "rendezvous", Number: 29500}, {Name: "web"}}) {
		t.Errorf("what was written does not hold: %+v", r)
	}
}

// F-038: four tasks of two ranks, two tasks on each of two hosts. Local ranks
// count inside a task, never over its host: each task sees its own devices.
func TestF038TwoContainersOnOneHost(t *testing.T) {
	p := build(t, role("worker", 4, 2, "true"))
	ro := plan.BuildRoster(p, 1, "start", registrations(p), nil)
	var got []string
	for i := range 4 {
		l := launch(t, p, ro, "worker", i)
		for proc := range l.Procs {
			e := torch(l, proc)
			got = append(got, strings.Join([]string{ro.Member(plan.TaskID{Role: "worker", Index: i}).Node,
				e["RANK"], e["LOCAL_RANK"], e["LOCAL_WORLD_SIZE"], e["GROUP_RANK"], l.Procs[proc]["MUSTER_LOCAL_RANK"]}, " "))
		}
	}
	want := []string{
		"10.0.0.0 0 0 2 0 0", "10.0.0.0 1 1 2 0 1", "10.0.0.0 2 0 2 1 2", "10.0.0.0 3 1 2 1 3",
		"10.0.0.1 4 0 2 2 0", "10.0.0.1 5 1 2 2 1", "10.0.0.1 6 0 2 3 2", "10.0.0.1 7 1 2 3 3",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// F-044: MASTER_ADDR is the host of rank 0, and rank 0 is task 0, whoever
// registered first; after a restart too.
func TestF044Rank0IsOnTheMastersHost(t *testing.T) {
	p := build(t, role("worker", 3, 1, "true"))
	present := registrations(p)
	var last *plan.Roster
	for epoch := 1; epoch <= 3; epoch++ {
		slices.Reverse(present)
		last = plan.BuildRoster(p, epoch, "", present, last)
		l := launch(t, p, last, "worker", 0)
		if e := torch(l, 0); e["RANK"] != "0" || e["MASTER_ADDR"] != last.Members[0].Host || e["MASTER_PORT"] != "40000" {
			t.Errorf("epoch %d: %v", epoch, e)
		}
		for i := range present {
			present[i].Survivor = present[i].Task.Index != 0 // rank 0 alone starts again
		}
	}
}

func TestARestartIsCounted(t *testing.T) {
	w := role("worker", 1, 1, "true")
	n := 4
	w.Restarts = &n
	p := build(t, w)
	present := registrations(p)
	present[0].Incarnation = 3
	e := torch(launch(t, p, plan.BuildRoster(p, 5, "again", present, nil), "worker", 0), 0)
	if e["TORCHELASTIC_RESTART_COUNT"] != "2" || e["TORCHELASTIC_MAX_RESTARTS"] != "4" {
		t.Errorf("restart %s of %s, want 2 of 4", e["TORCHELASTIC_RESTART_COUNT"], e["TORCHELASTIC_MAX_RESTARTS"])
	}
}

// F-103: torchrun with nothing but a program makes one group of all tasks. It
// runs once per task and starts the processes; ranks are its own to give.
func TestF103LauncherCalledWithoutAWord(t *testing.T) {
	for _, command := range []string{
		"torchrun train.py", "exec torchrun train.py", "cd src && OMP_NUM_THREADS=2 /opt/venv/bin/torchrun train.py --epochs 3",
		"python -m torch.distributed.run train.py", "python3.12 -u -m torch.distributed.launch train.py",
	} {
		p := build(t, role("worker", 2, 4, command))
		l := launch(t, p, plan.BuildRoster(p, 1, "start", registrations(p), nil), "worker", 1)
		if len(l.Procs) != 1 {
			t.Errorf("%s: %d processes, want torchrun alone", command, len(l.Procs))
		}
		want := map[string]string{
			"MASTER_ADDR": "10.0.0.0", "MASTER_PORT": "40000", "OMP_NUM_THREADS": "1",
			"PET_NNODES": "2", "PET_NODE_RANK": "1", "PET_NPROC_PER_NODE": "4", "PET_MASTER_ADDR": "10.0.0.0", "PET_MASTER_PORT": "40000",
		}
		if d := cmp.Diff(want, torch(l, 0)); d != "" {
			t.Errorf("%s: %s", command, d)
		}
		if len(l.Procs[0]) != 0 || l.Env["MUSTER_WORLD_SIZE"] != "8" {
			t.Errorf("%s: %v for all four, MUSTER_WORLD_SIZE %q", command, l.Procs[0], l.Env["MUSTER_WORLD_SIZE"])
		}
	}
}

// A torchrun that hides in a script finds its defaults too, as long as only one
// process of ours would run it.
func TestF103LauncherInsideAScript(t *testing.T) {
	p := build(t, role("worker", 2, 1, "./run.sh"))
	ro := plan.BuildRoster(p, 1, "start", registrations(p), nil)
	if e := torch(launch(t, p, ro, "worker", 1), 0); e["PET_NNODES"] != "2" || e["PET_NODE_RANK"] != "1" || e["RANK"] != "1" {
		t.Errorf("%v", e)
	}
	p = build(t, role("worker", 2, 2, "./run.sh"))
	ro = plan.BuildRoster(p, 1, "start", registrations(p), nil)
	if e := torch(launch(t, p, ro, "worker", 1), 0); e["PET_NNODES"] != "" {
		t.Errorf("each of two processes would start the whole group: %v", e)
	}
}

func TestF103OnlyLaunchersAreLaunchers(t *testing.T) {
	for command, want := range map[string]string{
		"torchrun x.py": "torchrun", "cd a && exec torchrun x.py": "torchrun", "python3 -u -m torch.distributed.launch x.py": "torchrun",
		"accelerate launch --num_machines \"$PET_NNODES\" x.py": "accelerate launch", "accelerate-launch x.py": "accelerate launch",
		"python -m accelerate.commands.launch x.py": "accelerate launch",
		"accelerate config":                         "", "accelerate": "", "python train.py": "", "echo torchrun": "", "python torchrun.py": "",
		"python train.py -m torch.distributed.run": "", "./torchrun.sh": "", "deepspeed x.py": "", "python3 -u x.py --local_rank=\"$LOCAL_RANK\"": "",
	} {
		if got := launcherOf(spec.Command{Shell: command}); got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
	for _, argv := range [][]string{{"/usr/bin/torchrun", "a b.py"}, {"bash", "-c", "cd a; torchrun x.py"}} {
		if launcherOf(spec.Command{Argv: argv}) != "torchrun" {
			t.Errorf("%q was not recognised", argv)
		}
	}
}

// Dynamic rendezvous has its server in rank 0's torchrun, on the port that is
// held for it; the number of nodes is that of the epoch, however many the job
// may have.
func TestC10dGetsOurEndpoint(t *testing.T) {
	w := role("worker", 3, 2, "torchrun train.py")
	w.Instances.Min = 1
	w.Env = map[string]spec.EnvValue{"PET_RDZV_BACKEND": {Value: "c10d"}, "PET_RDZV_CONF": {Value: "timeout=90,"}}
	p := build(t, w)
	ro := plan.BuildRoster(p, 1, "start", registrations(p)[:2], nil)
	for index, host := range []string{"is_host=1", "is_host=0"} {
		want := map[string]string{
			"MASTER_ADDR": "10.0.0.0", "MASTER_PORT": "40000", "OMP_NUM_THREADS": "1",
			"PET_NNODES": "2", "PET_NODE_RANK": strconv.Itoa(index), "PET_NPROC_PER_NODE": "2", "PET_MASTER_ADDR": "10.0.0.0", "PET_MASTER_PORT": "40000",
			"PET_RDZV_BACKEND": "c10d", "PET_RDZV_ENDPOINT": "10.0.0.0:40000", "PET_RDZV_ID": p.ID, "PET_RDZV_CONF": "timeout=90," + host,
		}
		if d := cmp.Diff(want, torch(launch(t, p, ro, "worker", index), 0)); d != "" {
			t.Errorf("worker/%d: %s", index, d)
		}
	}
}

// A rendezvous at a server of the author's own is theirs.
func TestAServerOfTheAuthorsIsLeftAlone(t *testing.T) {
	for _, env := range []map[string]spec.EnvValue{
		{"PET_RDZV_BACKEND": {Value: "etcd-v2"}, "PET_RDZV_ENDPOINT": {Value: "etcd:2379"}},
		{"PET_RDZV_BACKEND": {Value: "c10d"}, "PET_RDZV_ENDPOINT": {Value: "head:1"}},
		{},
	} {
		w := role("worker", 1, 1, "torchrun train.py")
		w.Env = env
		p := build(t, w)
		e := torch(launch(t, p, plan.BuildRoster(p, 1, "start", registrations(p), nil), "worker", 0), 0)
		if e["PET_RDZV_ENDPOINT"] != env["PET_RDZV_ENDPOINT"].Value || e["PET_RDZV_CONF"] != "" || e["PET_RDZV_ID"] != "" || p.Warnings != nil {
			t.Errorf("%v: %v, %q", env, e, p.Warnings)
		}
	}
}

func TestF103ReservedVariablesAreTold(t *testing.T) {
	w := role("worker", 1, 1, "true")
	w.Env = map[string]spec.EnvValue{"RANK": {Value: "9"}, "PET_NNODES": {Value: "9", Expand: true}, "OMP_NUM_THREADS": {Value: "9"}, "NCCL_DEBUG": {Value: "INFO"}}
	p := build(t, w)
	want := []string{
		"roles.worker.env.PET_NNODES: reserved: muster sets it for every pytorch task, the value written here is not used",
		"roles.worker.env.RANK: reserved: muster sets it for every pytorch task, the value written here is not used",
	}
	if d := cmp.Diff(want, p.Warnings); d != "" {
		t.Error(d)
	}
	l := launch(t, p, plan.BuildRoster(p, 1, "start", registrations(p), nil), "worker", 0)
	if e := torch(l, 0); e["RANK"] != "0" || e["PET_NNODES"] != "1" || e["OMP_NUM_THREADS"] != "9" || e["NCCL_DEBUG"] != "INFO" || len(l.Expand) != 0 {
		t.Errorf("%v, expanded %v", e, l.Expand)
	}
}

func TestThreadsShareATasksProcessors(t *testing.T) {
	for _, tc := range []struct {
		cpus  float64
		procs int
		want  string
	}{{0.5, 1, "1"}, {1, 2, "1"}, {8, 2, "4"}, {9, 2, "4"}} {
		w := role("worker", 1, tc.procs, "true")
		w.CPUs = tc.cpus
		p := build(t, w)
		l := launch(t, p, plan.BuildRoster(p, 1, "start", registrations(p), nil), "worker", 0)
		if got := l.Default["OMP_NUM_THREADS"]; got != tc.want {
			t.Errorf("%g cpus, %d processes: OMP_NUM_THREADS %s, want %s", tc.cpus, tc.procs, got, tc.want)
		}
	}
}

func TestRolesWithoutRanksAreNotInTheGroup(t *testing.T) {
	p := build(t, role("worker", 2, 1, "true"), role("tensorboard", 1, 1, "true"))
	ro := plan.BuildRoster(p, 1, "start", registrations(p), nil)
	if e := torch(launch(t, p, ro, "tensorboard", 0), 0); len(e) != 0 {
		t.Errorf("tensorboard sees %v", e)
	}
	if e := torch(launch(t, p, ro, "worker", 1), 0); e["WORLD_SIZE"] != "2" || e["GROUP_WORLD_SIZE"] != "2" {
		t.Errorf("worker sees %v", e)
	}
}

// A stage that is over leaves no ranks behind: training would wait for them.
func TestAStageHasAGroupOfItsOwn(t *testing.T) {
	train := role("train", 2, 1, "true")
	train.After = []spec.After{{Role: "fetch", Is: spec.Succeeded}}
	p := build(t, role("fetch", 3, 1, "true"), train)
	present := registrations(p)
	for i := range 3 {
		present[i].Survivor = true
	}
	first := plan.BuildRoster(p, 1, "start", present[:3], nil)
	ro := plan.BuildRoster(p, 2, "stage 1", present, first)
	e := torch(launch(t, p, ro, "train", 1), 0)
	want := map[string]string{"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "40030", "NODE_RANK": "1", "GROUP_WORLD_SIZE": "2"}
	got := map[string]string{}
	for name := range want {
		got[name] = e[name]
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAWaitThatThePortNeverEndsIsTold(t *testing.T) {
	late := role("late", 1, 1, "true")
	late.After = []spec.After{{Role: "worker", Is: spec.Ready}}
	want := []string{"roles.late.after: not every task of worker listens on its first port: they are ready once they create the file $MUSTER_READY_FILE"}
	if d := cmp.Diff(want, build(t, role("worker", 2, 1, "true"), late).Warnings); d != "" {
		t.Error(d)
	}
	web := role("worker", 2, 1, "true")
	web.Ports = map[string]int{"web": 0}
	if w := build(t, web, late).Warnings; w != nil {
		t.Errorf("every task listens on its first port, but got %q", w)
	}
}

// The whole job's launches together grow with its tasks, not with their square.
func TestATaskIsSentWhatItNeeds(t *testing.T) {
	total := func(n int) int {
		p := build(t, role("worker", n, 1, "true"))
		ro := plan.BuildRoster(p, 1, "start", registrations(p), nil)
		sum := 0
		for i := range n {
			b, err := json.Marshal(launch(t, p, ro, "worker", i))
			if err != nil {
				t.Fatal(err)
			}
			sum += len(b)
		}
		return sum
	}
	if a, b := total(50), total(400); float64(b) > 8.3*float64(a) {
		t.Errorf("50 tasks are sent %d bytes, 400 tasks %d", a, b)
	}
}

// Ranks of all processes are 0 to world-1, each once, and consistent with the
// group and role ranks.
func TestEveryRankOnce(t *testing.T) {
	p := build(t, role("master", 1, 1, "true"), role("worker", 3, 2, "true"))
	ro := plan.BuildRoster(p, 1, "start", registrations(p), nil)
	ranks := map[string]bool{}
	for _, id := range p.Tasks() {
		l := launch(t, p, ro, id.Role, id.Index)
		for proc := range l.Procs {
			ranks[torch(l, proc)["RANK"]] = true
		}
	}
	for i := range 7 {
		if !ranks[strconv.Itoa(i)] {
			t.Errorf("nobody has rank %d: %v", i, slices.Sorted(maps.Keys(ranks)))
		}
	}
	if len(ranks) != 7 {
		t.Errorf("ranks %v, want 7 of them", slices.Sorted(maps.Keys(ranks)))
	}
}

func BenchmarkLaunchOfTenThousandTasks(b *testing.B) {
	r := role("worker", 10_000, 1, "true")
	p, err := plan.Build(&spec.Job{Roles: spec.Roles{r}}, Framework{}, plan.Capabilities{}, plan.Options{})
	if err != nil {
		b.Fatal(err)
	}
	ro := plan.BuildRoster(p, 1, "start", registrations(p), nil)
	for b.Loop() {
		if _, err := (Framework{}).Launch(p, ro, plan.TaskID{Role: "worker", Index: 5000}); err != nil {
			b.Fatal(err)
		}
	}
}
