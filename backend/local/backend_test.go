package local

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

var update = flag.Bool("update", false, "write goldens anew")

func sample() *plan.Plan {
	return &plan.Plan{Version: plan.PlanVersion, ID: "m-aaaaaaaaaa", Name: "digits", Backend: "local", Timing: plan.DefaultTiming(),
		Roles: []plan.Role{
			{Name: "chief", Instances: spec.Count{Min: 1, Max: 1}, Procs: 1, Resources: plan.Resources{CPUs: 1}, Command: spec.Command{Argv: []string{"python", "train.py"}}},
			{Name: "worker", Instances: spec.Count{Min: 1, Max: 3}, Procs: 2, Resources: plan.Resources{CPUs: 2, Memory: 4 * gib, GPUs: 1}, Command: spec.Command{Shell: `python train.py --tag "a b"`}},
		}}
}

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		change  func(*plan.Plan)
		trouble string
		claims  string
		want    []string // path, and ! for what is only a warning
	}{
		"nothing to say":                {func(*plan.Plan) {}, "", "", nil},
		"an image":                      {func(p *plan.Plan) { p.Roles[0].Image = "pytorch:2" }, "", "", []string{"roles.chief.image"}},
		"a Python that is built":        {func(p *plan.Plan) { p.Python.Requirements, p.Python.Env = "r.txt", "/shelf/1/env" }, "", "", nil},
		"an archive":                    {func(p *plan.Plan) { p.Python.Archive = "env.tar.gz" }, "", "", nil},
		"an archive elsewhere":          {func(p *plan.Plan) { p.Python.Archive = "hdfs:///env.tar.gz" }, "", "", []string{"python.archive"}},
		"a venv is fine":                {func(p *plan.Plan) { p.Python.Venv = ".venv" }, "", "", nil},
		"too many GPUs":                 {func(p *plan.Plan) { p.Roles[1].Resources.GPUs = 5 }, "", "", []string{"roles.worker.gpus"}},
		"shared CPUs":                   {func(p *plan.Plan) { p.Roles[0].Resources.CPUs = 4 }, "", "", []string{"roles.chief.cpus!"}},
		"native settings":               {func(p *plan.Plan) { p.Native = map[string]any{"local": 1, "yarn": 2} }, "", "", []string{"native.local"}},
		"a sick driver":                 {func(*plan.Plan) {}, "GPUs: no answer", "", []string{"gpus"}},
		"claims that cannot be written": {func(*plan.Plan) {}, "", "claims: read-only", []string{"local"}},
		"a sick driver is nobody's business without GPUs": {func(p *plan.Plan) { p.Roles[1].Resources.GPUs = 0 }, "GPUs: no answer", "", nil},
	}
	m := box()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := sample()
			tc.change(p)
			var got []string
			for _, f := range check(p, api.Capacity{Node: "box", Capabilities: Capabilities(m), Processors: 2, Trouble: tc.trouble, Claims: tc.claims}) {
				path := f.Path
				if f.Warning {
					path += "!"
				} else if f.Hint == "" && f.Path != "native.local" && f.Path != "roles.worker.gpus" {
					t.Errorf("%s: no hint", f.Path)
				}
				got = append(got, path)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRender(t *testing.T) {
	got, err := New(nil).Render(sample())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range got {
		names = append(names, a.Name)
		path := filepath.Join("testdata", a.Name)
		if *update {
			if err := os.WriteFile(path, a.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(a.Data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", a.Name, diff)
		}
	}
	if diff := cmp.Diff([]string{"chief-0.start.json", "worker-0.start.json", "processes.txt"}, names); diff != "" {
		t.Error(diff)
	}
}
