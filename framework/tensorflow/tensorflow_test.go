package tensorflow

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

func role(name string, n int) spec.NamedRole {
	return spec.NamedRole{Name: name, Role: spec.Role{
		Command: spec.Command{Shell: "true"}, Instances: spec.Count{Min: n, Max: n}}}
}

func build(t *testing.T, roles ...spec.NamedRole) *plan.Plan {
	t.Helper()
	p, err := plan.Build(&spec.Job{Roles: roles}, Framework{}, plan.Capabilities{}, plan.Options{ID: "m-aaaaaaaaaa"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// present is a roll call in which ports count up from 41 by task.
func present(p *plan.Plan) []plan.Registration {
	var out []plan.Registration
	for i, id := range p.Tasks() {
		ports := map[string]int{}
		for _, port := range p.Role(id.Role).Ports {
			ports[port.Name] = 41 + i
		}
		out = append(out, plan.Registration{Task: id, Incarnation: 1, Node: "n", Host: "h", Ports: ports})
	}
	return out
}

func launch(t *testing.T, p *plan.Plan, id plan.TaskID) plan.Launch {
	t.Helper()
	l, err := Framework{}.Launch(p, plan.BuildRoster(p, 1, "start", present(p), nil), id)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// F-037: the evaluator is absent in the description of all others and present
// in its own; roles keep their order and count; master is accepted as chief.
func TestF037EvaluatorInTheClusterDescription(t *testing.T) {
	const others = `"chief":["h:41"],"worker":["h:42","h:43"],"ps":["h:44"]`
	for _, chief := range []string{"chief", "master"} {
		p := build(t, role(chief, 1), role("worker", 2), role("ps", 1), role("evaluator", 1), role("tensorboard", 1))
		for id, want := range map[plan.TaskID]string{
			{Role: chief}:              `{"cluster":{` + others + `},"task":{"type":"chief","index":0}}`,
			{Role: "worker", Index: 0}: `{"cluster":{` + others + `},"task":{"type":"worker","index":0}}`,
			{Role: "worker", Index: 1}: `{"cluster":{` + others + `},"task":{"type":"worker","index":1}}`,
			{Role: "ps"}:               `{"cluster":{` + others + `},"task":{"type":"ps","index":0}}`,
			{Role: "evaluator"}:        `{"cluster":{` + others + `,"evaluator":["h:45"]},"task":{"type":"evaluator","index":0}}`,
		} {
			if d := cmp.Diff(want, launch(t, p, id).Env["TF_CONFIG"]); d != "" {
				t.Errorf("%s: %s", id, d)
			}
		}
		if v, ok := launch(t, p, plan.TaskID{Role: "tensorboard"}).Env["TF_CONFIG"]; ok {
			t.Errorf("tensorboard is no part of the cluster, but sees %s", v)
		}
		if e := p.Role("evaluator"); e.Wait || e.Counted {
			t.Errorf("evaluator is waited for (%v) or counted (%v) without anybody asking", e.Wait, e.Counted)
		}
	}
	asked := role("evaluator", 1)
	wait := true
	asked.Wait = &wait
	if e := build(t, role("chief", 1), asked).Role("evaluator"); !e.Wait {
		t.Error("evaluator is not waited for though it was asked")
	}
}

func TestMultiWorkerMirrored(t *testing.T) {
	p := build(t, role("worker", 2))
	want := `{"cluster":{"worker":["h:41","h:42"]},"task":{"type":"worker","index":1}}`
	if d := cmp.Diff(want, launch(t, p, plan.TaskID{Role: "worker", Index: 1}).Env["TF_CONFIG"]); d != "" {
		t.Error(d)
	}
}

// Indices are TensorFlow's positions in a list: they follow the tasks, whatever
// ranks the nodes gave them, and close up where an elastic job has fewer.
func TestIndicesFollowTasksNotRanks(t *testing.T) {
	w := role("worker", 4)
	w.Instances.Min = 2
	p := build(t, w)
	all := present(p)
	all[0].Node, all[2].Node, all[3].Node = "a", "b", "a" // ranks: 0, 3, 2
	ro := plan.BuildRoster(p, 1, "start", []plan.Registration{all[3], all[2], all[0]}, nil)
	if ro.Members[1].Task.Index != 3 {
		t.Fatalf("the roster was to follow nodes: %v", ro.Members)
	}
	l, err := Framework{}.Launch(p, ro, plan.TaskID{Role: "worker", Index: 3})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"cluster":{"worker":["h:41","h:43","h:44"]},"task":{"type":"worker","index":2}}`
	if d := cmp.Diff(want, l.Env["TF_CONFIG"]); d != "" {
		t.Error(d)
	}
}

func TestAddressesOfIPv6AreBracketed(t *testing.T) {
	p := build(t, role("worker", 1))
	all := present(p)
	all[0].Host = "fd00::1"
	l, err := Framework{}.Launch(p, plan.BuildRoster(p, 1, "start", all, nil), plan.TaskID{Role: "worker"})
	if want := `{"cluster":{"worker":["[fd00::1]:41"]},"task":{"type":"worker","index":0}}`; err != nil || l.Env["TF_CONFIG"] != want {
		t.Errorf("got %s, %v\nwant %s", l.Env["TF_CONFIG"], err, want)
	}
}

func TestPoliciesOfTheStrategies(t *testing.T) {
	policy := func(r *plan.Role) string {
		return fmt.Sprintf("wait=%v ends=%v %s %s %v", r.Wait, r.EndsJob, r.OnFailure, r.RestartScope, r.Ports)
	}
	for name, tc := range map[string]struct {
		roles []spec.NamedRole
		want  map[string]string
	}{
		"parameter servers": {
			[]spec.NamedRole{role("chief", 1), role("worker", 2), role("ps", 1), role("evaluator", 1), role("tensorboard", 1)},
			map[string]string{
				"chief":       "wait=true ends=true stop job [{server 0 false}]",
				"worker":      "wait=true ends=false tolerate job [{server 0 false}]",
				"ps":          "wait=false ends=false stop job [{server 0 false}]",
				"evaluator":   "wait=false ends=false tolerate task [{server 0 false}]",
				"tensorboard": "wait=false ends=false ignore task [{main 0 false}]",
			},
		},
		"collectives with a chief": {
			[]spec.NamedRole{role("chief", 1), role("worker", 2)},
			map[string]string{
				"chief":  "wait=true ends=true stop job [{server 0 false}]",
				"worker": "wait=true ends=false stop job [{server 0 false}]",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			p := build(t, tc.roles...)
			for i := range p.Roles {
				got[p.Roles[i].Name] = policy(&p.Roles[i])
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	w := role("worker", 2)
	w.OnFailure, w.RestartScope, w.Ports = spec.FailureIgnore, spec.ScopeTask, map[string]int{"profile": 0, "server": 2222, "web": 1}
	got := policy(&build(t, role("chief", 1), w).Roles[1])
	if want := "wait=true ends=false ignore task [{server 2222 false} {profile 0 false} {web 1 false}]"; got != want {
		t.Errorf("what was written does not hold: %s, want %s", got, want)
	}
}

func TestWhatTensorFlowCannotDoIsRefused(t *testing.T) {
	two := role("worker", 2)
	two.Procs = 2
	_, err := plan.Build(&spec.Job{Roles: spec.Roles{role("chief", 1), role("master", 1), two}}, Framework{}, plan.Capabilities{}, plan.Options{})
	want := strings.Join([]string{
		"roles.master: there is a chief already, and master is another word for it",
		"    call one of them worker",
		"roles.worker.procs: 2 asked, but a TensorFlow task is one process",
		"    raise instances instead",
	}, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestTFConfigIsReserved(t *testing.T) {
	w := role("worker", 1)
	w.Env = map[string]spec.EnvValue{"TF_CONFIG": {Value: "{}"}}
	p := build(t, w)
	want := []string{"roles.worker.env.TF_CONFIG: reserved: muster sets it for every tensorflow task, the value written here is not used"}
	if d := cmp.Diff(want, p.Warnings); d != "" {
		t.Error(d)
	}
	if v := launch(t, p, plan.TaskID{Role: "worker"}).Env["TF_CONFIG"]; v == "{}" {
		t.Error("the author's TF_CONFIG was used")
	}
}

func TestALongerVariableThanLinuxTakesIsAnError(t *testing.T) {
	p := build(t, role("worker", 20_000))
	_, err := Framework{}.Launch(p, plan.BuildRoster(p, 1, "start", present(p), nil), plan.TaskID{Role: "worker"})
	if err == nil || !strings.HasPrefix(err.Error(), "worker/0: TF_CONFIG: ") || !strings.HasSuffix(err.Error(), "Linux takes 131072 in one variable") {
		t.Errorf("got %v, want the limit named", err)
	}
}

// What a task is sent beyond TF_CONFIG does not grow with the job.
func TestATaskIsSentWhatItNeeds(t *testing.T) {
	rest := func(n int) int {
		p := build(t, role("worker", n))
		all := present(p)
		for i := range all {
			all[i].Node = fmt.Sprintf("n%d", i/2)
		}
		l, err := Framework{}.Launch(p, plan.BuildRoster(p, 1, "start", all, nil), plan.TaskID{Role: "worker", Index: 9})
		if err != nil {
			t.Fatal(err)
		}
		delete(l.Env, "TF_CONFIG")
		b, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		return len(b)
	}
	if a, b := rest(20), rest(800); b > a+32 {
		t.Errorf("a task of 20 is sent %d bytes beside TF_CONFIG, one of 800 %d", a, b)
	}
}

func TestAStageHasAClusterOfItsOwn(t *testing.T) {
	train := role("worker", 1)
	train.After = []spec.After{{Role: "fetch", Is: spec.Succeeded}}
	p := build(t, role("fetch", 1), train)
	want := `{"cluster":{"worker":["h:42"]},"task":{"type":"worker","index":0}}`
	if d := cmp.Diff(want, launch(t, p, plan.TaskID{Role: "worker"}).Env["TF_CONFIG"]); d != "" {
		t.Error(d)
	}
}
