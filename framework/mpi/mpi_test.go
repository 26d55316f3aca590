package mpi

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/framework/frameworktest"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

func role(name string, n, procs int, command string) spec.NamedRole {
	r := frameworktest.Role(name, n, procs)
	r.Command = spec.Command{Shell: command}
	return r
}

// roster is one with a control address for each executor; each task has a node
// of its own, or all have one.
func roster(p *plan.Plan, node string) *plan.Roster {
	present := frameworktest.Present(p)
	for i := range present {
		g := &present[i]
		g.Control, g.Incarnation, g.Node = "10.0.0.9:"+g.Task.Dir(), 3, node
		if node == "" {
			g.Node = g.Task.Dir()
		}
	}
	return plan.BuildRoster(p, 1, "start", present, nil)
}

func TestTheVariablesOfATask(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, role("worker", 2, 2, "mpirun ./solve"), frameworktest.Role("tensorboard", 1, 1))
	r := roster(p, "")
	want := map[string]string{
		"OMPI_MCA_plm_rsh_agent":                   "${muster.dir}/mpi/agent",
		"OMPI_MCA_orte_default_hostfile":           "${muster.dir}/mpi/openmpi",
		"OMPI_MCA_plm_rsh_pass_environ_mca_params": "0",
		"OMPI_MCA_plm_rsh_no_tree_spawn":           "1",
		"OMPI_MCA_orte_leave_session_attached":     "1",
		"OMPI_MCA_orte_tmpdir_base":                "${muster.dir}",
		"OMPI_MCA_if_base_do_not_resolve":          "1",
		"OMPI_MCA_oob_tcp_if_include":              "${muster.iface}", // the host is no loopback address
		"OMPI_MCA_hwloc_base_binding_policy":       "none",
		"OMPI_MCA_mpi_yield_when_idle":             "1", // two ranks on one processor
		"OMPI_ALLOW_RUN_AS_ROOT":                   "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",

		"PRTE_MCA_plm_ssh_agent":                   "${muster.dir}/mpi/agent",
		"PRTE_MCA_prte_default_hostfile":           "${muster.dir}/mpi/openmpi",
		"PRTE_MCA_plm_ssh_pass_environ_mca_params": "0",
		"PRTE_MCA_plm_ssh_no_tree_spawn":           "1",
		"PRTE_MCA_prte_leave_session_attached":     "1",
		"PRTE_MCA_prte_tmpdir_base":                "${muster.dir}",
		"PRTE_MCA_prte_if_include":                 "${muster.iface}",
		"PRTE_MCA_hwloc_default_binding_policy":    "none",
		"PRTE_ALLOW_RUN_AS_ROOT":                   "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",

		"HYDRA_LAUNCHER":      "ssh",
		"HYDRA_LAUNCHER_EXEC": "${muster.dir}/mpi/agent",
		"HYDRA_HOST_FILE":     "${muster.dir}/mpi/hydra",
		"HYDRA_ENV":           "none",
		"HYDRA_IFACE":         "${muster.iface}",

		"OMP_NUM_THREADS": "1",
	}
	for _, task := range []string{"worker/0", "worker/1"} {
		l := frameworktest.Launch(t, Framework{}, p, r, task)
		if d := cmp.Diff(want, frameworktest.Seen(l, 0)); d != "" {
			t.Errorf("%s: %s", task, d)
		}
		hosts := map[string]string{"worker/0": "${muster.dir}/mpi/hostfile"}[task] // where the file is
		if l.Env["MUSTER_HOSTFILE"] != hosts {
			t.Errorf("%s: MUSTER_HOSTFILE is %q", task, l.Env["MUSTER_HOSTFILE"])
		}
		// A rank of our own would be wrong for what mpirun starts.
		if len(l.Procs) != 1 || len(l.Procs[0]) != 0 {
			t.Errorf("%s: processes %v", task, l.Procs)
		}
		if got := string(l.Files["mpi/agent"]); got != "#!/bin/sh\nexec ${muster.agent} \"$@\"\n" {
			t.Errorf("%s: agent %q", task, got)
		}
	}
	if e := frameworktest.Seen(frameworktest.Launch(t, Framework{}, p, r, "tensorboard/0"), 0); len(e) != 0 {
		t.Errorf("tensorboard sees %v", e)
	}
}

