package launcher

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/spec/command"
)

var update = flag.Bool("update", false, "write the golden files anew")

// files are those that lines of the tests name.
func files(name string) ([]byte, error) {
	text, ok := map[string]string{
		"hosts":  "# two hosts\nh1 slots=4\nh2 slots=4 max_slots=8\n",
		"broken": "h1 slots=4\nh2 slots=many\n",
		"config.yaml": "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\ngpu_ids: all\nmachine_rank: 0\n" +
			"main_process_ip: 10.0.0.1\nmain_process_port: 29500\nmixed_precision: fp16\nnum_machines: 2\nnum_processes: 8\nuse_cpu: false\n",
		"cpu.yaml": "distributed_type: MULTI_CPU\nnum_machines: 1\nnum_processes: 2\nuse_cpu: true\n",
	}[name]
	if !ok {
		return nil, errors.New("no such file")
	}
	return []byte(text), nil
}

// describe is a reading for people, everything that it says.
func describe(r *Reading) string {
	var b strings.Builder
	line := func(key string, value any) { fmt.Fprintf(&b, "  %-10s %v\n", key, value) }
	if r == nil {
		return "  nothing\n"
	}
	line("framework", r.Framework)
	if r.Instances != (spec.Count{}) {
		line("instances", r.Instances)
	}
	for _, n := range []struct {
		key string
		n   int
	}{{"procs", r.Procs}, {"total", r.Total}, {"gpus", r.GPUs}} {
		if n.n != 0 {
			line(n.key, n.n)
		}
	}
	if r.Devices {
		line("gpus", "one for each process")
	}
	if r.Restarts != nil {
		line("restarts", *r.Restarts)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		line("env", name+"="+r.Env[name].Value)
	}
	switch {
	case r.Command.Shell != "":
		line("shell", r.Command.Shell)
	case r.Command.Argv != nil:
		line("runs", strings.Join(r.Command.Argv, " "))
	}
	if left := r.NotTaken(); left != "" {
		line("not taken", left)
	}
	for _, remark := range r.Remarks {
		line("remark", remark)
	}
	return b.String()
}

// asWritten is a line as a job file has it, and, where it is a plain command,
// as the words that "muster run --" gets.
func asWritten(line string) (shell, argv *Reading) {
	shell = Read(spec.Command{Shell: line}, files)
	if words := command.Words(line); words != nil {
		argv = Read(spec.Command{Argv: words}, files)
	}
	return shell, argv
}

// The golden file is a table of what is understood: read it as documentation.
func TestLinesOfTheFieldAreUnderstood(t *testing.T) {
	input, err := os.ReadFile("testdata/lines")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(input)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			fmt.Fprintf(&got, "%s\n\n", line)
			continue
		}
		shell, argv := asWritten(line)
		fmt.Fprintf(&got, "$ %s\n%s\n", line, describe(shell))
		if argv == nil || shell == nil {
			continue
		}
		// Words of an argument list mean the same as those of a shell's line.
		if words := command.Words(shell.Command.Shell); words != nil {
			shell.Command = spec.Command{Argv: words}
		}
		shell.Command.Shell = strings.TrimPrefix(shell.Command.Shell, "exec ")
		argv.Command.Shell = strings.TrimPrefix(argv.Command.Shell, "exec ")
		if d := cmp.Diff(describe(shell), describe(argv)); d != "" {
			t.Errorf("%s: as a line of a shell and as a list:\n%s", line, d)
		}
	}
	const golden = "testdata/lines.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Error(d)
	}
}
