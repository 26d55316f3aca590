package executor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/wire"
)

// lookup finds a variable in an environment, which must hold it once.
func lookup(t *testing.T, env []string, name string) (string, bool) {
	t.Helper()
	value, found := "", false
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			if found {
				t.Errorf("%s is there twice", name)
			}
			value, found = v, true
		}
	}
	return value, found
}

func TestTheOrderOfTheEnvironment(t *testing.T) {
	e := &executor{Context: Context{
		Checkpoint: "/ckpt", Devices: []string{"2", "3"},
		Environ: map[string]string{"PATH": "/bin", "A": "submitter", "B": "submitter", "C": "submitter", "D": "submitter",
			"CUDA_VISIBLE_DEVICES": "0,1,2,3", "MUSTER_ROSTER": "/outer/roster.json", "MUSTER_HOME": "/home/x/.muster"},
	}, home: home{dir: "/venv"}, opt: Options{Environ: []string{"NODE=here", "A=node"}}}
	l := plan.Launch{
		Env: map[string]string{"B": "launch", "C": "launch", "MUSTER_DIR": "no", "FILE": "${muster.dir}/x:${muster.work}:${muster.devices}",
			"PYTHONHOME": "/p"},
		Procs:  []map[string]string{{"C": "zero"}, {"C": "one"}},
		Expand: map[string]string{"D": "$C-$NODE-$A", "PATH": "/opt/bin:$PATH"},
	}
	env := e.environ("/d/1", "/d/1/work", l, 1)
	want := map[string]string{
		"A": "submitter", "B": "launch", "C": "one", "D": "one-here-submitter",
		"PATH": "/venv/bin:/opt/bin:/bin", "VIRTUAL_ENV": "/venv",
		"FILE": "/d/1/x:/d/1/work:2,3", "MUSTER_DIR": "/d/1", "MUSTER_CHECKPOINT_DIR": "/ckpt",
		"MUSTER_DEADLINE_FILE": "/d/1/deadline", "MUSTER_REPORT_FILE": "/d/1/report.jsonl", "MUSTER_READY_FILE": "/d/1/ready",
		"CUDA_VISIBLE_DEVICES": "2,3", "NVIDIA_VISIBLE_DEVICES": "2,3", "PWD": "/d/1/work", "MUSTER_HOME": "/home/x/.muster",
		"PYTHONPATH": "/d/1/python",
	}
	got := map[string]string{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		got[name] = value
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheRosterIsNamedWhereThereIsOne(t *testing.T) {
	e := &executor{}
	l := plan.Launch{Files: map[string][]byte{"roster.json": []byte("{}")}}
	if got, _ := lookup(t, e.environ("/d", "/d/work", l, 0), "MUSTER_ROSTER"); got != "/d/roster.json" {
		t.Errorf("got %q", got)
	}
	if got, ok := lookup(t, e.environ("/d", "/d/work", plan.Launch{}, 0), "MUSTER_ROSTER"); ok {
		t.Errorf("no roster, but %q", got)
	}
}

// F-104: what is visible is the grant, exactly; none granted is none visible.
func TestF104DevicesAreTheGrantExactly(t *testing.T) {
	e := &executor{Context: Context{Environ: map[string]string{"CUDA_VISIBLE_DEVICES": "0,1"}}}
	if got, ok := lookup(t, e.environ("/d", "/w", plan.Launch{}, 0), "CUDA_VISIBLE_DEVICES"); got != "" || !ok {
		t.Errorf("nothing granted, but %q %v", got, ok)
	}
	tc := map[string]struct {
		gpus    int
		devices []string
		want    string
	}{
		"count and empty list":  {4, nil, "gpus: 4 were granted"},
		"count and longer list": {2, []string{"a", "b", "c"}, "gpus: 2 were granted"},
		"nothing":               {0, nil, ""},
	}
	for name, tc := range tc {
		e := &executor{Context: Context{Resources: plan.Resources{GPUs: tc.gpus}, Devices: tc.devices}}
		err := e.checkGrant()
		node, _ := os.Hostname()
		text := fmt.Sprint(err)
		refused := tc.want != ""
		if refused != (err != nil) || refused && (!strings.Contains(text, tc.want) || !strings.Contains(text, node)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	root := t.TempDir()
	if !present("7", root) {
		t.Error("no driver, but a device is refused")
	}
	gpu := filepath.Join(root, "proc/driver/nvidia/gpus/0000:01:00.0")
	if err := errors.Join(os.MkdirAll(gpu, 0o700), os.MkdirAll(filepath.Join(root, "dev"), 0o700),
		os.WriteFile(filepath.Join(gpu, "information"), []byte("Model: \t X\nGPU UUID: \t GPU-1234\n"), 0o600),
		os.WriteFile(filepath.Join(root, "dev", "nvidia3"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{"0": true, "1": false, "GPU-1234": true, "GPU-9999": false, "MIG-1": true} {
		if got := present(id, root); got != want {
			t.Errorf("device %s: %v", id, got)
		}
	}
	// Refused before anything is started: as the answer to Prepare.
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	c.Resources.GPUs = 4
	live(t, c)
	d.send(wire.Directive{Prepare: &wire.Prepare{Incarnation: 1}})
	if r := wait(d, registered(1)); r.Exit == nil || r.Exit.Class != event.ClassPrepare || !strings.Contains(r.Exit.Text, "gpus: 4") {
		t.Errorf("registered %+v", r)
	}
}

// F-082: a literal value is not touched; one to be expanded takes what is on
// the task's own node.
func TestF082LiteralAndExpandedValues(t *testing.T) {
	known := map[string]string{"LD_LIBRARY_PATH": "/known", "HOME": "/h"}
	node := []string{"FABRIC_LIB=/usr/lib/fabric", "HOME=/node"}
	tc := map[string]struct {
		text map[string]string
		want map[string]string
	}{
		"the node's own":    {map[string]string{"L": "/net:$FABRIC_LIB"}, map[string]string{"L": "/net:/usr/lib/fabric"}},
		"known before node": {map[string]string{"L": "${HOME}x$HOME"}, map[string]string{"L": "/hx/h"}},
		"itself":            {map[string]string{"LD_LIBRARY_PATH": "/a:$LD_LIBRARY_PATH"}, map[string]string{"LD_LIBRARY_PATH": "/a:/known"}},
		"one another":       {map[string]string{"A": "$B/a", "B": "$HOME/b"}, map[string]string{"A": "/h/b/a", "B": "/h/b"}},
		"a cycle":           {map[string]string{"A": "a$B", "B": "b$A"}, map[string]string{"A": "ab", "B": "ba"}},
		"nowhere":           {map[string]string{"A": "<$NOWHERE>"}, map[string]string{"A": "<>"}},
		"dollar signs":      {map[string]string{"A": "$$HOME $ 5$ ${ ${} ${a b} $1 $"}, map[string]string{"A": "$HOME $ 5$ ${ ${} ${a b} $1 $"}},
		"name ends":         {map[string]string{"A": "$HOME.x ${HOME}Y $HOME-é"}, map[string]string{"A": "/h.x /hY /h-é"}},
	}
	for name, tc := range tc {
		for range 10 { // the order of a map decides nothing
			if diff := cmp.Diff(tc.want, expand(tc.text, known, node)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
	e := &executor{}
	l := plan.Launch{Env: map[string]string{"LITERAL": "$HOME `x` ${HOME}"}}
	if got, _ := lookup(t, e.environ("/d", "/w", l, 0), "LITERAL"); got != "$HOME `x` ${HOME}" {
		t.Errorf("a literal value became %q", got)
	}
}

// F-085: arguments reach the program as they are.
func TestF085ArgumentsReachTheProgramUnchanged(t *testing.T) {
	want := []string{"a b", `a"b`, "it’s", "$HOME", "*.py", "(x)", "line\nbreak", "", `back\`, "é", "--weird=1;2", "\xff"}
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	live(t, c)
	if x := d.exits(1, plan.Launch{Argv: append(self(t, "args"), want...)}); x.Status != 0 {
		t.Fatalf("exit %+v", x)
	}
	got := strings.Split(read(t, filepath.Join(c.Root, "1", "logs", "0.out")), "\x00")
	if diff := cmp.Diff(want, got[:len(got)-1]); diff != "" {
		t.Error(diff)
	}
}

// F-083 and F-106: commas, quotes, line breaks and letters of every kind in the
// environment arrive as they are.
func TestF083F106ValuesArriveUnchanged(t *testing.T) {
	values := map[string]string{"COMMA": "a,b,,c", "QUOTE": `'"` + "`", "LINES": "one\ntwo\n", "LETTERS": "é実e\u0301🙂", "EMPTY": "", "EQUALS": "a=b=c", "BYTES": "\xff\xfe"}
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	live(t, c)
	if x := d.exits(1, plan.Launch{Argv: []string{"env", "-0"}, Env: values}); x.Status != 0 {
		t.Fatalf("exit %+v", x)
	}
	env := strings.Split(read(t, filepath.Join(c.Root, "1", "logs", "0.out")), "\x00")
	for name, want := range values {
		if got, ok := lookup(t, env, name); got != want || !ok {
			t.Errorf("%s: %q became %q", name, want, got)
		}
	}
}

func TestPythonIsTheOneThatWasAskedFor(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	interpreter := filepath.Join(j.dir, "it's python")
	if err := os.WriteFile(interpreter, []byte("#!/bin/sh\necho mine \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := j.context(d, worker)
	c.Python.Interpreter = interpreter
	live(t, c)
	d.exits(1, shell(`python -m x; python3 "a b"`))
	if got := read(t, filepath.Join(c.Root, "1", "logs", "0.out")); got != "mine -m x\nmine a b\n" {
		t.Errorf("got %q", got)
	}
}

// What a job names is what it gets, or a word that it is not there: never another
// Python.
func TestAPythonMayBeNamedAsInThePath(t *testing.T) {
	dir := t.TempDir()
	real, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("these tests need a python3:", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "named"), []byte("#!/bin/sh\nexec "+real+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	e := &executor{Context: Context{Python: plan.Python{Python: spec.Python{Interpreter: "named"}}, Environ: map[string]string{"PATH": dir + ":" + os.Getenv("PATH")}}}
	if err := e.interpreter(t.Context(), filepath.Join(dir, "1", toolDir)); err != nil {
		t.Fatal(err)
	}
	if script := read(t, filepath.Join(dir, "1", toolDir, "python")); !strings.Contains(script, "'"+dir+"/named'") {
		t.Errorf("python is %s", script)
	}
	env := e.environ(filepath.Join(dir, "1"), dir, plan.Launch{}, 0)
	if path, _ := lookup(t, env, "PATH"); !strings.HasPrefix(path, filepath.Join(dir, "1", toolDir)+":") {
		t.Errorf("PATH=%s", path)
	}
}

func TestAPythonThatIsNotThereIsToldBeforeTheStart(t *testing.T) {
	for want, p := range map[string]spec.Python{
		"python.venv: /no/venv/bin/python":            {Venv: "/no/venv"},
		"python.interpreter: /no/python3":             {Interpreter: "/no/python3"},
		"python.interpreter: python0.9: none in PATH": {Interpreter: "python0.9"},
		"python: nobody made":                         {Requirements: "requirements.txt"},
		"python.conda: nowhere":                       {Conda: "nowhere"},
	} {
		e := &executor{Context: Context{Python: plan.Python{Python: p}}}
		if err := e.interpreter(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	e := &executor{Context: Context{Python: plan.Python{Env: "/no/shelf/0123/env"}}}
	want := "python: /no/shelf/0123/env: the environment of this job is not there any more: no such file or directory\nhint: submit the job again: it is made anew"
	if err := e.interpreter(t.Context(), t.TempDir()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Where nobody knows which devices were granted, what the node set stays.
func TestVisibleDevicesStayAsTheNodeSetThem(t *testing.T) {
	e := &executor{Context: Context{AsFound: true, Environ: map[string]string{"CUDA_VISIBLE_DEVICES": "submitter"}},
		opt: Options{Environ: []string{"NVIDIA_VISIBLE_DEVICES=4,6"}}}
	env := e.environ("/d/1", "/d/1/work", plan.Launch{}, 0)
	if value, ok := lookup(t, env, "CUDA_VISIBLE_DEVICES"); ok {
		t.Errorf("set to %q", value)
	}
	if value, _ := lookup(t, env, "NVIDIA_VISIBLE_DEVICES"); value != "4,6" {
		t.Errorf("set to %q", value)
	}
	e.Resources.GPUs = 2
	if err := e.checkGrant(); err != nil {
		t.Error(err)
	}
}