func TestMpirunRunsInTheTaskOfRankZeroAndTheOthersWaitForIt(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, role("worker", 3, 2, "cd x && mpirun -np 6 ./solve"))
	r := roster(p, "")
	l := frameworktest.Launch(t, Framework{}, p, r, "worker/0")
	if d := cmp.Diff([]string{"bash", "-c", "cd x && mpirun -np 6 ./solve"}, l.Argv); d != "" {
		t.Error(d)
	}
	files := map[string]string{
		"mpi/hostfile": "worker-0 slots=2\nworker-1 slots=2\nworker-2 slots=2\n",
		"mpi/openmpi":  "localhost slots=2\nworker-1 slots=2\nworker-2 slots=2\n",
		"mpi/hydra":    "worker-0:2\nworker-1:2\nworker-2:2\n",
	}
	for name, want := range files {
		if d := cmp.Diff(want, string(l.Files[name])); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	peer := func(i int) plan.Peer {
		id := plan.TaskID{Role: "worker", Index: i}
		return plan.Peer{Task: id, Incarnation: 3, Control: "10.0.0.9:" + id.Dir()}
	}
	if d := cmp.Diff(map[string]plan.Peer{"worker-0": peer(0), "worker-1": peer(1), "worker-2": peer(2)}, l.Peers); d != "" {
		t.Error(d)
	}
	l = frameworktest.Launch(t, Framework{}, p, r, "worker/2")
	if d := cmp.Diff([]string{"sh", "-c", "exec ${muster.agent} --await worker-0"}, l.Argv); d != "" {
		t.Error(d)
	}
	// What grows with the job is sent to one task only.
	if d := cmp.Diff(map[string]plan.Peer{"worker-0": peer(0)}, l.Peers); d != "" {
		t.Error(d)
	}
	if names := slices.Sorted(maps.Keys(l.Files)); !slices.Equal(names, []string{"mpi/agent", "roster.json"}) {
		t.Errorf("files %v", names)
	}
	if strings.Contains(string(l.Files["roster.json"]), "10.0.0.9") {
		t.Error("the roster file tells where executors listen")
	}
}

func TestAProgramIsStartedByMpirun(t *testing.T) {
	for _, tc := range []struct {
		command spec.Command
		want    []string
	}{
		{spec.Command{Shell: "python3 train.py > log"}, []string{"mpirun", "-np", "4", "bash", "-c", "python3 train.py > log"}},
		{spec.Command{Argv: []string{"./solve", "a b"}}, []string{"mpirun", "-np", "4", "./solve", "a b"}},
		{spec.Command{Argv: []string{"/opt/mpi/bin/mpiexec", "-n", "3", "./solve"}}, []string{"/opt/mpi/bin/mpiexec", "-n", "3", "./solve"}},
		{spec.Command{Shell: "A=1 exec mpiexec.hydra ./solve"}, []string{"bash", "-c", "A=1 exec mpiexec.hydra ./solve"}},
		{spec.Command{Shell: "for i in 1 2; do mpirun ./solve $i; done"}, []string{"bash", "-c", "for i in 1 2; do mpirun ./solve $i; done"}},
		{spec.Command{Shell: "x=$(timeout 60 mpirun ./solve)"}, []string{"bash", "-c", "x=$(timeout 60 mpirun ./solve)"}},
		{spec.Command{Argv: []string{"nice", "-n", "5", "mpirun", "./solve"}}, []string{"nice", "-n", "5", "mpirun", "./solve"}},
		{spec.Command{Shell: "echo mpirun"}, []string{"mpirun", "-np", "4", "bash", "-c", "echo mpirun"}},
	} {
		w := frameworktest.Role("worker", 2, 2)
		w.Command = tc.command
		p := frameworktest.Build(t, Framework{}, w)
		if d := cmp.Diff(tc.want, frameworktest.Launch(t, Framework{}, p, roster(p, ""), "worker/0").Argv); d != "" {
			t.Error(d)
		}
	}
}

