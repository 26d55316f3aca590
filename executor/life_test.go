package executor

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/wire"
)

func TestATaskRegistersStartsAndExits(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	live(t, c)
	if h := d.hello(0); h.Slot != c.Slot || h.Task != worker || h.Phase != wire.PhaseIdle || h.Host != "127.0.0.1" || h.Control == "" {
		t.Errorf("hello %+v", h)
	}
	d.play(1, shell(`echo out; echo "last word" >&2; exit 7`), plan.Port{Name: "main"})
	if r := wait(d, registered(1)); r.Host != "127.0.0.1" || r.Ports["main"] == 0 {
		t.Errorf("registered %+v", r)
	}
	x := wait(d, exitOf(1)).Exit
	if x.Class != event.ClassExit || x.Status != 7 || x.Stopped || len(x.Stderr) != 1 || x.Stderr[0] != "last word" || x.At.IsZero() {
		t.Errorf("exit %+v", x)
	}
	if got := read(t, filepath.Join(c.Root, "1", "logs", "0.out")); got != "out\n" {
		t.Errorf("log %q", got)
	}
}

func TestSeveralProcessesAreOneTask(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	live(t, c)
	l := shell(`echo $LOCAL_RANK $SHARED; [ $LOCAL_RANK = 0 ] || exit 9; trap 'exit 0' TERM; sleep 60 & wait`)
	l.Env = map[string]string{"SHARED": "s", "LOCAL_RANK": "none"}
	l.Procs = []map[string]string{{"LOCAL_RANK": "0"}, {"LOCAL_RANK": "1"}}
	s := d.play(1, l)
	if len(s.PIDs) != 2 {
		t.Errorf("pids %v", s.PIDs)
	}
	if x := wait(d, exitOf(1)).Exit; x.Status != 9 || x.Proc != 1 || x.Stopped {
		t.Errorf("exit %+v", x)
	}
	for i, want := range []string{"0 s\n", "1 s\n"} {
		if got := read(t, filepath.Join(c.Root, "1", "logs", strconv.Itoa(i)+".out")); got != want {
			t.Errorf("process %d wrote %q", i, got)
		}
	}
}

func TestARestartRunsInTheSameExecutorWithADirectoryOfItsOwn(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	live(t, c)
	d.exits(1, shell(`touch leftover; echo first >&2; exit 1`))
	if x := d.exits(2, shell(`ls; exit 0`)); x.Class != event.ClassNone || x.Status != 0 {
		t.Errorf("exit %+v", x)
	}
	if got := read(t, filepath.Join(c.Root, "2", "logs", "0.out")); got != "" {
		t.Errorf("the second found %q", got)
	}
	// F-076: what the first one wrote is still there.
	if got := read(t, filepath.Join(c.Root, "1", "logs", "0.err")); got != "first\n" {
		t.Errorf("log of the first: %q", got)
	}
	if len(d.hellos) != 1 {
		t.Errorf("%d connections", len(d.hellos))
	}
}

func TestPrepareOfALaterIncarnationStopsTheOneThatRuns(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	live(t, j.context(d, worker))
	s := d.play(1, shell(`sleep 600`))
	d.send(wire.Directive{Prepare: &wire.Prepare{Incarnation: 2, Epoch: 2}})
	wait(d, registered(2))
	if x := wait(d, exitOf(1)).Exit; !x.Stopped || x.Failed() {
		t.Errorf("exit of the first %+v", x)
	}
	if alive(s.PIDs[0]) {
		t.Error("both live")
	}
}

func TestRepeatedAndStaleDirectivesDoNoHarm(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	live(t, c)
	d.exits(1, shell(`exit 3`))
	s := d.play(2, shell(`echo started; sleep 600`))
	for range 3 {
		d.send(wire.Directive{Prepare: &wire.Prepare{Incarnation: 2, Epoch: 2}})
		d.send(wire.Directive{Start: &wire.Start{Incarnation: 2, Launch: shell(`echo twice`)}})
		// Of the incarnation before: late.
		d.send(wire.Directive{Stop: &wire.Stop{Incarnation: 1, Now: true}})
		d.send(wire.Directive{Prepare: &wire.Prepare{Incarnation: 1}})
		d.send(wire.Directive{Start: &wire.Start{Incarnation: 1, Launch: shell(`echo old`)}})
		d.send(wire.Directive{Start: &wire.Start{Incarnation: 3, Launch: shell(`echo not prepared`)}})
	}
	eventually(t, "answers", func() bool { return len(all(d, started(2))) >= 4 && len(all(d, registered(2))) >= 4 })
	if !alive(s.PIDs[0]) {
		t.Error("the running incarnation was harmed")
	}
	for range 2 {
		d.send(wire.Directive{Stop: &wire.Stop{Incarnation: 2, Grace: 10 * time.Second}})
	}
	if x := wait(d, exitOf(2)).Exit; !x.Stopped || x.Status != 143 || x.Signal != "SIGTERM" || x.Failed() {
		t.Errorf("exit %+v", x)
	}
	if got := read(t, filepath.Join(c.Root, "2", "logs", "0.out")); got != "started\n" {
		t.Errorf("log %q", got)
	}
	// A stop for what has ended is answered by its end once more.
	n := len(all(d, exitOf(2)))
	d.send(wire.Directive{Stop: &wire.Stop{Incarnation: 2}})
	eventually(t, "the exit again", func() bool { return len(all(d, exitOf(2))) > n })
	if got := len(all(d, started(1))); got != 1 {
		t.Errorf("the first was started %d times", got)
	}
}

