package plan_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/framework/plain"
	"github.com/muster-project/muster/framework/pytorch"
	"github.com/muster-project/muster/framework/tensorflow"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

var update = flag.Bool("update", false, "write the golden files anew")

func seconds(n int) spec.Duration { return spec.Duration(time.Duration(n) * time.Second) }

func tasks(name string, n int, change func(*spec.Role)) spec.NamedRole {
	r := spec.NamedRole{Name: name, Role: spec.Role{Instances: spec.Count{Min: n, Max: n}}}
	if change != nil {
		change(&r.Role)
	}
	return r
}

// The goldens are what "muster plan" prints; a reviewer reads them.
func TestFormat(t *testing.T) {
	two := 2
	for name, tc := range map[string]struct {
		job *spec.Job
		fw  framework.Framework
	}{
		"smallest": {
			&spec.Job{Role: spec.Role{Procs: 2, Command: spec.Command{Argv: []string{"echo", "a b", "$x"}}}}, plain.Framework{},
		},
		"tensorflow": {
			&spec.Job{
				Name: "digits", On: "local:lab", Queue: "research", Priority: 2,
				Workdir: spec.Workdir{Path: "src"},
				Files:   []spec.File{{Source: "hdfs:///data/digits.zip", Name: "data", Archive: true}, {Source: "conf.json"}},
				Timeout: spec.Timeout{Queue: seconds(7200), Start: seconds(600), Run: seconds(43200)},
				Role: spec.Role{
					Command: spec.Command{Shell: "python train.py --epochs 3"},
					Env:     map[string]spec.EnvValue{"DATA": {Value: "$HOME/data", Expand: true}, "MODE": {Value: "fast"}},
				},
				Roles: spec.Roles{
					tasks("ps", 1, func(r *spec.Role) { r.Memory = 2 << 30 }),
					tasks("worker", 3, func(r *spec.Role) {
						r.Instances.Max = 4
						r.CPUs, r.Memory, r.GPUs, r.Restarts = 2, 4<<30, 1, &two
						r.Env = map[string]spec.EnvValue{"TF_CONFIG": {Value: "{}"}}
					}),
					tasks("chief", 1, func(r *spec.Role) { r.CPUs, r.Memory = 2, 4<<30 }),
					tasks("evaluator", 1, func(r *spec.Role) {
						r.Command = spec.Command{Shell: "python evaluate.py\nsleep 1"}
						r.Linger = &spec.Linger{For: seconds(600), Then: "stop"}
						r.After = []spec.After{{Role: "chief", Is: spec.Ready}}
						r.MaxFailures = spec.Failures{Percent: 50}
					}),
				},
			}, tensorflow.Framework{},
		},
		"pytorch": {
			&spec.Job{
				Name: "ddp", Workdir: spec.Workdir{Path: ".", InPlace: true},
				Role: spec.Role{
					Command: spec.Command{Shell: "torchrun train.py"}, Instances: spec.Count{Min: 2, Max: 2},
					CPUs: 1.5, Procs: 2, Ports: map[string]int{"web": 8080},
				},
			}, pytorch.Framework{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.job.Framework = tc.fw.Name()
			p, err := plan.Build(tc.job, tc.fw, plan.Capabilities{SharedFiles: true, Lease: time.Hour},
				plan.Options{ID: "m-aaaaaaaaaa", User: "ada", Dir: "/home/ada"})
			if err != nil {
				t.Fatal(err)
			}
			var samples []plan.Sample
			for _, id := range p.Tasks() {
				if id.Index > 1 {
					continue // said to be likewise
				}
				l, err := tc.fw.Launch(p, plan.Example(p), id)
				if err != nil {
					t.Fatal(err)
				}
				samples = append(samples, plan.Sample{Task: id, Launch: l})
			}
			var got strings.Builder
			if err := plan.Format(&got, p, samples); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", name+".golden"), got.String())
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (go test -update writes it anew):\n%s", file, d)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestFormatTellsThatItCouldNotWrite(t *testing.T) {
	if err := plan.Format(full{}, &plan.Plan{}, nil); err == nil {
		t.Error("got no error from a writer that fails")
	}
}

// What the first task has and another lacks is told, too.
func TestAVariableThatIsMissingIsTold(t *testing.T) {
	p := &plan.Plan{Roles: []plan.Role{{Name: "w", Instances: spec.Count{Min: 4, Max: 4}}}}
	of := func(index int, env map[string]string, files ...string) plan.Sample {
		l := plan.Launch{Env: env, Files: map[string][]byte{}}
		for _, f := range files {
			l.Files[f] = nil
		}
		return plan.Sample{Task: plan.TaskID{Role: "w", Index: index}, Launch: l}
	}
	var got strings.Builder
	err := plan.Format(&got, p, []plan.Sample{
		of(0, map[string]string{"A": "1", "B": "2", "C": "3"}, "x"), of(1, map[string]string{"A": "1", "B": "4"}), of(2, map[string]string{"A": "1", "B": "2", "C": "3"}, "x"),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, tail, _ := strings.Cut(got.String(), "what w/0")
	want := ` sees, with hosts and ports made up
  A=1
  B=2
  C=3
  file x

what w/1 sees instead
  B=4
  C: not there
  x: not there

1 more of w: likewise; muster plan -o wide shows each
`
	if d := cmp.Diff(want, tail); d != "" {
		t.Error(d)
	}
}