// Tasks that share a machine would give their ranks' shared memory one name.
func TestTasksOnOneMachineMeetOverTheNetwork(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, role("worker", 2, 1, "./solve"))
	btl := func(r *plan.Roster) map[string]string {
		got := map[string]string{}
		for name, v := range frameworktest.Launch(t, Framework{}, p, r, "worker/1").Default {
			if strings.HasPrefix(name, "OMPI_MCA_btl") || strings.HasSuffix(name, "_include") || name == "OMPI_MCA_coll" {
				got[name] = v
			}
		}
		return got
	}
	iface := map[string]string{"OMPI_MCA_oob_tcp_if_include": "${muster.iface}", "PRTE_MCA_prte_if_include": "${muster.iface}"}
	if d := cmp.Diff(iface, btl(roster(p, ""))); d != "" {
		t.Error(d)
	}
	r := roster(p, "n1")
	want := map[string]string{"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_coll": "^han"}
	maps.Copy(iface, want)
	if d := cmp.Diff(iface, btl(r)); d != "" {
		t.Error(d)
	}
	for i := range r.Members {
		r.Members[i].Host = "127.0.0.1"
	}
	want["OMPI_MCA_btl_tcp_if_include"] = "lo"
	if d := cmp.Diff(want, btl(r)); d != "" {
		t.Error(d)
	}
}

func TestRolesShareOneWorld(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, role("master", 1, 1, "./solve"), role("worker", 2, 2, "./other"), role("evaluator", 1, 1, "./look"))
	want := []string{"master: stop job wait ends ranks, ports", "worker: stop job wait ranks, ports", "evaluator: tolerate task, ports main"}
	if d := cmp.Diff(want, frameworktest.Policies(p)); d != "" {
		t.Error(d)
	}
	told := []string{"roles.worker.command: is not used: mpirun in master/0 starts one program for all ranks"}
	if d := cmp.Diff(told, p.Warnings); d != "" {
		t.Error(d)
	}
	r := roster(p, "")
	l := frameworktest.Launch(t, Framework{}, p, r, "master/0")
	if d := cmp.Diff([]string{"mpirun", "-np", "5", "bash", "-c", "./solve"}, l.Argv); d != "" {
		t.Error(d)
	}
	if got := string(l.Files["mpi/hydra"]); got != "master-0:1\nworker-0:2\nworker-1:2\n" {
		t.Errorf("hosts %q", got)
	}
	if got := frameworktest.Launch(t, Framework{}, p, r, "worker/1").Argv[2]; got != "exec ${muster.agent} --await master-0" {
		t.Errorf("worker/1 runs %q", got)
	}
}

// The stages of a job have worlds of their own.
func TestAStageWaitsForItsOwnMpirun(t *testing.T) {
	p := frameworktest.Build(t, Framework{}, role("fetch", 1, 1, "./fetch"), frameworktest.After(role("train", 2, 1, "./train"), "fetch"))
	if len(p.Warnings) > 0 { // each runs its own command
		t.Errorf("warnings %q", p.Warnings)
	}
	l := frameworktest.Launch(t, Framework{}, p, roster(p, ""), "train/1")
	if l.Argv[2] != "exec ${muster.agent} --await train-0" {
		t.Errorf("train/1 runs %q", l.Argv)
	}
}

func TestWhatIsReservedOrTooMuchIsTold(t *testing.T) {
	w := role("worker", 2, 2, "mpirun --bind-to core -np 8 ./solve -np 3")
	w.Env = map[string]spec.EnvValue{"HYDRA_ENV": {Value: "all"}, "OMPI_MCA_btl": {Value: "self,vader"}}
	want := []string{
		"roles.worker.command: asks for 8 ranks, but tasks times procs are 4: OpenMPI refuses that and MPICH crowds them together",
		"roles.worker.env.HYDRA_ENV: reserved: muster sets it for every mpi task, the value written here is not used",
	}
	if d := cmp.Diff(want, frameworktest.Build(t, Framework{}, w).Warnings); d != "" {
		t.Error(d)
	}
	want = []string{"roles.worker.command: asks for 5 ranks, but tasks times procs are 4: OpenMPI refuses that and MPICH crowds them together"}
	if d := cmp.Diff(want, frameworktest.Build(t, Framework{}, role("worker", 2, 2, "mpirun -np 1 ./a : -np 4 ./b")).Warnings); d != "" {
		t.Error(d)
	}
	for _, fine := range []string{"mpirun -np 1 ./a -np 3 : -np 3 ./b", "mpirun ./solve -np 9", "mpirun -np 4 ./solve", "mpiexec -n 2 ./a", "python3 train.py -np 9"} {
		if w := frameworktest.Build(t, Framework{}, role("worker", 2, 2, fine)).Warnings; w != nil {
			t.Errorf("%s: %q", fine, w)
		}
	}
}
