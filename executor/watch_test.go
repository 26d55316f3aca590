package executor

import (
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/wire"
)

// output is a task's first process, as it prints.
type output struct {
	t   *testing.T
	dir string
	now time.Time
	w   *watch
}

func newOutput(t *testing.T, p spec.Progress) *output {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, logDir), 0o700); err != nil {
		t.Fatal(err)
	}
	return &output{t: t, dir: dir, now: time.Unix(1000, 0), w: newWatch(dir, p)}
}

func (o *output) print(stream, text string) {
	f, err := os.OpenFile(logPath(o.dir, 0, stream), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		o.t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		o.t.Fatal(err)
	}
	f.Close()
}

// look is a second later.
func (o *output) look(r report) *event.Progress {
	o.now = o.now.Add(time.Second)
	o.w.look(&r, o.now, false)
	return r.progress
}

func TestProgressIsReadFromOutputUntilTheTaskReports(t *testing.T) {
	o := newOutput(t, spec.Progress{})
	var got []*event.Progress
	see := func(r report) { got = append(got, o.look(r)) }
	see(report{})
	o.print("err", "  0%|          | 0/500 [00:00<?, ?it/s]\r 10%|█  | 50/500 [00:10<01:30,  5.00it/s]\r 12%|█  | 60/50")
	o.print("out", "{'loss': 0.5, 'learning_rate': 5e-05, 'epoch': 1.0}\n")
	see(report{})
	see(report{})
	o.print("err", "0 [00:12<01:20,  5.00it/s]\r")
	see(report{})
	see(report{progress: &event.Progress{Step: 1}})
	o.print("err", " 20%|█  | 100/500 [00:10<01:30,  5.00it/s]\r")
	see(report{})
	values := map[string]float64{"loss": 0.5, "learning_rate": 5e-05, "epoch": 1}
	want := []*event.Progress{nil, {Step: 50, Total: 500, StepTime: 0.2, Values: values}, nil,
		{Step: 60, Total: 500, StepTime: 0.2, Values: values}, {Step: 1, StepTime: 0.2}, nil}
	// The pace of a task that begins to report is the one that was seen before.
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9), cmpopts.IgnoreFields(event.Progress{}, "StepTime")); d != "" {
		t.Error(d)
	}
	for i, p := range got {
		if p != nil && p.StepTime <= 0 {
			t.Errorf("look %d knows no time of a step", i)
		}
	}
}

func TestTheTimeOfAStepIsMeasuredWhereNobodySaysIt(t *testing.T) {
	o := newOutput(t, spec.Progress{})
	o.look(report{progress: &event.Progress{Step: 10}})
	if p := o.look(report{progress: &event.Progress{Step: 14}}); p.StepTime != 0.25 {
		t.Errorf("four steps in a second take %v s each", p.StepTime)
	}
	if p := o.look(report{progress: &event.Progress{Step: 15, StepTime: 3}}); p.StepTime != 3 {
		t.Errorf("said 3 s, told %v", p.StepTime)
	}
}

// A training that has diverged and then hangs tells nothing new.
func TestALossThatIsNoNumberIsNewsOnce(t *testing.T) {
	o := newOutput(t, spec.Progress{})
	o.print("out", "step 1/9 loss nan\n")
	if p := o.look(report{}); p == nil || !math.IsNaN(p.Values["loss"]) {
		t.Errorf("%+v", p)
	}
	if p := o.look(report{}); p != nil {
		t.Errorf("nothing was printed, told %+v", p)
	}
}

