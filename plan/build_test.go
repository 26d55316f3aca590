package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/spec"
)

// local can do what one machine can.
var local = Capabilities{Backend: "local", SharedFiles: true, Lease: time.Hour}

func yesNo(b bool) *bool { return &b }

func number(n int) *int { return &n }

func run(text string) spec.Command { return spec.Command{Shell: text} }

// role is a role with a command and n tasks.
func role(name string, n int) spec.NamedRole {
	return spec.NamedRole{Name: name, Role: spec.Role{Command: run("true"), Instances: spec.Count{Min: n, Max: n}}}
}

func with(r spec.NamedRole, change func(*spec.Role)) spec.NamedRole {
	change(&r.Role)
	return r
}

func build(t *testing.T, job *spec.Job) *Plan {
	t.Helper()
	p, err := Build(job, nil, local, Options{ID: "m-aaaaaaaaaa", User: "ada", Dir: "/home/ada"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestBuildFillsEveryDefault(t *testing.T) {
	job := &spec.Job{Name: "one", Role: spec.Role{Command: run("python train.py")}}
	got := build(t, job)
	timing := DefaultTiming()
	timing.Lease = spec.Duration(time.Hour)
	want := &Plan{
		Version: PlanVersion, ID: "m-aaaaaaaaaa", Name: "one", User: "ada", Backend: "local", Timing: timing,
		Logs: spec.Logs{MaxSize: 256 << 20, Keep: 3},
		Roles: []Role{{
			Name: "task", Instances: spec.Count{Min: 1, Max: 1}, Procs: 1, Resources: Resources{CPUs: 1},
			Command: run("python train.py"), Wait: true, OnFailure: spec.FailureStop, RestartScope: spec.ScopeTask,
			Counted: true, StopGrace: spec.Duration(30 * time.Second),
		}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestBuildKeepsWhatIsWritten(t *testing.T) {
	job := &spec.Job{
		On: "yarn:prod", Queue: "research", Priority: 3, Lease: spec.Duration(time.Minute),
		Workdir: spec.Workdir{Path: "src"},
		Files:   []spec.File{{Source: "conf.json"}, {Source: "hdfs:///d/digits.zip", Name: "data", Archive: true}},
		Native:  map[string]any{"yarn": map[string]any{"node_label": "gpu"}, "slurm": map[string]any{"optional": true}},
		Role:    spec.Role{Env: map[string]spec.EnvValue{"A": {Value: "1"}}, CPUs: 2, StopGrace: spec.Duration(time.Minute), Command: run("top")},
		Roles: spec.Roles{
			with(role("worker", 2), func(r *spec.Role) { r.Command = spec.Command{}; r.Env = map[string]spec.EnvValue{"B": {Value: "2"}} }),
			with(role("chief", 1), func(r *spec.Role) { r.CPUs = 4; r.Ports = map[string]int{"web": 8080, "api": 0} }),
		},
	}
	p := build(t, job)
	type facts struct {
		Backend, Site, Queue string
		Priority             int
		Lease                spec.Duration
		Work                 Work
		Native               map[string]any
		Env                  map[string]spec.EnvValue
		Names                []string
		CPUs                 []float64
		Commands             []string
		Grace                []spec.Duration
		Ports                []Port
	}
	got := facts{Backend: p.Backend, Site: p.Site, Queue: p.Queue, Priority: p.Priority, Lease: p.Timing.Lease, Work: p.Work,
		Native: p.Native, Env: p.Env, Ports: p.Roles[0].Ports}
	for _, r := range p.Roles {
		got.Names = append(got.Names, r.Name)
		got.CPUs = append(got.CPUs, r.Resources.CPUs)
		got.Commands = append(got.Commands, r.Command.Shell)
		got.Grace = append(got.Grace, r.StopGrace)
	}
	minute := spec.Duration(time.Minute)
	want := facts{
		Backend: "yarn", Site: "prod", Queue: "research", Priority: 3, Lease: minute,
		Work: Work{Source: "/home/ada/src", Files: []File{
			{Source: "/home/ada/conf.json", Name: "conf.json"}, {Source: "hdfs:///d/digits.zip", Name: "data", Unpack: true}}},
		Native: map[string]any{"yarn": map[string]any{"node_label": "gpu"}},
		Env:    map[string]spec.EnvValue{"A": {Value: "1"}},
		Names:  []string{"chief", "worker"}, // rank 0 is the chief's
		CPUs:   []float64{4, 2}, Commands: []string{"true", "top"}, Grace: []spec.Duration{minute, minute},
		Ports: []Port{{Name: "api"}, {Name: "web", Number: 8080}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestBuildTellsEveryProblemAtOnce(t *testing.T) {
	job := &spec.Job{
		Workdir: spec.Workdir{Path: "/w", InPlace: true},
		Native:  map[string]any{"yarn": map[string]any{}},
		Roles: spec.Roles{
			with(role("worker", 2), func(r *spec.Role) { r.Image = "torch:2"; r.GPUs, r.Procs = 2, 3 }),
		},
	}
	_, err := Build(job, nil, Capabilities{}, Options{})
	want := strings.Join([]string{
		`native.yarn: settings for "yarn", but the job runs on "local"`,
		`    remove it, or write optional: true in it`,
		`roles.worker.procs: 3 processes for 2 GPUs of a task: two would share a device without having asked for it`,
		`    write as many GPUs as processes, or gpus: 0 and choose devices in the program`,
		`workdir.in_place: nodes of "local" do not see the directory /w`,
		`    leave it out: each task then gets a copy`,
		`roles.worker.image: "local" cannot run container images yet`,
		`    leave it out, or choose a backend with containers by on:`,
	}, "\n")
	if _, ok := errors.AsType[*Refusal](err); !ok {
		t.Fatalf("got %v, want a Refusal", err)
	}
	if d := cmp.Diff(want, err.Error()); d != "" {
		t.Error(d)
	}
}

func TestBuildWarnsWithoutRefusing(t *testing.T) {
	job := &spec.Job{Roles: spec.Roles{with(role("worker", 3), func(r *spec.Role) { r.Instances.Max = 4 })}}
	got := build(t, job).Warnings
	want := []string{"roles.worker.instances: 3..4: starts with any number in this range that the cluster grants; " +
		"the number of ranks may change from epoch to epoch"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// preparer is a framework that asks for one thing.
type preparer func(*Draft)

func (preparer) Name() string       { return "test" }
func (f preparer) Prepare(d *Draft) { f(d) }

func TestBuildHeedsTheFramework(t *testing.T) {
	job := &spec.Job{Framework: "other", Roles: spec.Roles{with(role("worker", 1), func(r *spec.Role) { r.Wait = yesNo(true) })}}
	var openWait, openScope bool
	p, err := Build(job, preparer(func(d *Draft) {
		openWait, openScope = d.Open("worker", "wait"), d.Open("worker", "restart_scope")
		d.Plan.Roles[0].RestartScope = spec.ScopeJob
		d.Report(Finding{Path: "roles.worker", Problem: "odd", Warning: true})
	}), local, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Framework != "test" || openWait || !openScope || p.Roles[0].RestartScope != spec.ScopeJob {
		t.Errorf("framework %q, wait open %v, scope open %v, scope %q", p.Framework, openWait, openScope, p.Roles[0].RestartScope)
	}
	if d := cmp.Diff([]string{"roles.worker: odd"}, p.Warnings); d != "" {
		t.Error(d)
	}
	_, err = Build(job, preparer(func(d *Draft) { d.Report(Finding{Path: "roles.worker", Problem: "no"}) }), local, Options{})
	if err == nil || err.Error() != "roles.worker: no" {
		t.Errorf("got %v, want the framework's refusal", err)
	}
}