func TestStopEscalates(t *testing.T) {
	tc := map[string]struct {
		stop wire.Stop
		want string
	}{
		"grace over": {wire.Stop{Incarnation: 1, Grace: 200 * time.Millisecond}, "SIGKILL"},
		"now":        {wire.Stop{Incarnation: 1, Grace: time.Hour, Now: true}, "SIGKILL"},
		"own signal": {wire.Stop{Incarnation: 1, Grace: time.Hour, Signal: "USR1"}, "SIGUSR1"},
	}
	for name, tc := range tc {
		t.Run(name, func(t *testing.T) {
			j := newJob(t)
			d := j.coordinator(1, true)
			live(t, j.context(d, worker))
			d.play(1, shell(`trap '' TERM; touch $MUSTER_READY_FILE; while :; do sleep 0.02; done`))
			wait(d, ready(1))
			d.send(wire.Directive{Stop: &tc.stop})
			if x := wait(d, exitOf(1)).Exit; x.Signal != tc.want || !x.Stopped {
				t.Errorf("exit %+v", x)
			}
		})
	}
}

func TestStopBeforeTheStart(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	live(t, j.context(d, worker))
	d.send(wire.Directive{Prepare: &wire.Prepare{Incarnation: 1, Ports: []plan.Port{{Name: "main"}}}})
	r := wait(d, registered(1))
	d.send(wire.Directive{Stop: &wire.Stop{Incarnation: 1}})
	if x := wait(d, exitOf(1)).Exit; !x.Stopped || x.Class != event.ClassCancelled {
		t.Errorf("exit %+v", x)
	}
	if err := plainBind(r.Ports["main"]); err != nil {
		t.Errorf("the port is still held: %v", err)
	}
	// Never prepared, but stopped: ended before it began, also for a late Prepare.
	d.send(wire.Directive{Stop: &wire.Stop{Incarnation: 2}})
	wait(d, exitOf(2))
	d.send(wire.Directive{Prepare: &wire.Prepare{Incarnation: 2}})
	eventually(t, "the exit again", func() bool { return len(all(d, exitOf(2))) == 2 })
	if n := len(all(d, registered(2))); n != 0 {
		t.Error("was prepared after its stop")
	}
}

func TestAProgramThatIsNotThereDidNotStart(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	live(t, j.context(d, worker))
	x := d.exits(1, plan.Launch{Argv: []string{"no-such-program"}})
	if x.Class != event.ClassStart || x.Status != 127 || !strings.HasPrefix(x.Text, "no-such-program: no such program") {
		t.Errorf("exit %+v", x)
	}
}

func TestASignalIsSentOnceHoweverOftenItIsAskedFor(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	live(t, c)
	d.play(1, shell(`trap 'echo got' USR1; touch $MUSTER_READY_FILE; while :; do sleep 0.02; done`))
	wait(d, ready(1))
	signalled := func(m wire.Message) *wire.Signalled { return m.Signalled }
	for range 3 {
		d.send(wire.Directive{Signal: &wire.Signal{Request: "r1", Incarnation: 1, Signal: "SIGUSR1"}})
	}
	if s := wait(d, signalled); s.Request != "r1" || s.Error != "" {
		t.Errorf("got %+v", s)
	}
	d.send(wire.Directive{Signal: &wire.Signal{Request: "r1", Incarnation: 1, Signal: "SIGUSR1"}})
	eventually(t, "answer again", func() bool { return len(all(d, signalled)) >= 2 })
	for request, s := range map[string]wire.Signal{
		"no such signal": {Request: "r2", Incarnation: 1, Signal: "SIGWHAT"},
		"does not run":   {Request: "r3", Incarnation: 7, Signal: "USR1"},
	} {
		d.send(wire.Directive{Signal: &s})
		answer := wait(d, func(m wire.Message) *wire.Signalled {
			return only(m.Signalled, func(got wire.Signalled) bool { return got.Request == s.Request })
		})
		if !strings.Contains(answer.Error, request) {
			t.Errorf("%s: %+v", request, answer)
		}
	}
	said := func() string { return read(t, filepath.Join(c.Root, "1", "logs", "0.out")) }
	eventually(t, "the task sees it", func() bool { return said() != "" }) // a shell may be slow
	d.send(wire.Directive{Stop: &wire.Stop{Incarnation: 1, Now: true}})
	wait(d, exitOf(1))
	if got := said(); got != "got\n" {
		t.Errorf("the task saw %q", got)
	}
}

