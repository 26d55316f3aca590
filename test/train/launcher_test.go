//go:build frameworks

package train

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// withTee lets the torchrun of Debian's PyTorch 1.13 work on Python 3.11, which
// without it takes a number that means "nowhere" for no number at all.
func withTee(t *testing.T) {
	t.Setenv("PET_REDIRECTS", "1")
	t.Setenv("PET_TEE", "1")
}

// foundTheLine demands that the loss fell and that each rank told once what it
// found, which the program has checked, and returns the tasks by rank.
func foundTheLine(t *testing.T, log string, ranks int) []string {
	t.Helper()
	losses := All(`step \d+: loss (\d+\.\d+)`, log)
	if len(losses) != 4 || losses[3][1] > losses[0][1] {
		t.Errorf("losses %v, want four that fall", losses)
	}
	tasks := make([]string, ranks)
	for _, m := range All(`rank (\d+) of (\d+) in (worker/\d)`, log) {
		rank, err := strconv.Atoi(m[1])
		if err != nil || rank >= ranks || tasks[rank] != "" || m[2] != strconv.Itoa(ranks) {
			t.Errorf("not expected: %s", m[0])
			continue
		}
		tasks[rank] = m[3]
	}
	if slices.Contains(tasks, "") {
		t.Fatalf("of %d ranks these tasks told a line: %q:\n%s", ranks, tasks, log)
	}
	return tasks
}

func TestTorchrunMeetsAtTheEndpointOfTheRoster(t *testing.T) {
	withTee(t)
	w := newWorld(t)
	id, said := w.run("torchrun", "--python", python(t, "torch"), "../../examples/torchrun/job.yaml")
	const want = "muster: torchrun: 2 tasks of 2 processes, framework pytorch; not taken over: --node-rank 0 (muster gives the ranks); " +
		"--master-addr node1, --master-port 29500 (muster gives the endpoint)\n"
	if !strings.Contains(said, want) {
		t.Errorf("said %q, want %q in it", said, want)
	}
	tasks := foundTheLine(t, w.logs(id, "--no-prefix"), 4)
	if !slices.Equal(tasks, []string{"worker/0", "worker/0", "worker/1", "worker/1"}) {
		t.Errorf("ranks ran in %v", tasks)
	}
}

func TestTorchrunMeetsByItsOwnRendezvousInRankZerosTask(t *testing.T) {
	withTee(t)
	w := newWorld(t)
	id, said := w.run("elastic torchrun", "--python", python(t, "torch"), "../../examples/torchrun/elastic.yaml")
	if !strings.Contains(said, "1..2 tasks of 2 processes") || !strings.Contains(said, "--rdzv-endpoint node1.example:29400 (muster gives the endpoint)") {
		t.Errorf("said %q", said)
	}
	tasks := foundTheLine(t, w.logs(id, "--no-prefix"), 4)
	slices.Sort(tasks) // which node is first is torchrun's to say
	if !slices.Equal(tasks, []string{"worker/0", "worker/0", "worker/1", "worker/1"}) {
		t.Errorf("ranks ran in %v", tasks)
	}
}

// The line as people type it. The program torchrun is what pip installs: Python
// with a module.
func TestALineOfTorchrunRunsAsItIs(t *testing.T) {
	withTee(t)
	w := newWorld(t)
	bin := t.TempDir()
	script := "#!/bin/sh\nexec " + python(t, "torch") + " -m torch.distributed.run \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "torchrun"), []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	id, _ := w.run("muster run -- torchrun", "--workdir", "../../examples/torchrun", "--", "torchrun", "--nnodes", "2", "--nproc-per-node", "1", "train.py")
	foundTheLine(t, w.logs(id, "--no-prefix"), 2)
}

func TestALineOfAccelerateWithoutGPUsRunsItsProgramOnEveryRank(t *testing.T) {
	w := newWorld(t)
	id, said := w.run("accelerate", "--python", python(t, "accelerate"), "../../examples/accelerate/job.yaml")
	if !strings.Contains(said, "muster: accelerate launch: 2 tasks of 2 processes, framework pytorch; not taken over: --machine_rank 0 (muster gives the ranks)") {
		t.Errorf("said %q", said)
	}
	tasks := foundTheLine(t, w.logs(id, "--no-prefix"), 4)
	if !slices.Equal(tasks, []string{"worker/0", "worker/0", "worker/1", "worker/1"}) {
		t.Errorf("ranks ran in %v", tasks)
	}
}

// Accelerate's own launcher, which is torchrun inside: it is told to launch for
// GPUs, and the program then uses none.
func TestAccelerateLaunchRunsOnceInATask(t *testing.T) {
	withTee(t)
	w := newWorld(t)
	python := python(t, "accelerate")
	t.Setenv("PATH", filepath.Dir(python)+":"+os.Getenv("PATH"))
	id, said := w.run("accelerate launch", "--workdir", "../../examples/accelerate", "--gpus", "0", "--",
		"accelerate", "launch", "--multi_gpu", "--num_processes=2", "--num_machines", "2", "--same_network", "--mixed_precision", "no", "--tee", "1", "train.py")
	if !strings.Contains(said, "roles.worker.gpus: 0 holds; the line says --multi_gpu") {
		t.Errorf("said %q", said)
	}
	tasks := foundTheLine(t, w.logs(id, "--no-prefix"), 2)
	if !slices.Equal(tasks, []string{"worker/0", "worker/1"}) {
		t.Errorf("ranks ran in %v", tasks)
	}
}

// Both families, with the options by which they reach other hosts by themselves.
func TestALineOfMpirunRunsAsItIs(t *testing.T) {
	w := newWorld(t)
	for _, line := range [][]string{
		{"mpirun.openmpi", "-np", "4", "-H", "h1:2,h2:2", "--mca", "plm_rsh_agent", "ssh", "sh", "-c", "echo rank $OMPI_COMM_WORLD_RANK in $MUSTER_TASK"},
		{"mpirun.mpich", "-n", "4", "-ppn", "2", "-hosts", "h1,h2", "-launcher", "ssh", "sh", "-c", "echo rank $PMI_RANK in $MUSTER_TASK"},
	} {
		id, said := w.run(line[0], append([]string{"--"}, line...)...)
		if !strings.Contains(said, "muster: mpirun: 2 tasks of 2 processes, framework mpi; not taken over: -") {
			t.Errorf("said %q", said)
		}
		got := strings.Fields(w.logs(id, "--no-prefix"))
		slices.Sort(got)
		want := strings.Fields("0 1 2 3 in in in in rank rank rank rank worker/0 worker/0 worker/1 worker/1")
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v", line[0], got)
		}
	}
}
