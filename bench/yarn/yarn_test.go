package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTableComparesWithTheFirstSystem(t *testing.T) {
	run := func(running, finished, cpu time.Duration, executor int64) figures {
		return figures{running: running, finished: finished, cpu: cpu, client: 20 << 20, master: 10 << 20, executor: executor << 20}
	}
	rows := []row{
		{system: "muster", tasks: 2, runs: []figures{
			run(5*time.Second, 9*time.Second, 4*time.Second, 9), // the slowest of three does not count
			run(time.Second, 4*time.Second, time.Second, 8),
			run(time.Second/2, 3*time.Second, time.Second/2, 7),
		}},
		{system: "peer", tasks: 2, runs: []figures{run(10*time.Second, 14*time.Second, 20*time.Second, 0)}},
		{system: "muster", tasks: 8, err: errors.New("no cluster")},
		{system: "peer", tasks: 8, runs: []figures{run(20*time.Second, 24*time.Second, 30*time.Second, 0)}},
	}
	want := `| tasks | | all running | | finished | CPU seconds | | client | master | executor |
|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|
| 2 | muster | 1.0 s |  | 4.0 s | 1.00 |  | 20 MiB | 10 MiB | 8 MiB |
| 2 | peer | 10.0 s | 10.0 × | 14.0 s | 20.00 | 20.0 × | 20 MiB | 10 MiB | – |
| 8 | muster | failed | | | | | | | |
| 8 | peer | 20.0 s |  | 24.0 s | 30.00 |  | 20 MiB | 10 MiB | – |
`
	if diff := cmp.Diff(want, table(rows)); diff != "" {
		t.Error(diff)
	}
}

func TestLatestIsTheLastTaskToRun(t *testing.T) {
	dir := t.TempDir()
	for name, at := range map[string]string{"1": "1796074156.250000\n", "2": "1796074157,500000\n", "3": "1796074155.0\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(at), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	last, count, err := latest(dir)
	if err != nil || count != 3 || last.UnixMilli() != 1796074157500 {
		t.Errorf("latest = %v, %d, %v", last, count, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "4"), []byte("soon"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := latest(dir); err == nil || !strings.HasPrefix(err.Error(), "4: ") {
		t.Errorf("a file that has no time: %v", err)
	}
}

// What belongs to the command is found by its parents, what belongs to a container
// by its environment; shells are nobody's memory.
func TestMeterTellsWhoseMemoryItIs(t *testing.T) {
	m := newMeter("LAB=/a:")
	m.root = -1 // so that children of this test are not the command
	container := exec.Command("tail", "-f", "/dev/null")
	container.Env = []string{"LAB=/a:nm1", "CONTAINER_ID=container_e02_1_0001_01_000001"}
	elsewhere := exec.Command("tail", "-f", "/dev/null")
	elsewhere.Env = []string{"LAB=/b:nm1", "CONTAINER_ID=container_e02_1_0001_01_000003"}
	shell := exec.Command("sleep", "600")
	shell.Env = []string{"LAB=/a:nm1", "CONTAINER_ID=container_e02_1_0001_01_000002"}
	for _, cmd := range []*exec.Cmd{container, elsewhere, shell} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cmd.Wait() }() // killed
		defer func() { _ = cmd.Process.Kill() }()
	}
	m.look()
	ofClient, ofMaster, ofExecutor := m.memory()
	if ofClient != 0 || ofMaster == 0 || ofExecutor != 0 {
		t.Errorf("client %d, master %d, executor %d; want the master's alone", ofClient, ofMaster, ofExecutor)
	}
	m = newMeter("LAB=/a:")
	m.before = map[int]bool{}
	m.root = os.Getpid()
	m.look()
	if ofClient, _, _ := m.memory(); ofClient == 0 {
		t.Error("the children of this process are not the command's")
	}
}

func TestProcessorTimeOfChildren(t *testing.T) {
	before := statOf(os.Getpid()).waited
	if err := exec.Command("bash", "-c", "for ((i = 0; i < 200000; i++)); do :; done").Run(); err != nil {
		t.Fatal(err)
	}
	if used := statOf(os.Getpid()).waited - before; used < 50*time.Millisecond || used > 20*time.Second {
		t.Errorf("a loop of 200,000 took %v of processor time", used)
	}
	if statOf(os.Getpid()).parent != os.Getppid() {
		t.Error("the parent is somebody else")
	}
}
