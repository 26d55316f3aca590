package executor

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/storage/local"
	"github.com/muster-project/muster/wire"
)

func TestATaskRunsOnUnderTheNextTerm(t *testing.T) {
	j := newJob(t)
	first := j.coordinator(1, true)
	live(t, j.context(first, worker))
	s := first.play(1, shell(`touch $MUSTER_READY_FILE; sleep 600`), plan.Port{Name: "main"})
	wait(first, ready(1))
	first.stop()

	second := j.coordinator(2, true) // found by its file
	h := second.hello(0)
	if h.Term != 1 || h.Incarnation != 1 || h.Phase != wire.PhaseRunning || !h.Ready || len(h.PIDs) != 1 || h.PIDs[0] != s.PIDs[0] || h.Ports["main"] == 0 {
		t.Errorf("hello %+v", h)
	}
	if !alive(s.PIDs[0]) {
		t.Error("the task did not survive its coordinator")
	}
	second.send(wire.Directive{Stop: &wire.Stop{Incarnation: 1}})
	wait(second, exitOf(1))
}

func TestAnExitThatNobodyHeardIsInTheNextHello(t *testing.T) {
	j := newJob(t)
	first := j.coordinator(1, true)
	live(t, j.context(first, worker))
	go1 := filepath.Join(j.dir, "go")
	first.play(1, shell(`while [ ! -e `+go1+` ]; do sleep 0.02; done; echo bye >&2; exit 5`))
	first.stop()
	if err := os.WriteFile(go1, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second := j.coordinator(2, true)
	eventually(t, "the exit", func() bool {
		second.mu.Lock()
		for _, h := range second.hellos {
			if h.Phase == wire.PhaseExited && h.Exit != nil && h.Exit.Status == 5 && h.Exit.Stderr[0] == "bye" {
				second.mu.Unlock()
				return true
			}
		}
		second.mu.Unlock()
		return len(all(second, exitOf(1))) > 0 // it ended just after the hello
	})
}

func TestANudgeBringsTheExecutorOver(t *testing.T) {
	j := newJob(t)
	first := j.coordinator(1, true)
	live(t, j.context(first, worker))
	s := first.play(1, shell(`sleep 600`))
	second := j.coordinator(2, false) // not announced in the directory
	conf, err := j.auth.Coordinator()
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.Nudge(t.Context(), first.hello(0).Control, conf, 2, second.addr); err != nil {
		t.Fatal(err)
	}
	if h := second.hello(0); h.Phase != wire.PhaseRunning {
		t.Errorf("hello %+v", h)
	}
	var known *wire.SupersededError
	if err := first.reason(); !errors.As(err, &known) || known.Term != 2 {
		t.Errorf("the first coordinator heard %v", err)
	}
	// One of a lower term cannot get it back.
	if err := wire.Nudge(t.Context(), first.hello(0).Control, conf, 1, first.addr); err != nil {
		t.Fatal(err)
	}
	second.send(wire.Directive{Stop: &wire.Stop{Incarnation: 1}})
	wait(second, exitOf(1))
	if n := len(first.hellos); n != 1 || alive(s.PIDs[0]) {
		t.Errorf("%d hellos to the superseded one", n)
	}
}

func TestALowerTermIsRefused(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(3, true)
	c := j.context(d, worker)
	c.Term = 4
	live(t, c)
	if err := d.reason(); !errors.Is(err, wire.ErrSuperseded) {
		t.Errorf("the coordinator heard %v", err)
	}
}

func TestTheLeaseEndsTheTree(t *testing.T) {
	tc := map[string]func(c *Context){
		"lease": func(c *Context) { c.Lease = spec.Duration(400 * time.Millisecond) },
		"short lease without the job directory": func(c *Context) {
			c.Short = spec.Duration(400 * time.Millisecond)
			c.Endpoints = filepath.Join(c.Endpoints, "unreachable")
		},
	}
	for name, set := range tc {
		t.Run(name, func(t *testing.T) {
			j := newJob(t)
			d := j.coordinator(1, true)
			c := j.context(d, worker)
			set(&c)
			l := live(t, c)
			s := d.play(1, shell(`sleep 600`))
			d.stop()
			if err := l.end(); !errors.Is(err, ErrLease) {
				t.Errorf("got %v", err)
			}
			if alive(s.PIDs[0]) {
				t.Error("the task outlives the lease")
			}
		})
	}
}

func TestTheWelcomeMayGiveAnotherLease(t *testing.T) {
	e := &executor{Context: Context{Lease: spec.Duration(time.Hour), Endpoints: "x"}}
	now := time.Now()
	e.contact, e.dirOK = now, now.Add(time.Hour)
	if got := e.deadline(); !got.Equal(now.Add(time.Hour)) {
		t.Errorf("lease of the context: %s", got.Sub(now))
	}
	e.seen = wire.Welcome{Lease: 2 * time.Minute}
	if got := e.deadline(); !got.Equal(now.Add(2 * time.Minute)) {
		t.Errorf("lease of the welcome: %s", got.Sub(now))
	}
	e.dirOK = now
	if got := e.deadline(); !got.Equal(now.Add(ShortLease)) {
		t.Errorf("cut off from both: %s", got.Sub(now))
	}
}

func TestALinkWithinTheLeaseSavesTheTree(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	c.Lease = spec.Duration(30 * time.Second)
	live(t, c)
	s := d.play(1, shell(`sleep 600`))
	for term := int64(2); term < 5; term++ {
		d.stop()
		d = j.coordinator(term, true)
		d.hello(0)
	}
	if !alive(s.PIDs[0]) {
		t.Error("the task was ended")
	}
}

// A coordinator that dies in the middle of its own file must not hide the rest.
func TestTheNewestEndpointThatIsWholeCounts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"000002":  `{"term":2,"address":"a:2"}`,
		"000010":  `{"term":10,"address":"a:10"}`,
		"1000000": `{"term":1000000,"addr`,
		"notes":   `{"term":99,"address":"a:99"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := newest(t.Context(), local.FS{}, dir)
	if err != nil || got != (endpoint{Term: 10, Address: "a:10"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := newest(t.Context(), local.FS{}, filepath.Join(dir, "none")); err == nil {
		t.Error("a directory that cannot be read is no error")
	}
}

func TestTheHostIsTheOneOnTheRouteToTheCoordinator(t *testing.T) {
	if got := hostFor("node7", "127.0.0.1:1"); got != "node7" {
		t.Errorf("given, but %s", got)
	}
	if got := hostFor("", "127.0.0.1:1"); got != "127.0.0.1" {
		t.Errorf("loopback, but %s", got)
	}
	if got := bindHost("127.0.0.1"); !net.ParseIP(got).IsLoopback() {
		t.Errorf("listens on %q", got)
	}
	if got := bindHost("192.0.2.7"); got != "" {
		t.Errorf("listens on %q", got)
	}
}
