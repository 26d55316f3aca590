//go:build frameworks

package train

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-project/muster/event"
)

// mpi is one of the two families: its mpirun, what mpi4py must be told, and how
// it names itself.
type mpi struct {
	mpirun  string
	env     map[string]string
	library string
}

func families(t *testing.T) map[string]mpi {
	t.Helper()
	python := python(t, "mpi")
	return map[string]mpi{
		"openmpi": {"mpirun.openmpi", map[string]string{"MPI4PY_MPIABI": "openmpi"}, "Open MPI v4"},
		"mpich": {"mpirun.mpich", map[string]string{"MPI4PY_MPIABI": "mpich",
			"LD_LIBRARY_PATH": filepath.Join(filepath.Dir(filepath.Dir(python)), "mpich")}, "MPICH Version"},
	}
}

// run are the arguments that run the example with this family, and mpirun with
// args.
func (m mpi) run(t *testing.T, args string) []string {
	t.Helper()
	command, err := json.Marshal(m.mpirun + " -np 4 " + args) // is YAML, too
	if err != nil {
		t.Fatal(err)
	}
	out := []string{"run", "-o", "json", "--python", python(t, "mpi"), "--set", "command=" + string(command)}
	for k, v := range m.env {
		out = append(out, "--env", k+"="+v)
	}
	return append(out, "../../examples/mpi-allreduce/job.yaml")
}

// summed demands that four ranks, two in each of two tasks, had the right sums
// from the library that was meant. It returns on which nodes they ran.
func summed(t *testing.T, m mpi, log string) []string {
	t.Helper()
	lines := All(`rank (\d) of 4 in (worker/\d) on (\S+): pi is 3\.1415926536, 0 sums wrong, (.+)`, log)
	var ranks, nodes []string
	for _, l := range lines {
		ranks = append(ranks, l[1]+" "+l[2])
		nodes = append(nodes, l[3])
		if !strings.HasPrefix(l[4], m.library) {
			t.Errorf("rank %s has %s, want %s", l[1], l[4], m.library)
		}
	}
	slices.Sort(ranks)
	if want := []string{"0 worker/0", "1 worker/0", "2 worker/1", "3 worker/1"}; !slices.Equal(ranks, want) {
		t.Fatalf("ranks %q, want %q:\n%s", ranks, want, log)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

func TestMPIAddsUpInTwoTasksOfOneMachine(t *testing.T) {
	for name, m := range families(t) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			out, _, status := w.muster(m.run(t, "python3 allreduce.py")...)
			var end ended
			if err := json.Unmarshal([]byte(out), &end); err != nil || status != 0 || end.Outcome.State != event.Succeeded {
				t.Fatalf("status %d, %v, outcome %+v; want success", status, err, end.Outcome)
			}
			summed(t, m, w.logs(end.ID, "--no-prefix"))
		})
	}
}

// A rank that dies takes the job with it, whatever task it is in; the verdict
// says what mpirun said, and a task that only waited is no cause.
func TestARankOfMPIThatDiesIsTheVerdict(t *testing.T) {
	for name, m := range families(t) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			program := `import os, signal, sys; from mpi4py import MPI; w = MPI.COMM_WORLD
if w.rank == 3:
    print("rank 3 dies in", os.environ["MUSTER_TASK"], file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
w.Barrier()`
			out, _, status := w.muster(m.run(t, "python3 -c '"+program+"'")...)
			var end ended
			if err := json.Unmarshal([]byte(out), &end); err != nil || status == 0 || end.Outcome.State != event.Failed {
				t.Fatalf("status %d, %v, outcome %+v; want failure", status, err, end.Outcome)
			}
			if end.Outcome.Task.String() != "worker/0" || end.Outcome.Class != event.ClassExit {
				t.Errorf("the verdict is %+v, want worker/0 with mpirun's status", end.Outcome)
			}
			if log := w.logs(end.ID, "--no-prefix"); !strings.Contains(log, "rank 3 dies in worker/1") {
				t.Errorf("rank 3 did not die in worker/1:\n%s", log)
			}
		})
	}
}

// The executor of the second task is killed outright while ranks run: what it
// had started ends, and so does the job. The world's end looks for what is left.
func TestNothingOfMPIIsLeftWhenAnExecutorIsKilled(t *testing.T) {
	for name, m := range families(t) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			program := `import os, time; from mpi4py import MPI; w = MPI.COMM_WORLD
w.Barrier()
if w.rank == 3:
    guardian = os.getppid()
    while open(f"/proc/{guardian}/cmdline").read().split("\0")[-2] != "guardian":
        guardian = int(open(f"/proc/{guardian}/stat").read().rsplit(")")[1].split()[1])
    executor = int(open(f"/proc/{guardian}/stat").read().rsplit(")")[1].split()[1])
    os.kill(executor, 9)
time.sleep(600)`
			out, _, status := w.muster(m.run(t, "python3 -c '"+program+"'")...)
			var end ended
			if err := json.Unmarshal([]byte(out), &end); err != nil || status == 0 || end.Outcome.State != event.Failed {
				t.Fatalf("status %d, %v, outcome %+v; want failure", status, err, end.Outcome)
			}
			if end.Outcome.Task.String() != "worker/1" || end.Outcome.Class != event.ClassLost {
				t.Errorf("the verdict is %+v, want worker/1 lost", end.Outcome)
			}
			if !strings.Contains(end.Outcome.Text, "executor was killed by SIGKILL") {
				t.Errorf("the verdict says %q", end.Outcome.Text)
			}
		})
	}
}
