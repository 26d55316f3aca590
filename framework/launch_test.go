package framework_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/framework/plain"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

func role(name string, n, procs int) spec.NamedRole {
	return spec.NamedRole{Name: name, Role: spec.Role{
		Command: spec.Command{Shell: "true"}, Procs: procs, Instances: spec.Count{Min: n, Max: n}}}
}

func build(t *testing.T, job *spec.Job) *plan.Plan {
	t.Helper()
	p, err := plan.Build(job, plain.Framework{}, plan.Capabilities{}, plan.Options{ID: "m-aaaaaaaaaa"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// roster puts two tasks on each node.
func roster(p *plan.Plan, epoch, incarnation int, reason string) *plan.Roster {
	var present []plan.Registration
	for i, id := range p.Tasks() {
		host := fmt.Sprintf("node-%d", i/2)
		ports := map[string]int{}
		for n, port := range p.Role(id.Role).Ports {
			ports[port.Name] = 40000 + 10*i + n
		}
		present = append(present, plan.Registration{Task: id, Incarnation: incarnation, Node: host, Host: host, Ports: ports})
	}
	return plan.BuildRoster(p, epoch, reason, present, nil)
}

func common(t *testing.T, p *plan.Plan, r *plan.Roster, id plan.TaskID) plan.Launch {
	t.Helper()
	l, _, err := framework.Common(p, r, id)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestEveryTaskSeesItself(t *testing.T) {
	p := build(t, &spec.Job{Roles: spec.Roles{role("worker", 3, 2), role("tensorboard", 1, 1)}})
	l := common(t, p, roster(p, 1, 1, "start"), plan.TaskID{Role: "worker", Index: 1})
	want := plan.Launch{
		Argv: []string{"bash", "-c", "true"},
		Env: map[string]string{
			"MUSTER_JOB": "m-aaaaaaaaaa", "MUSTER_TASK": "worker/1", "MUSTER_ROLE": "worker", "MUSTER_INDEX": "1",
			"MUSTER_TASKS": "3", "MUSTER_PROCS": "2", "MUSTER_WORLD_SIZE": "6", "MUSTER_EPOCH": "1",
			"MUSTER_RESTART_REASON": "", "MUSTER_PORT": "40010", "MUSTER_PORT_MAIN": "40010",
		},
		Expand: map[string]string{},
		Procs: []map[string]string{
			{"MUSTER_RANK": "2", "MUSTER_LOCAL_RANK": "2", "MUSTER_PROC": "0"},
			{"MUSTER_RANK": "3", "MUSTER_LOCAL_RANK": "3", "MUSTER_PROC": "1"},
		},
		Files: map[string][]byte{},
	}
	if d := cmp.Diff(want, l); d != "" {
		t.Error(d)
	}
	// A task without a rank is told none.
	l = common(t, p, roster(p, 1, 1, "start"), plan.TaskID{Role: "tensorboard"})
	if d := cmp.Diff([]map[string]string{{"MUSTER_PROC": "0"}}, l.Procs); d != "" {
		t.Error(d)
	}
	if l.Env["MUSTER_WORLD_SIZE"] != "6" {
		t.Errorf("MUSTER_WORLD_SIZE %q, want 6", l.Env["MUSTER_WORLD_SIZE"])
	}
}

func TestARestartedTaskSeesWhy(t *testing.T) {
	p := build(t, &spec.Job{Roles: spec.Roles{role("worker", 1, 1)}})
	l := common(t, p, roster(p, 4, 2, "worker/0 ended with 3"), plan.TaskID{Role: "worker"})
	if l.Env["MUSTER_EPOCH"] != "4" || l.Env["MUSTER_RESTART_REASON"] != "worker/0 ended with 3" {
		t.Errorf("epoch %q, reason %q", l.Env["MUSTER_EPOCH"], l.Env["MUSTER_RESTART_REASON"])
	}
}

func TestLayersOfTheEnvironment(t *testing.T) {
	worker := role("worker", 1, 1)
	worker.Command = spec.Command{Argv: []string{"python", "a b.py"}}
	worker.Env = map[string]spec.EnvValue{
		"BOTH": {Value: "role"}, "TURNED": {Value: "plain now"}, "LATE": {Value: "$HOME/x", Expand: true}, "MUSTER_TASK": {Value: "$X", Expand: true},
		"MUSTER_RANK": {Value: "7"}, "ODD": {Value: "a,b\n\"c\" ü"},
	}
	job := &spec.Job{Roles: spec.Roles{worker}}
	job.Env = map[string]spec.EnvValue{"BOTH": {Value: "job"}, "TURNED": {Value: "$X", Expand: true}, "LATE": {Value: "x"}}
	p := build(t, job)
	l := common(t, p, roster(p, 1, 1, "start"), plan.TaskID{Role: "worker"})
	if d := cmp.Diff([]string{"python", "a b.py"}, l.Argv); d != "" {
		t.Error(d)
	}
	got := map[string]string{}
	for _, name := range []string{"BOTH", "TURNED", "LATE", "MUSTER_TASK", "MUSTER_RANK", "ODD"} {
		if v, ok := l.Env[name]; ok {
			got[name] = v
		}
	}
	want := map[string]string{"BOTH": "role", "TURNED": "plain now", "MUSTER_TASK": "worker/0", "ODD": "a,b\n\"c\" ü"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"LATE": "$HOME/x"}, l.Expand); d != "" {
		t.Error(d)
	}
	if l.Procs[0]["MUSTER_RANK"] != "0" {
		t.Errorf("MUSTER_RANK %q, want ours", l.Procs[0]["MUSTER_RANK"])
	}
	warned := []string{
		"roles.worker.env.MUSTER_RANK: reserved: muster sets it for every plain task, the value written here is not used",
		"roles.worker.env.MUSTER_TASK: reserved: muster sets it for every plain task, the value written here is not used",
	}
	if d := cmp.Diff(warned, p.Warnings); d != "" {
		t.Error(d)
	}
}

// F-065: names of roles and ports make no variable that a shell cannot read;
// the name as written is in a value; two ports never share a variable.
func TestF065RoleNamesThatAreNoVariableNames(t *testing.T) {
	for _, name := range []string{"trainer-0", "data_loader", "2nd"} {
		r := role(name, 1, 1)
		r.Ports = map[string]int{"web-ui": 0, "2nd": 0}
		p := build(t, &spec.Job{Roles: spec.Roles{r}})
		l := common(t, p, roster(p, 1, 1, "start"), plan.TaskID{Role: name})
		if l.Env["MUSTER_ROLE"] != name || l.Env["MUSTER_PORT_WEB_UI"] == "" || l.Env["MUSTER_PORT_2ND"] == "" {
			t.Errorf("%s: %v", name, l.Env)
		}
		for v := range l.Env {
			if strings.Trim(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
				t.Errorf("%s: variable %s", name, v)
			}
		}
	}
	r := role("worker", 1, 1)
	r.Ports = map[string]int{"web-ui": 0, "web_ui": 0}
	_, err := plan.Build(&spec.Job{Roles: spec.Roles{r}}, plain.Framework{}, plan.Capabilities{}, plan.Options{})
	want := "roles.worker.ports.web_ui: \"web-ui\" and \"web_ui\" would both be MUSTER_PORT_WEB_UI\n" +
		"    variables have letters, digits and underscores only, and no lower case: rename one"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestATaskOutsideTheRosterIsAnError(t *testing.T) {
	p := build(t, &spec.Job{Roles: spec.Roles{role("worker", 1, 1)}})
	r := roster(p, 2, 1, "")
	for want, id := range map[string]plan.TaskID{
		"worker/5: not in the roster of epoch 2": {Role: "worker", Index: 5},
		"nobody/0: not in the roster of epoch 2": {Role: "nobody"},
	} {
		if _, _, err := framework.Common(p, r, id); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	r.Members[0].Ports = nil
	want := `worker/0: port "main": missing in the roster of epoch 2`
	if _, _, err := framework.Common(p, r, plan.TaskID{Role: "worker"}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// file is what a reader of roster.json sees.
type file struct {
	Job, Task, Reason, Scope string
	Epoch, World             int
	Tasks                    map[string]int
	Members                  []struct {
		Task, Host string
		Rank       int
		Ports      map[string]int
	}
}

func read(t *testing.T, l plan.Launch) file {
	t.Helper()
	var f file
	if err := json.Unmarshal(l.Files["roster.json"], &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTheRosterFileNamesEverybody(t *testing.T) {
	p := build(t, &spec.Job{Roles: spec.Roles{role("worker", 3, 1), role("tensorboard", 1, 1)}})
	l, err := plain.Framework{}.Launch(p, roster(p, 1, 1, "start"), plan.TaskID{Role: "worker", Index: 2})
	if err != nil {
		t.Fatal(err)
	}
	f := read(t, l)
	if f.Job != "m-aaaaaaaaaa" || f.Task != "worker/2" || f.Scope != "job" || f.World != 3 || f.Epoch != 1 || f.Reason != "start" {
		t.Errorf("%+v", f)
	}
	if d := cmp.Diff(map[string]int{"worker": 3, "tensorboard": 1}, f.Tasks); d != "" {
		t.Error(d)
	}
	var got []string
	for _, m := range f.Members {
		got = append(got, fmt.Sprintf("%s %d %s:%d", m.Task, m.Rank, m.Host, m.Ports["main"]))
	}
	want := []string{"worker/0 0 node-0:40000", "worker/1 1 node-0:40010", "worker/2 2 node-1:40020", "tensorboard/0 -1 node-1:40030"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Every task of a world beyond FullRoster is sent its own node and rank 0 only:
// the bytes of one task do not grow with the job.
func TestALargeWorldIsNotSentToEverybody(t *testing.T) {
	size := map[int]int{}
	for _, n := range []int{framework.FullRoster, framework.FullRoster + 2, 4 * framework.FullRoster} {
		p := build(t, &spec.Job{Roles: spec.Roles{role("worker", n, 1)}})
		l, err := plain.Framework{}.Launch(p, roster(p, 1, 1, "start"), plan.TaskID{Role: "worker", Index: 100})
		if err != nil {
			t.Fatal(err)
		}
		size[n] = len(l.Files["roster.json"])
		f := read(t, l)
		if n == framework.FullRoster {
			if f.Scope != "job" || len(f.Members) != n {
				t.Errorf("%d tasks: scope %q, %d members", n, f.Scope, len(f.Members))
			}
			continue
		}
		var got []string
		for _, m := range f.Members {
			got = append(got, m.Task)
		}
		if d := cmp.Diff([]string{"worker/0", "worker/100", "worker/101"}, got); d != "" || f.Scope != "node" || f.World != n || f.Tasks["worker"] != n {
			t.Errorf("%d tasks: scope %q, world %d, tasks %v\n%s", n, f.Scope, f.World, f.Tasks, d)
		}
	}
	if a, b := size[framework.FullRoster+2], size[4*framework.FullRoster]; b > a+16 {
		t.Errorf("a task of %d bytes grows to %d with the job", a, b)
	}
}
