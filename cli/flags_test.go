package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/muster-project/muster/spec"
)

// withFlags resolves a job file under flags.
func withFlags(t *testing.T, e *Env, file string, args ...string) (*spec.Resolved, error) {
	t.Helper()
	var f jobFlags
	cmd := &cobra.Command{Use: "run"}
	cmd.SetGlobalNormalizationFunc(normalizeFlag)
	f.add(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	stack := &spec.Stack{}
	stack.Add(spec.JobFile, "job.yaml", []byte(file))
	if err := f.apply(e, cmd.Flags(), stack); err != nil {
		return nil, err
	}
	return stack.Resolve("ada")
}

func TestFlagsAreTheLastLayer(t *testing.T) {
	const short, long = "command: x\n", "command: x\nroles: {ps: {memory: 1GiB}, worker: {cpus: 8}}\n"
	tests := map[string]struct {
		file string
		args []string
		want map[string]string // path → value
	}{
		"tasks of the one role": {short, []string{"-N", "3..4", "-c", "2.5", "-G", "1"},
			map[string]string{"instances": "3..4", "cpus": "2.5", "gpus": "1"}},
		"words of other systems": {short, []string{"--nnodes", "2", "--mem", "4g", "--partition", "dl", "--gres", "gpu:a100:2"},
			map[string]string{"instances": "2", "memory": "4g", "queue": "dl", "gpus": "2"}},
		"underscores": {short, []string{"--num_executors=2", "--dry_run=false"}[:1], map[string]string{"instances": "2"}},
		"a flag means every role, over what it says itself": {long, []string{"--memory", "4GiB", "--role", "worker=4,ps=2"},
			map[string]string{"roles.ps.memory": "4GiB", "roles.worker.memory": "4GiB", "roles.worker.instances": "4", "roles.ps.instances": "2"}},
		"a value of the environment is text": {short, []string{"--env", "A=1", "--env", "B=x: [y", "--env", "C.D=e"},
			map[string]string{"env.A": `"1"`, "env.B": `"x: [y"`, `env."C.D"`: "e"}},
		"any key": {short, []string{"--set", "timeout.queue=2h", "--set", "restart_scope=job", "-t", "1-12:00:00"},
			map[string]string{"timeout.queue": "2h", "restart_scope": "job", "timeout.run": "1-12:00:00"}},
		"settings of the backend": {short, []string{"--on", "yarn:prod", "--native", "node_label=gpu"},
			map[string]string{"native.yarn.node_label": "gpu", "on": "yarn:prod"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			resolved, err := withFlags(t, testEnv(t), tc.file, tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, v := range resolved.Values {
				if _, wanted := tc.want[v.Path]; wanted {
					got[v.Path] = v.Value
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPathsInFlagsStartAtTheWorkingDirectory(t *testing.T) {
	e := testEnv(t)
	if err := os.MkdirAll(filepath.Join(e.Dir, "venv"), 0o777); err != nil {
		t.Fatal(err)
	}
	resolved, err := withFlags(t, e, "command: x\n", "--workdir", "src", "--files", "a/b.txt#c", "--files", "hdfs:///x/y", "--python", "venv")
	if err != nil {
		t.Fatal(err)
	}
	job := resolved.Job
	if job.Workdir.Path != filepath.Join(e.Dir, "src") || job.Python.Venv != filepath.Join(e.Dir, "venv") {
		t.Errorf("workdir %q, venv %q", job.Workdir.Path, job.Python.Venv)
	}
	want := []spec.File{{Source: filepath.Join(e.Dir, "a/b.txt"), Name: "c"}, {Source: "hdfs:///x/y"}}
	if diff := cmp.Diff(want, job.Files); diff != "" {
		t.Error(diff)
	}
}

func TestWhatPythonMeansIsSeenByWhatIsThere(t *testing.T) {
	e := testEnv(t)
	for name, text := range map[string]string{"torn.tar.gz": "", "torn.zip": "x", "some.txt": "six\n", "list": ""} {
		if err := os.WriteFile(filepath.Join(e.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for word, want := range map[string]any{
		"python3.11": "python3.11", "bin/python": filepath.Join(e.Dir, "bin/python"), "hdfs:///e.zip": map[string]string{"archive": "hdfs:///e.zip"},
		"gone.txt": map[string]string{"requirements": filepath.Join(e.Dir, "gone.txt")}, "gone.zip": map[string]string{"archive": filepath.Join(e.Dir, "gone.zip")},
		"torn.tar.gz": map[string]string{"archive": filepath.Join(e.Dir, "torn.tar.gz")}, "torn.zip": map[string]string{"archive": filepath.Join(e.Dir, "torn.zip")},
		"some.txt": map[string]string{"requirements": filepath.Join(e.Dir, "some.txt")}, "list": map[string]string{"requirements": filepath.Join(e.Dir, "list")},
	} {
		if diff := cmp.Diff(want, e.pythonValue(word)); diff != "" {
			t.Errorf("%s: %s", word, diff)
		}
	}
}

func TestAllProblemsOfFlagsAreTold(t *testing.T) {
	_, err := withFlags(t, testEnv(t), "command: x\n", "--role", "w", "--env", "=x", "--native", "y", "--set", "z", "--gres", "fpga:1", "--files", "a::b::c")
	for _, want := range []string{"--role w:", "--env =x:", "--native y:", "--set z:", "--gres fpga:1:", "--files"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not told in: %v", want, err)
		}
	}
}

func TestGres(t *testing.T) {
	for word, want := range map[string]int{"gpu": 1, "gpu:2": 2, "gpu:a100:4": 4} {
		if got, err := gresGPUs(word); err != nil || got != want {
			t.Errorf("%s: got %d, %v; want %d", word, got, err, want)
		}
	}
	for _, word := range []string{"", "gpu:", "gpu:x", "gpu:2x", "gpu:a:b:2", "gpu:-1"} {
		if n, err := gresGPUs(word); err == nil {
			t.Errorf("%s: got %d, want an error", word, n)
		}
	}
}