func TestQuitEndsEverything(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	l := live(t, j.context(d, worker))
	s := d.play(1, shell(`setsid sleep 600 & sleep 600`))
	d.send(wire.Directive{Quit: &wire.Quit{Reason: "job is done"}})
	if err := l.end(); err != nil {
		t.Errorf("got %v", err)
	}
	if x := wait(d, exitOf(1)).Exit; !x.Stopped {
		t.Errorf("exit %+v", x)
	}
	if alive(s.PIDs[0]) {
		t.Error("the task lives")
	}
}

func TestATerminatedExecutorTakesItsTaskAlongAsLost(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	l := live(t, j.context(d, worker))
	s := d.play(1, shell(`sleep 600`))
	l.cancel()
	if err := l.end(); !errors.Is(err, ErrTerminated) {
		t.Errorf("got %v", err)
	}
	if x := wait(d, exitOf(1)).Exit; x.Class != event.ClassLost || !x.Failed() {
		t.Errorf("exit %+v", x)
	}
	if alive(s.PIDs[0]) {
		t.Error("the task lives")
	}
}

func TestKillingTheExecutorLeavesNothing(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(j.dir, "start.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	claim, err := os.Create(filepath.Join(j.dir, "claim"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(claim.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	argv := self(t, "run", "--context", file, "--hold", "3")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.ExtraFiles = []*os.File{claim}
	var log buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := claim.Close(); err != nil {
		t.Fatal(err)
	}
	held := func() bool {
		f, err := os.Open(filepath.Join(j.dir, "claim"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
	}
	s := d.play(1, shell(`setsid sleep 600 & echo $! > $MUSTER_DIR/other; ls -l /proc/self/fd > $MUSTER_DIR/fds; touch $MUSTER_READY_FILE; sleep 600`))
	wait(d, ready(1))
	if !held() {
		t.Error("nobody holds the claim")
	}
	if fds := read(t, filepath.Join(c.Root, "1", "fds")); strings.Contains(fds, "claim") {
		t.Errorf("the task got the claim:\n%s", fds)
	}
	other, err := strconv.Atoi(strings.TrimSpace(read(t, filepath.Join(c.Root, "1", "other"))))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "all gone", func() bool { return !alive(s.PIDs[0]) && !alive(other) && !held() })
	if t.Failed() {
		t.Log(log.String())
	}
}

func TestALostGuardianIsALostTask(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	live(t, j.context(d, worker))
	s := d.play(1, shell(`sleep 600`))
	stat := read(t, "/proc/"+strconv.Itoa(s.PIDs[0])+"/stat")
	parent, err := strconv.Atoi(strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(parent, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if x := wait(d, exitOf(1)).Exit; x.Class != event.ClassLost || x.Stopped || x.Text == "" {
		t.Errorf("exit %+v", x)
	}
	if alive(s.PIDs[0]) {
		t.Error("the task lives")
	}
	// The slot is still good.
	if x := d.exits(2, shell(`exit 0`)); x.Class != event.ClassNone {
		t.Errorf("exit %+v", x)
	}
}

// F-055: one word, the peak and the limit.
func TestF055KilledForMemoryIsSaidInOneWord(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	c.Resources = plan.Resources{Memory: 64 << 20}
	live(t, c)
	x := d.exits(1, plan.Launch{Argv: []string{"python3", "-c", "x = b'a' * (300 << 20)\nimport time\ntime.sleep(60)"}})
	if x.Class != event.ClassMemory || x.Stopped || !strings.Contains(x.Text, "of 64 MiB") {
		t.Errorf("exit %+v", x)
	}
}

// F-013: a task that is only slow is not dead: the executor beats for it.
func TestF013BeatsGoOnWhileTheTaskIsStopped(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	live(t, j.context(d, worker))
	s := d.play(1, shell(`sleep 600`))
	if err := syscall.Kill(s.PIDs[0], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	beats := func(m wire.Message) *wire.Beat { return m.Beat }
	n := len(all(d, beats))
	eventually(t, "beats", func() bool { return len(all(d, beats)) > n+5 })
	if len(all(d, exitOf(1))) != 0 {
		t.Error("declared dead")
	}
	d.send(wire.Directive{Stop: &wire.Stop{Incarnation: 1, Now: true}})
	wait(d, exitOf(1))
}
