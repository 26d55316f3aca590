package executor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/wire"
)

// saver is a task that counts the signals of a preemption and saves at the first.
const saves = `[ -e $MUSTER_DEADLINE_FILE ] && exit 1
trap 'echo told; cat $MUSTER_DEADLINE_FILE; exit 75' USR1
touch $MUSTER_READY_FILE; while :; do sleep 0.02; done`

// told are the words of a task about its preemption.
func told(t *testing.T, root string) (lines []string, at time.Time) {
	t.Helper()
	lines = strings.Fields(read(t, filepath.Join(root, "1", "logs", "0.out")))
	if len(lines) == 0 {
		t.Fatal("the task was told nothing")
	}
	at, err := time.Parse(time.RFC3339, lines[len(lines)-1])
	if err != nil {
		t.Fatal(err)
	}
	return lines, at
}

// The coordinator's clock goes half a minute ahead: what the task reads is true
// on its own.
func TestAPreemptedTaskFindsItsDeadlineOnItsOwnClock(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	d.ahead = 30 * time.Second
	c := j.context(d, worker)
	live(t, c)
	d.play(1, shell(saves))
	wait(d, ready(1))
	deadline := time.Now().Add(time.Minute)
	d.send(wire.Directive{Preempt: &wire.Preempt{Incarnation: 1, Signal: "USR1", Deadline: deadline.Add(d.ahead), Reason: "room for root.ml"}})
	if x := wait(d, exitOf(1)).Exit; x.Class != event.ClassExit || x.Status != 75 || x.Stopped {
		t.Errorf("exit %+v, want its own 75", x)
	}
	lines, at := told(t, c.Root)
	if off := at.Sub(deadline).Abs(); off > 5*time.Second || len(lines) != 2 {
		t.Errorf("%q: the deadline is %s off", lines, off)
	}
}

// The signal comes so long before the end as the role says, and once, however
// often the directive does.
func TestTheSignalOfAPreemptionComesOnceAndInTime(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	live(t, c)
	d.play(1, shell(`trap 'date +%s.%N' USR1; touch $MUSTER_READY_FILE; while [ ! -e $MUSTER_DIR/enough ]; do sleep 0.02; done; exit 75`))
	wait(d, ready(1))
	begin := time.Now()
	p := &wire.Preempt{Incarnation: 1, Signal: "USR1", Before: time.Minute, Deadline: begin.Add(time.Minute + 700*time.Millisecond)}
	for range 3 {
		d.send(wire.Directive{Preempt: p})
	}
	out := filepath.Join(c.Root, "1", "logs", "0.out")
	eventually(t, "the signal", func() bool { return read(t, out) != "" })
	if after := time.Since(begin); after < 600*time.Millisecond {
		t.Errorf("the signal came after %s", after)
	}
	d.send(wire.Directive{Preempt: p}) // again, as on a new link
	d.send(wire.Directive{Signal: &wire.Signal{Request: "sync", Incarnation: 1, Signal: "CONT"}})
	wait(d, func(m wire.Message) *wire.Signalled { return m.Signalled })
	if err := os.WriteFile(filepath.Join(c.Root, "1", "enough"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wait(d, exitOf(1))
	if lines := strings.Fields(read(t, out)); len(lines) != 1 {
		t.Errorf("%d signals: %q", len(lines), lines)
	}
}

// A warning without a signal is the file alone; one that is withdrawn takes the
// file along, and a signal that has not come never does.
func TestAPreemptionWithoutASignalAndWithdrawn(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	live(t, c)
	d.play(1, shell(`touch $MUSTER_READY_FILE; while [ ! -e $MUSTER_DIR/enough ]; do sleep 0.02; done`))
	wait(d, ready(1))
	file := filepath.Join(c.Root, "1", "deadline")
	there := func() bool { _, err := os.Stat(file); return err == nil }
	d.send(wire.Directive{Preempt: &wire.Preempt{Incarnation: 1, Deadline: time.Now().Add(time.Minute)}})
	eventually(t, "the file", there)
	d.send(wire.Directive{Preempt: &wire.Preempt{Incarnation: 1}})
	eventually(t, "no file", func() bool { return !there() })
	// Again, with a signal that kills and is still to come when this is withdrawn.
	d.send(wire.Directive{Preempt: &wire.Preempt{Incarnation: 1, Signal: "USR1", Before: time.Minute, Deadline: time.Now().Add(time.Minute + 300*time.Millisecond)}})
	d.send(wire.Directive{Preempt: &wire.Preempt{Incarnation: 1}})
	d.send(wire.Directive{Preempt: &wire.Preempt{Incarnation: 7, Signal: "KILL", Deadline: time.Now().Add(time.Minute)}}) // of none that runs
	beats := func(m wire.Message) *wire.Beat { return m.Beat }
	n := len(all(d, beats))
	eventually(t, "half a second of beats", func() bool { return len(all(d, beats)) > n+25 })
	if there() {
		t.Error("the file is back")
	}
	if err := os.WriteFile(filepath.Join(c.Root, "1", "enough"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if x := wait(d, exitOf(1)).Exit; x.Class != event.ClassNone {
		t.Errorf("exit %+v", x)
	}
}
