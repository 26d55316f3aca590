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

func TestScriptOf(t *testing.T) {
	tests := map[string]struct {
		argv []string
		want string
	}{
		"a script":                     {[]string{"python", "train.py", "--epochs", "3"}, "train.py"},
		"flags of the interpreter":     {[]string{"python3", "-u", "-X", "dev", "x/train.py"}, ""},
		"only plain flags":             {[]string{"python3.11", "-u", "x/train.py"}, "x/train.py"},
		"a module":                     {[]string{"python", "-m", "train.py"}, ""},
		"a program in place":           {[]string{"./run", "train.py"}, "./run"},
		"torchrun's own flags":         {[]string{"torchrun", "--nproc-per-node", "2", "train.py"}, "train.py"},
		"another program's argument":   {[]string{"cat", "train.py"}, ""},
		"behind other programs":        {[]string{"timeout", "60", "/usr/bin/env", "A=B", "python", "train.py"}, "train.py"},
		"a shell's text":               {[]string{"bash", "-exc", "torchrun --nnodes 2 train.py"}, ""},
		"a shell script":               {[]string{"bash", "run.sh"}, "run.sh"},
		"nothing":                      {nil, ""},
		"what a program makes of data": {[]string{"python", "data.csv", "train.py"}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := scriptOf(tc.argv); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestLookAroundTellsAllThatIsMissing(t *testing.T) {
	e := testEnv(t)
	for name, text := range map[string]string{"w/train.py": "", "file": "", "brought/tool.py": ""} {
		path := filepath.Join(e.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		file string
		want []string
	}{
		"all is there":                {"workdir: w\nfiles: [file, brought]\ncommand: python train.py\n", nil},
		"a script that files: brings": {"workdir: w\nfiles: [brought]\ncommand: python brought/tool.py\n", nil},
		"a fetched file":              {"workdir: w\nfiles: ['hdfs:///x']\ncommand: python train.py\n", nil},
		"the work directory is a file": {"workdir: file\ncommand: 'true'\n",
			[]string{"job.yaml:1:10: workdir: file: is a file, a directory is expected"}},
		"an archive that is a directory": {"files: ['brought#archive']\ncommand: 'true'\n",
			[]string{"job.yaml:1:8: files[0]: brought: is a directory, an archive is expected"}},
		"an archive that is none": {"files: ['w/train.py::x#archive', 'file#archive']\ncommand: 'true'\n",
			[]string{"job.yaml:1:8: files[0]: w/train.py: is empty, an archive is expected", "job.yaml:1:8: files[1]: file: is empty, an archive is expected"}},
		"the whole machine": {"workdir: /\ncommand: 'true'\n",
			[]string{"job.yaml:1:10: workdir: /: is the whole machine, and would be packed"}},
		"the whole machine in place": {"workdir: {path: /, in_place: true}\ncommand: 'true'\n", nil},
		"everything at once": {"workdir: w\nfiles: [none]\npython: {venv: nix}\nroles:\n  a: {command: python gone.py}\n  b: {command: [./lost]}\n",
			[]string{
				"job.yaml:2:8: files[0]: none: no such file or directory",
				"job.yaml:3:9: python.venv: nix: no virtual environment: no bin/python in it",
				"job.yaml:5:16: roles.a.command: gone.py: no such file or directory in the work directory " + filepath.Join(e.Dir, "w"),
				"job.yaml:6:16: roles.b.command: ./lost: no such file or directory in the work directory " + filepath.Join(e.Dir, "w"),
			}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			stack := &spec.Stack{}
			stack.Add(spec.JobFile, "job.yaml", []byte(tc.file))
			resolved, err := stack.Resolve("ada")
			if err != nil {
				t.Fatal(err)
			}
			a := &assembly{env: e, file: "job.yaml", dir: e.Dir, resolved: resolved}
			a.fill()
			var got []string
			for _, problem := range a.lookAround() {
				got = append(got, problem.Error())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFileOrCommand(t *testing.T) {
	e := testEnv(t)
	for name, mode := range map[string]os.FileMode{"job": 0o666, "prog": 0o777, "train.py": 0o666} {
		if err := os.WriteFile(filepath.Join(e.Dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		args    []string
		file    string
		command []string
		problem string
	}{
		"a file":                      {[]string{"job.yaml"}, "job.yaml", nil, ""},
		"a file with another name":    {[]string{"job"}, "job", nil, ""},
		"standard input":              {[]string{"-"}, "-", nil, ""},
		"a command":                   {[]string{"--", "a", "--", "b"}, "", []string{"a", "--", "b"}, ""},
		"a file and a command":        {[]string{"job.yaml", "--", "a"}, "job.yaml", []string{"a"}, ""},
		"a script is no job file":     {[]string{"train.py"}, "", nil, "train.py: not a job file"},
		"a program is no job file":    {[]string{"prog"}, "", nil, "prog: not a job file"},
		"two files":                   {[]string{"a.yaml", "b.yaml"}, "", nil, "b.yaml: one job file is enough"},
		"nothing":                     {nil, "", nil, "run: no job file and no command"},
		"nothing after the separator": {[]string{"--"}, "", nil, "--: no command after it"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var file string
			var command []string
			var problem error
			cmd := &cobra.Command{Use: "run", SilenceErrors: true, SilenceUsage: true, RunE: func(cmd *cobra.Command, args []string) error {
				file, command, problem = e.fileOrCommand(cmd, args)
				return nil
			}}
			e.Args = append([]string{"muster", "run"}, tc.args...)
			cmd.SetArgs(append([]string{}, tc.args...))
			if err := cmd.Execute(); err != nil {
				t.Fatal(err)
			}
			if tc.problem != "" {
				if problem == nil || !strings.HasPrefix(problem.Error(), tc.problem) {
					t.Errorf("got %v, want %s", problem, tc.problem)
				}
				return
			}
			if problem != nil || file != tc.file || !cmp.Equal(command, tc.command) {
				t.Errorf("got %q, %q, %v", file, command, problem)
			}
		})
	}
}

func TestAJobIsCalledAfterItsFileOrWhatItsCommandRuns(t *testing.T) {
	for want, a := range map[string]assembly{
		"job":     {file: "x/job.yaml"},
		"stdin":   {file: "-"},
		"train":   {command: []string{"python", "-u", "src/train.py", "other.py"}},
		"echo":    {command: []string{"/bin/echo", "hi"}},
		"mpirun":  {command: []string{"timeout", "60", "nice", "mpirun", "-np", "2", "true"}},
		"timeout": {command: []string{"timeout", "60"}},
	} {
		if got := a.defaultName(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
