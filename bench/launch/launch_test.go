package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheTableComparesWithTheFirstSystem(t *testing.T) {
	run := func(ms int) figures {
		d := time.Duration(ms) * time.Millisecond
		return figures{running: d, ended: 2 * d, cpu: d}
	}
	ours, peer, away := system{name: "ours"}, system{name: "peer"}, system{name: "away", absent: "not installed"}
	var out strings.Builder
	print(&out, []*row{
		{system: ours, count: 1, runs: []figures{run(10), run(30), run(20)}, memory: memory{largest: 20 << 20, sum: 30 << 20, server: 9 << 20}},
		{system: peer, count: 1, runs: []figures{run(50)}, errs: []error{errors.New("hung")}},
		{system: away, count: 1},
		{system: ours, count: 8, errs: []error{errors.New("no")}},
		{system: peer, count: 8, runs: []figures{run(50)}},
		{system: away, count: 8},
	})
	want := `| processes | | all running | everything ended | | CPU seconds | | largest process | together | server |
|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|
| 1 | ours | 0.020 s | 0.040 s |  | 0.020 |  | 20 MiB | 30 MiB | 9 MiB |
| 1 | peer | 0.050 s | 0.100 s | 2.5 × | 0.050 | 2.5 × | – | – | – |
| 8 | ours | failed | | | | | | | |
| 8 | peer | 0.050 s | 0.100 s |  | 0.050 |  | – | – | – |

peer, 1 processes: 1 of 2 runs failed

away: not measured: not installed

ours, 8 processes: 1 of 1 runs failed
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestLatestIsTheLastMark(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"11": "1000000000", "12": "3000000000", "13": "2000000000"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	last, count, err := latest(dir)
	if err != nil || count != 3 || last.Unix() != 3 {
		t.Errorf("%v of %d, %v; want second 3 of 3", last, count, err)
	}
}

func TestBelowFindsAChildAndItsProgram(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if got := pids(below()); !slices.Contains(got, cmd.Process.Pid) {
		t.Errorf("%v does not have %d", got, cmd.Process.Pid)
	}
	if got := verb(cmd.Process.Pid); got != "1000" && got != "" { // empty until it has replaced us
		t.Errorf("its first argument is %q", got)
	}
}
