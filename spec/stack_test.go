package spec

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const siteFile = `
defaults:
  queue: batch
  memory: 1GiB
  env: {SITE: "1", WHO: site}
  files: [site.txt]
  roles:
    ps: {memory: 2GiB}
    absent: {memory: 3GiB}
limits: {instances: 8, gpus: 4, run: 24h}
users:
  alice:
    defaults: {env: {WHO: alice-at-site}}
    limits: {gpus: 16}
queues:
  dl:
    defaults: {memory: 8GiB, priority: 3}
    limits: {gpus: 8, cpus: 64, memory: 1TiB, priority: 5}
`

const userFile = `
defaults: {env: {WHO: me}, restarts: 1}
`

// stack makes the layers of a test; flags are path=value.
func stack(site, user, job string, flags ...string) *Stack {
	var s Stack
	if site != "" {
		s.Add(SiteFile, "site.yaml", []byte(site))
	}
	if user != "" {
		s.Add(UserFile, "user.yaml", []byte(user))
	}
	if job != "" {
		s.Add(JobFile, "job.yaml", []byte(job))
	}
	for _, f := range flags {
		path, value, _ := strings.Cut(f, "=")
		s.SetFlag("--set "+path, path, value)
	}
	return &s
}

func origins(t *testing.T, s *Stack, paths ...string) map[string]string {
	t.Helper()
	res, err := s.Resolve("alice")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, v := range res.Values {
		for _, p := range paths {
			if v.Path == p {
				out[p] = v.Value + " " + v.Origin
			}
		}
	}
	return out
}

func TestLayersWinInTheirOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		site, user, job string
		flags           []string
		path, want      string
	}{
		"built in":                 {job: "command: x", path: "stop_grace", want: "30s built in"},
		"site over built in":       {site: "defaults: {stop_grace: 1m}", job: "command: x", path: "stop_grace", want: "1m site.yaml:1:24"},
		"user over site":           {site: siteFile, user: userFile, job: "command: x", path: "env.WHO", want: "me user.yaml:2:23"},
		"a user's site defaults":   {site: siteFile, job: "command: x", path: "env.WHO", want: "alice-at-site site.yaml:13:27"},
		"job over user":            {site: siteFile, user: userFile, job: "command: x\nenv: {WHO: job}", path: "env.WHO", want: "job job.yaml:2:12"},
		"flag over job":            {site: siteFile, user: userFile, job: "command: x\nenv: {WHO: job}", flags: []string{"env.WHO=flag"}, path: "env.WHO", want: "flag --set env.WHO"},
		"maps are merged":          {site: siteFile, user: userFile, job: "command: x\nenv: {WHO: job}", path: "env.SITE", want: `"1" site.yaml:5:15`},
		"lists are replaced":       {site: siteFile, job: "command: x\nfiles: [job.txt]", path: "files", want: "[job.txt] job.yaml:2:8"},
		"queue of the site":        {site: siteFile, job: "command: x", path: "queue", want: "batch site.yaml:3:10"},
		"queue's defaults":         {site: siteFile, job: "command: x\nqueue: dl", path: "memory", want: "8GiB site.yaml:17:24"},
		"queue's by flag":          {site: siteFile, job: "command: x", flags: []string{"queue=dl"}, path: "priority", want: "3 site.yaml:17:40"},
		"run time of the limit":    {site: siteFile, job: "command: x", path: "timeout.run", want: "24h site.yaml:10:38"},
		"zero over a default":      {site: "defaults: {priority: 4}", job: "command: x\npriority: 0", path: "priority", want: "0 job.yaml:2:11"},
		"one value, not a mixture": {site: "defaults: {python: {conda: a}}", job: "command: x\npython: {venv: b}", path: "python", want: "{venv: b} job.yaml:2:9"},
		"only flags":               {flags: []string{"command=[a, b]"}, path: "command", want: "[a, b] --set command"},
	} {
		t.Run(name, func(t *testing.T) {
			got := origins(t, stack(tc.site, tc.user, tc.job, tc.flags...), tc.path)
			if diff := cmp.Diff(map[string]string{tc.path: tc.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func mustResolve(t *testing.T, s *Stack) *Job {
	t.Helper()
	res, err := s.Resolve("alice")
	if err != nil {
		t.Fatal(err)
	}
	return res.Job
}

func TestDefaultsOfARoleNeverMakeOne(t *testing.T) {
	job := mustResolve(t, stack(siteFile, "", "command: x\nroles: {worker: {}, ps: {}}"))
	if diff := cmp.Diff([]string{"worker", "ps"}, job.Roles.Names()); diff != "" {
		t.Error(diff)
	}
	if got := job.Roles.Get("ps").Memory; got != 2<<30 {
		t.Errorf("memory of ps = %v, want that of its name in the site file", got)
	}
	if got := job.Roles.Get("worker").Memory; got != 1<<30 {
		t.Errorf("memory of worker = %v, want the general default", got)
	}
}

func TestAnEmptyRoleTakesItsDefaults(t *testing.T) {
	job := mustResolve(t, stack(siteFile, "", "command: x\nroles:\n  worker:\n  ps:\n"))
	if got := job.Roles.Get("ps").Memory; got != 2<<30 {
		t.Errorf("memory of ps = %v, want that of its name in the site file", got)
	}
}

func TestDefaultsOfARoleHoldForTheShortForm(t *testing.T) {
	job := mustResolve(t, stack("defaults: {memory: 1GiB, roles: {worker: {memory: 6GiB}, task: {memory: 7GiB}}}", "", "command: x\nframework: pytorch"))
	if got := job.Roles.Get("worker").Memory; got != 6<<30 {
		t.Errorf("memory = %v", got)
	}
}

func TestFlags(t *testing.T) {
	const roles = "command: x\nroles:\n  worker: {instances: 2, restarts: 3, command: w}\n  ps: {}\n"
	for name, tc := range map[string]struct {
		job  string
		set  []string
		want func(j *Job) bool
	}{
		"a role's value":             {roles, []string{"roles.worker.cpus=4"}, func(j *Job) bool { return j.Roles.Get("worker").CPUs == 4 && j.Roles.Get("ps").CPUs == 0 }},
		"every role, over its own":   {roles, []string{"restarts=5"}, func(j *Job) bool { return *j.Roles.Get("worker").Restarts == 5 && *j.Roles.Get("ps").Restarts == 5 }},
		"the only role":              {"roles: {a: {command: x}}", []string{"instances=3..4"}, func(j *Job) bool { return j.Roles.Get("a").Instances == Count{3, 4} }},
		"the short form":             {"command: x", []string{"instances=3"}, func(j *Job) bool { return j.Roles.Get("task").Instances == Count{3, 3} }},
		"the short form by its name": {"command: x\ninstances: 2", []string{"roles.task.instances=3"}, func(j *Job) bool { return j.Roles.Get("task").Instances == Count{3, 3} }},
		"roles from flags alone":     {"command: x", []string{"roles.worker.instances=4", "roles.ps.instances=2"}, func(j *Job) bool { return len(j.Roles) == 2 && j.Roles.Get("ps").Instances.Max == 2 }},
		"the command of those without": {roles, []string{"command=y"}, func(j *Job) bool {
			return j.Roles.Get("worker").Command.Shell == "w" && j.Roles.Get("ps").Command.Shell == "y"
		}},
		"a list's item":   {"command: x\nfiles: [a, b]", []string{"files.1=c", "files[2]=d"}, func(j *Job) bool { return cmp.Equal(j.Files, []File{{Source: "a"}, {Source: "c"}, {Source: "d"}}) }},
		"an item of argv": {"command: [x, y]", []string{"command.1=z"}, func(j *Job) bool { return cmp.Equal(j.Roles[0].Command.Argv, []string{"x", "z"}) }},
		"a whole list":    {"command: x\nfiles: [a, b]", []string{"files=[c]"}, func(j *Job) bool { return len(j.Files) == 1 }},
		"inside a value":  {"command: x\nworkdir: {path: a}", []string{"workdir.in_place=true"}, func(j *Job) bool { return j.Workdir == Workdir{Path: "a", InPlace: true} }},
		"a native setting": {"command: x\nnative: {yarn: {a: 1}}", []string{"native.yarn.b=2"}, func(j *Job) bool {
			return cmp.Equal(j.Native, map[string]any{"yarn": map[string]any{"a": 1.0, "b": 2.0}})
		}},
		"env over a role's": {"command: x\nroles: {a: {env: {K: role}}}", []string{"env.K=flag"}, func(j *Job) bool { return j.Roles.Get("a").Env["K"].Value == "flag" }},
	} {
		t.Run(name, func(t *testing.T) {
			if job := mustResolve(t, stack("", "", tc.job, tc.set...)); !tc.want(job) {
				text, _ := YAML(job)
				t.Errorf("not so:\n%s", text)
			}
		})
	}
}

func TestBadFlags(t *testing.T) {
	const roles = "command: x\nroles:\n  worker: {command: w}\n  ps: {command: p}\n"
	for name, tc := range map[string]struct{ job, set, want string }{
		"unknown":              {roles, "memry=4", "--set memry: unknown field \"memry\" (did you mean \"memory\"?)"},
		"unknown inside":       {roles, "roles.worker.memry=4", "--set roles.worker.memry: unknown field \"memry\" (did you mean \"memory\"?)"},
		"unknown role":         {roles, "roles.wroker.cpus=4", "--set roles.wroker.cpus: unknown role \"wroker\" (did you mean \"worker\"?)\n  hint: the job has worker, ps"},
		"which role":           {roles, "instances=4", "--set instances: instances of which role? the job has worker, ps\n  hint: write --set roles.worker.instances=4"},
		"nobody would run it":  {roles, "command=y", "--set command: every role has a command of its own: worker, ps\n  hint: write --set roles.worker.command=…"},
		"wrong value":          {roles, "roles.worker.cpus=many", "--set roles.worker.cpus: roles.worker.cpus: a number is expected, not \"many\""},
		"no unit":              {roles, "memory=4", "--set memory: memory: 4 has no unit: YARN and Slurm read 4 MiB, Kubernetes and PBS 4 bytes\n  hint: write 4GiB, 4MiB or 4B"},
		"no field":             {roles, "memory.x=4", "--set memory.x: memory has no fields, so no \"x\""},
		"no index":             {roles, "files.x=4", "--set files.x: \"x\" is no index\n  hint: items of a list are counted from 0: files.0"},
		"no item":              {roles, "files.3=a", "--set files.3: there is no item 3: the list has 0"},
		"nothing of a role":    {roles, "roles.ps.instances=0", "--set roles.ps.instances: roles.ps.instances: 0 is nothing: more than zero is expected\n  hint: leave it out for the default"},
		"nothing for all":      {roles, "memory=0GiB", "--set memory: memory: 0GiB is nothing: more than zero is expected\n  hint: leave it out for the default"},
		"no value":             {roles, "queue=", "--set queue: queue: has no value: text is expected\n  hint: leave the line out, or write a value"},
		"no yaml":              {roles, "files=[a", "--set files: files: not valid YAML: sequence end token ']' not found"},
		"no path":              {roles, "=x", "--set : no path\n  hint: write NAME=VALUE, as in --set roles.worker.cpus=4"},
		"checked after all":    {roles, "roles.worker.after=[sp]", "--set roles.worker.after: roles.worker.after[0]: unknown role \"sp\" (did you mean \"ps\"?)\n  hint: the job has worker, ps"},
		"role of another form": {"command: x\ninstances: 2", "roles.ps.cpus=1", "--set roles.ps.cpus: the job has no roles: instances in job.yaml:2:1 is that of its only one\n  hint: leave out roles.ps"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := stack("", "", tc.job, tc.set).Resolve("alice")
			if err == nil {
				t.Fatal("accepted")
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSetValueTakesTextAsItIs(t *testing.T) {
	s := stack("", "", "")
	s.SetValue("--", "command", []string{"python", "train.py", "a: b", "[x", "–dash", ""})
	s.SetValue("--env A", "env.A", "1: {x")
	job := mustResolve(t, s)
	if diff := cmp.Diff([]string{"python", "train.py", "a: b", "[x", "–dash", ""}, job.Roles[0].Command.Argv); diff != "" {
		t.Error(diff)
	}
	if got := job.Env["A"].Value; got != "1: {x" {
		t.Errorf("A = %q", got)
	}
}

func TestLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		user, job string
		flags     []string
		want      string
	}{
		"of the site":      {"bob", "command: x\ninstances: 9\n", nil, "job.yaml:2:12: instances: 9 asked, the site allows 8\n  hint: the limit is in site.yaml:10:21"},
		"of one user":      {"alice", "command: x\ngpus: 17\n", nil, "job.yaml:2:7: gpus: 17 asked, user \"alice\" allows 16\n  hint: the limit is in site.yaml:14:20"},
		"of the others":    {"bob", "command: x\ngpus: 5\n", nil, "job.yaml:2:7: gpus: 5 asked, the site allows 4\n  hint: the limit is in site.yaml:10:30"},
		"of the queue too": {"alice", "command: x\nqueue: dl\ngpus: 9\n", nil, "job.yaml:3:7: gpus: 9 asked, queue \"dl\" allows 8\n  hint: the limit is in site.yaml:18:20"},
		"all tasks together": {"alice", "command: x\nqueue: dl\nroles:\n  a: {instances: 2, gpus: 4}\n  b: {gpus: 1}\n", nil,
			"job.yaml:4:27: roles.a.gpus: 9 asked by all tasks together, queue \"dl\" allows 8\n  hint: the limit is in site.yaml:18:20"},
		"by a flag":   {"alice", "command: x\nqueue: dl\n", []string{"gpus=9"}, "--set gpus: gpus: 9 asked, queue \"dl\" allows 8\n  hint: the limit is in site.yaml:18:20"},
		"run time":    {"bob", "command: x\ntimeout: {run: 25h}\n", nil, "job.yaml:2:16: timeout.run: 25h asked, the site allows 24h\n  hint: the limit is in site.yaml:10:38"},
		"no run time": {"bob", "command: x\ntimeout: {run: 0s}\n", nil, "job.yaml:2:16: timeout.run: no limit asked, the site allows 24h\n  hint: the limit is in site.yaml:10:38"},
		"priority":    {"bob", "command: x\nqueue: dl\npriority: 6\n", nil, "job.yaml:3:11: priority: 6 asked, queue \"dl\" allows at most 5\n  hint: the limit is in site.yaml:18:57"},
		"cpus, one each where none is written": {"bob", "command: x\nqueue: dl\nroles: {a: {cpus: 64}, b: {}}\n", nil,
			"job.yaml:3:19: roles.a.cpus: 65 asked by all tasks together, queue \"dl\" allows 64\n  hint: the limit is in site.yaml:18:29"},
		"impossible memory": {"alice", "command: x\nqueue: dl\ninstances: 8\nmemory: 8000PiB\n", nil,
			"job.yaml:4:9: memory: 4096PiB asked by all tasks together, queue \"dl\" allows 1TiB\n  hint: the limit is in site.yaml:18:41"},
		"within": {"alice", "command: x\nqueue: dl\ngpus: 8\npriority: 5\n", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := stack(siteFile, "", tc.job, tc.flags...).Resolve(tc.user)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAllowedQueues(t *testing.T) {
	site := "limits: {queues: [batch, dl]}\n"
	for job, want := range map[string]string{
		"command: x\nqueue: prod\n": "job.yaml:2:8: queue: \"prod\" asked, the site allows batch, dl\n  hint: the limit is in site.yaml:1:18",
		"command: x\n":              "job.yaml: queue: none asked, the site allows batch, dl\n  hint: the limit is in site.yaml:1:18",
	} {
		if _, err := stack(site, "", job).Resolve("alice"); err == nil || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", job, err, want)
		}
	}
}

func TestSettingsFilesAreReadAsStrictly(t *testing.T) {
	for name, tc := range map[string]struct{ site, want string }{
		"unknown":         {"default: {queue: x}\n", "site.yaml:1:1: unknown field \"default\" (did you mean \"defaults\"?)"},
		"inside defaults": {"users: {alice: {defaults: {memry: 4}}}\n", "site.yaml:1:28: unknown field \"memry\" (did you mean \"memory\"?)"},
		"limit":           {"queues: {dl: {limits: {memory: 4}}}\n", "site.yaml:1:32: queues.dl.limits.memory: 4 has no unit: YARN and Slurm read 4 MiB, Kubernetes and PBS 4 bytes\n  hint: write 4GiB, 4MiB or 4B"},
		"own key": {"defaults: {instances: 2}\n", "site.yaml:1:12: defaults.instances: belongs to one role and cannot be a default for all\n" +
			"  hint: write it under defaults.roles.NAME, which holds for roles of that name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := stack(tc.site, "", "command: x").Resolve("alice")
			if err == nil {
				t.Fatal("accepted")
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProblemsOfAllLayersAreToldAtOnce(t *testing.T) {
	_, err := stack("defaults: {memry: 1}\n", "limits: {gpu: 1}\n", "comand: x\nroles: {a: {after: [b]}}\n", "cpus=x").Resolve("alice")
	want := "site.yaml:1:12: unknown field \"memry\" (did you mean \"memory\"?)\n" +
		"user.yaml:1:10: unknown field \"gpu\" (did you mean \"gpus\"?)\n" +
		"job.yaml:1:1: unknown field \"comand\" (did you mean \"command\"?)\n" +
		"--set cpus: cpus: a number is expected, not \"x\"\n" +
		"job.yaml:2:21: roles.a.after[0]: unknown role \"b\"\n  hint: the job has a"
	if err == nil {
		t.Fatal("accepted")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestProblemsAreFoundByErrorsAs(t *testing.T) {
	_, err := Decode("job.yaml", []byte("memry: 4\n"))
	var all Problems
	var one Problem
	if !errors.As(err, &all) || !errors.As(err, &one) || one.Line != 1 || one.Column != 1 || one.File != "job.yaml" {
		t.Errorf("%#v", err)
	}
}

func TestNormalizeIsDoneOnceOnly(t *testing.T) {
	restarts := 2
	job := &Job{Framework: "pytorch", Role: Role{CPUs: 2, Restarts: &restarts, Env: map[string]EnvValue{"A": {Value: "1"}}}}
	Normalize(job)
	want := &Job{Framework: "pytorch", Role: Role{Env: map[string]EnvValue{"A": {Value: "1"}}}, Roles: Roles{{"worker", Role{CPUs: 2, Restarts: &restarts}}}}
	if diff := cmp.Diff(want, job); diff != "" {
		t.Error(diff)
	}
	Normalize(job)
	if diff := cmp.Diff(want, job); diff != "" {
		t.Errorf("the second time: %s", diff)
	}
}

// Every path that the document lists can be set, and no setting lacks a sentence.
func TestSettingsCanBeSet(t *testing.T) {
	for _, s := range Settings() {
		keys := splitPath(s.Path)
		if _, p := fieldAt(jobType, keys); p != nil {
			t.Errorf("%s: %v", s.Path, p)
		}
		if s.Doc == "" || s.Type == "" {
			t.Errorf("%s: no sentence or type", s.Path)
		}
	}
}