func TestOutputIsNotReadWhereTheJobFileSaysSo(t *testing.T) {
	for name, p := range map[string]spec.Progress{"off": {Off: true}, "own": {Patterns: []string{`at (?P<step>\d+)`}}} {
		o := newOutput(t, p)
		o.print("out", "step 1/2 loss 0.5\n")
		if p := o.look(report{}); p != nil {
			t.Errorf("%s: %+v", name, p)
		}
		o.print("out", "at 7\n")
		if got := o.look(report{}); (got != nil) == p.Off || got != nil && got.Step != 7 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// However much was printed since the last look, a bounded piece is read, and
// rotation loses at most a line.
func TestALookReadsTheNewestPieceOnly(t *testing.T) {
	o := newOutput(t, spec.Progress{})
	o.print("out", "step 1/9 loss 1\n"+strings.Repeat("words and words\n", 64<<10)+"step 2/9 loss 2\n")
	if p := o.look(report{}); p == nil || p.Step != 2 || o.w.logs[0].offset <= 1<<20 {
		t.Errorf("%+v at %d", p, o.w.logs[0].offset)
	}
	if err := os.Rename(logPath(o.dir, 0, "out"), logPath(o.dir, 0, "out")+".1"); err != nil {
		t.Fatal(err)
	}
	if p := o.look(report{}); p != nil {
		t.Errorf("%+v", p)
	}
	o.print("out", "tep 8/9 loss 8\nstep 3/9 loss 3\n")
	if p := o.look(report{}); p == nil || p.Step != 3 {
		t.Errorf("%+v", p)
	}
}

func TestTheLastLineCountsAlthoughItHasNoEnd(t *testing.T) {
	o := newOutput(t, spec.Progress{})
	o.print("out", "step 9/9 loss 0.125")
	r := report{}
	o.w.look(&r, o.now, true)
	if r.progress == nil || r.progress.Step != 9 || r.progress.Values["loss"] != 0.125 {
		t.Errorf("%+v", r.progress)
	}
}

func TestATaskReportsWithTheModuleAndIsMadeKnownWhenItIsReady(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatal("python3: not found: the module that tasks report with is written in Python")
	}
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	c.Environ = map[string]string{"PATH": os.Getenv("PATH"), "PYTHONPATH": "/nowhere"}
	live(t, c)
	l := shell(`[ "${PYTHONPATH%%:*}" = /nowhere ] && exec python3 -c '
import muster, os, time
print(os.environ["TOKEN"], flush=True)
muster.report(step=1, total=2, loss=float("nan"))
muster.ready()
time.sleep(600)'`)
	l.Env = map[string]string{"TOKEN": "${muster.secret}"}
	l.Publish = map[string]string{"board": "http://n:1/?token=${muster.secret}"}
	d.play(1, l)
	p := wait(d, func(m wire.Message) *wire.Published { return m.Published })
	told := wait(d, func(m wire.Message) *event.Progress {
		if m.Beat == nil {
			return nil
		}
		return m.Beat.Progress
	})
	if told.Step != 1 || told.Total != 2 || told.Values["loss"] == told.Values["loss"] {
		t.Errorf("progress %+v", told)
	}
	token := strings.TrimSpace(read(t, filepath.Join(c.Root, "1", "logs", "0.out")))
	if len(token) != 40 || p.Key != "board" || p.Value != "http://n:1/?token="+token {
		t.Errorf("published %+v, and the task was told %q", p, token)
	}
	d.send(wire.Directive{Stop: &wire.Stop{Incarnation: 1, Now: true}})
	wait(d, exitOf(1))
}

func TestSecretsOfIncarnationsAndExecutorsDiffer(t *testing.T) {
	var a, b secret
	seen := map[string]bool{}
	for _, s := range []string{a.of("/1"), a.of("/2"), b.of("/1")} {
		seen[s] = true
	}
	if again := a.of("/1"); len(seen) != 3 || !seen[again] {
		t.Errorf("%v", seen)
	}
}

func BenchmarkModule(b *testing.B) {
	root := b.TempDir()
	for i := 0; b.Loop(); i++ { // each incarnation has a directory of its own
		dir := filepath.Join(root, strconv.Itoa(i))
		if err := errors.Join(os.Mkdir(dir, 0o700), writeModule(dir)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLook(b *testing.B) {
	dir := b.TempDir()
	if err := os.Mkdir(filepath.Join(dir, logDir), 0o700); err != nil {
		b.Fatal(err)
	}
	text := bytes.Repeat([]byte("2026-01-02 10:00:00,123 INFO worker: the batch of 128 items was read from /data/part-00017 in 12 ms\n"), 1000)
	w := newWatch(dir, spec.Progress{})
	for _, stream := range []string{"out", "err"} {
		if err := os.WriteFile(logPath(dir, 0, stream), text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		for _, l := range w.logs {
			l.offset = 0
		}
		w.read(false)
	}
}
