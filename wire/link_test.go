package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/plan"
)

func TestALinkCarriesBothWays(t *testing.T) {
	d := &desk{term: 2, beat: time.Second, onLink: func(l *Link) {
		// Before the welcome is written; must follow it.
		if err := l.Send(Directive{Prepare: &Prepare{Incarnation: 1}}); err != nil {
			t.Error(err)
		}
	}}
	s := newSite(t, d, Limits{})
	want := hello(worker)
	want.Term, want.Incarnation, want.Ports = 2, 7, map[string]int{"main": 4000}
	c, w, err := Dial(t.Context(), s.addr, s.executor(worker), want)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if w.Term != 2 || w.Beat != time.Second || w.Now.IsZero() {
		t.Errorf("welcome %+v", w)
	}
	down, _ := drain(c)
	if got := next(t, down); got.Prepare == nil || got.Prepare.Incarnation != 1 {
		t.Errorf("got %+v", got)
	}
	if err := c.Send(Message{Ready: &Ready{Incarnation: 7}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "message", func() bool { return look(d, func() bool { return len(d.got) == 1 }) })
	if diff := cmp.Diff(want, look(d, func() Hello { return d.hellos[0] })); diff != "" {
		t.Error(diff)
	}
	l := d.link(t, 0)
	if l.Task() != worker || l.Slot() != want.Slot {
		t.Errorf("link of %s in %s", l.Task(), l.Slot())
	}
}

func TestMessagesKeepTheirOrder(t *testing.T) {
	d := &desk{beat: time.Second}
	s := newSite(t, d, Limits{})
	c := s.dial(worker, Limits{})
	down, _ := drain(c)
	for i := range 500 {
		if err := errors.Join(c.Send(Message{Ready: &Ready{Incarnation: i}}),
			d.link(t, 0).Send(Directive{Stop: &Stop{Incarnation: i}})); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 500 {
		if got := next(t, down).Stop.Incarnation; got != i {
			t.Fatalf("directive %d came as %d", i, got)
		}
	}
	eventually(t, "messages", func() bool { return look(d, func() bool { return len(d.got) == 500 }) })
	for i, m := range d.got {
		if m.Ready.Incarnation != i {
			t.Fatalf("message %d came as %d", i, m.Ready.Incarnation)
		}
	}
}

func TestALateWordOnAnEndedLinkIsAnErrorAndNothingElse(t *testing.T) {
	d := &desk{beat: time.Second}
	s := newSite(t, d, Limits{})
	c := s.dial(worker, Limits{})
	l := d.link(t, 0)
	_ = c.Close()
	is(t, d.reason(t), ErrClosed)
	is(t, l.Send(Directive{Quit: &Quit{}}), ErrClosed)
	is(t, c.Send(Message{Ready: &Ready{}}), ErrClosed)
	if n := look(d, func() int { return len(d.unlinked) }); n != 1 {
		t.Errorf("unlinked %d times", n)
	}
}

func TestANewConnectionReplacesTheOldOneInOrder(t *testing.T) {
	d := &desk{beat: time.Second}
	s := newSite(t, d, Limits{})
	first := s.dial(worker, Limits{})
	_, end := drain(first)
	second := s.dial(worker, Limits{})
	defer second.Close()
	is(t, d.reason(t), ErrReplaced)
	if err := next(t, end); err == nil {
		t.Error("the old connection lives")
	}
	if diff := cmp.Diff([]string{"linked", "unlinked", "linked"}, look(d, func() []string { return d.order })); diff != "" {
		t.Error(diff)
	}
}

func TestASupersededCoordinatorIsToldAndRefused(t *testing.T) {
	d := &desk{term: 3, beat: time.Second}
	s := newSite(t, d, Limits{})
	h := hello(worker)
	h.Term = 4
	_, _, err := Dial(t.Context(), s.addr, s.executor(worker), h)
	is(t, err, ErrSuperseded)
	var known *SupersededError
	if !errors.As(err, &known) || known.Term != 4 {
		t.Errorf("no term in %v", err)
	}
	is(t, d.reason(t), ErrSuperseded)
	if !errors.As(d.reason(t), &known) || known.Term != 4 {
		t.Errorf("no term in %v", d.reason(t))
	}
}

func TestAnExecutorThatLeavesTellsWhy(t *testing.T) {
	d := &desk{term: 3, beat: time.Second}
	s := newSite(t, d, Limits{})
	c := s.dial(worker, Limits{})
	if err := c.Leave(5); err != nil {
		t.Fatal(err)
	}
	var known *SupersededError
	if err := d.reason(t); !errors.As(err, &known) || known.Term != 5 {
		t.Errorf("got %v", err)
	}
}

func TestARefusalIsToldInWords(t *testing.T) {
	d := &desk{refuse: errors.New("slot s-9: was released")}
	s := newSite(t, d, Limits{})
	_, _, err := Dial(t.Context(), s.addr, s.executor(worker), hello(worker))
	is(t, err, ErrRefused)
	if !strings.Contains(fmt.Sprint(err), "slot s-9: was released") {
		t.Errorf("got %v", err)
	}
}

func TestOffsetIsEstimatedFromBeats(t *testing.T) {
	d := &desk{beat: time.Second}
	s := newSite(t, d, Limits{})
	c := s.dial(worker, Limits{})
	_, _ = drain(c)
	const behind = 90 * time.Minute // the executor's clock
	l := d.link(t, 0)
	before := l.LastBeat()
	for range 3 {
		if err := c.Send(Message{Beat: &Beat{Sent: time.Now().Add(-behind)}}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "offset", func() bool { return (l.Offset() - behind).Abs() < 5*time.Second })
	if !l.LastBeat().After(before) {
		t.Error("the beat was not noted")
	}
}

// F-013: a beat is answered and noted before the coordinator's loop gets to it.
func TestF013BeatsAreAnsweredWhileTheCoordinatorWaits(t *testing.T) {
	d := &desk{beat: time.Second}
	s := newSite(t, d, Limits{})
	c := s.dial(worker, Limits{})
	_, _ = drain(c)
	l := d.link(t, 0)
	heard, beat := c.Heard(), l.LastBeat()
	d.mu.Lock() // the coordinator waits, and so does whoever calls it
	defer d.mu.Unlock()
	if err := c.Send(Message{Beat: &Beat{Sent: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "answer", func() bool { return c.Heard().After(heard) && l.LastBeat().After(beat) })
}

func TestASilentPeerIsFoundByTheDeadline(t *testing.T) {
	limits := Limits{Idle: 50 * time.Millisecond}
	tc := map[string]func(t *testing.T){
		"executor": func(t *testing.T) { // connected, never beats
			d := &desk{beat: time.Second}
			s := newSite(t, d, limits)
			s.dial(worker, Limits{})
			is(t, d.reason(t), ErrSilent)
		},
		"coordinator": func(t *testing.T) { // welcomes, never answers
			s := newSite(t, &desk{beat: time.Second}, Limits{})
			_, end := drain(s.dial(worker, limits))
			is(t, next(t, end), ErrSilent)
		},
	}
	for name, f := range tc {
		t.Run(name, f)
	}
}

// A half-open peer: its machine is gone, so nothing is acknowledged and nothing
// is closed.
func TestAHalfOpenPeerIsCutOff(t *testing.T) {
	d := &desk{beat: time.Second}
	s := newSite(t, d, Limits{Write: 100 * time.Millisecond, QueueBytes: 1 << 30})
	s.dial(worker, Limits{}) // never receives
	l := d.link(t, 0)
	big := Directive{Start: &Start{Launch: plan.Launch{Files: map[string][]byte{"data": make([]byte, 16<<20)}}}}
	if err := l.Send(big); err != nil {
		t.Fatal(err)
	}
	if err := d.reason(t); err == nil || errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestAPeerThatDoesNotReadOverflowsAndIsCutOffWithoutAWait(t *testing.T) {
	d := &desk{beat: time.Second}
	s := newSite(t, d, Limits{Queue: 8, Write: time.Minute})
	s.dial(worker, Limits{}) // never receives
	l := d.link(t, 0)
	big := Directive{Start: &Start{Launch: plan.Launch{Files: map[string][]byte{"data": make([]byte, 4<<20)}}}}
	var err error
	for range 100 {
		if err = l.Send(big); err != nil {
			break
		}
	}
	is(t, err, ErrOverflow)
	is(t, d.reason(t), ErrOverflow)
}

func TestServeWritesWhatIsQueuedBeforeItEnds(t *testing.T) {
	d := &desk{beat: time.Second}
	s := newSite(t, d, Limits{})
	down, end := drain(s.dial(worker, Limits{}))
	if err := d.link(t, 0).Send(Directive{Quit: &Quit{Reason: "job is done"}}); err != nil {
		t.Fatal(err)
	}
	s.stop()
	if got := next(t, down); got.Quit == nil || got.Quit.Reason != "job is done" {
		t.Errorf("got %+v", got)
	}
	is(t, next(t, end), ErrClosed)
}

func TestTwoHundredExecutorsAtOnce(t *testing.T) {
	d := &desk{beat: time.Second}
	s := newSite(t, d, Limits{Handshakes: 8, Greeting: late})
	const n = 200
	var wg sync.WaitGroup
	conns := make([]*Conn, n)
	for i := range n {
		wg.Go(func() {
			task := plan.TaskID{Role: "worker", Index: i}
			conns[i] = s.dial(task, Limits{Greeting: late})
		})
	}
	wg.Wait()
	eventually(t, "links", func() bool { return look(d, func() bool { return len(d.links) == n }) })
	var heard []<-chan Directive
	for i, c := range conns {
		down, _ := drain(c)
		heard = append(heard, down)
		for range 2 { // repeated: must arrive twice, harms nobody
			if err := c.Send(Message{Registered: &Registered{Incarnation: i}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "registrations", func() bool { return look(d, func() bool { return len(d.got) == 2*n }) })
	for i := range n {
		l := d.link(t, i)
		if err := l.Send(Directive{Start: &Start{Incarnation: l.Task().Index}}); err != nil {
			t.Fatal(err)
		}
	}
	for i, down := range heard {
		if got := next(t, down).Start.Incarnation; got != i {
			t.Errorf("executor %d got the start of %d", i, got)
		}
	}
}

func TestALogFlowsAndEnds(t *testing.T) {
	d := &desk{beat: time.Second}
	s := newSite(t, d, Limits{})
	c := s.dial(worker, Limits{})
	down, _ := drain(c)
	conf := s.executor(worker)
	want := strings.Repeat("a line of a log\n", 100_000)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		o := next(t, down).OpenLog
		w, err := DialLog(t.Context(), s.addr, conf, o.Stream, nil)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := io.WriteString(w, want); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	r, err := s.srv.OpenLog(t.Context(), d.link(t, 0), OpenLog{Incarnation: 1, Name: "0.out"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil || string(got) != want {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
}

func TestAMissingLogIsToldInWords(t *testing.T) {
	d := &desk{beat: time.Second}
	s := newSite(t, d, Limits{})
	down, _ := drain(s.dial(worker, Limits{}))
	conf := s.executor(worker)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		_, err := DialLog(t.Context(), s.addr, conf, next(t, down).OpenLog.Stream, errors.New("7.out: no such log"))
		if err != nil {
			t.Error(err)
		}
	})
	_, err := s.srv.OpenLog(t.Context(), d.link(t, 0), OpenLog{Name: "7.out"})
	if !strings.Contains(fmt.Sprint(err), "7.out: no such log") {
		t.Errorf("got %v", err)
	}
}

func TestALogCutShortIsNoEnd(t *testing.T) {
	d := &desk{beat: time.Second}
	s := newSite(t, d, Limits{})
	down, _ := drain(s.dial(worker, Limits{}))
	conf := s.executor(worker)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		w, err := DialLog(t.Context(), s.addr, conf, next(t, down).OpenLog.Stream, nil)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(w, "half a l")
		w.Abort()
	})
	r, err := s.srv.OpenLog(t.Context(), d.link(t, 0), OpenLog{Name: "0.out"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); err == nil {
		t.Error("a torn log looks like a whole one")
	}
}

func TestALogThatNobodyWantsIsClosed(t *testing.T) {
	s := newSite(t, &desk{beat: time.Second}, Limits{})
	w, err := DialLog(t.Context(), s.addr, s.executor(worker), "never asked for", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	eventually(t, "closed", func() bool {
		_, err := io.WriteString(w, "text")
		return err != nil
	})
}

func TestANudgeReachesAnExecutor(t *testing.T) {
	s := newSite(t, &desk{}, Limits{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan string, 10)
	var wg sync.WaitGroup
	conf := s.control(worker)
	wg.Go(func() {
		if err := ServeControl(ctx, ln, conf, quiet, Controlled{Told: func(term int64, address string) {
			told <- fmt.Sprint(term, " ", address)
		}}); err != nil {
			t.Error(err)
		}
	})
	defer wg.Wait()
	defer cancel()
	own, err := s.auth.Coordinator()
	if err != nil {
		t.Fatal(err)
	}
	if err := Nudge(ctx, ln.Addr().String(), own, 4, "10.0.0.1:77"); err != nil {
		t.Fatal(err)
	}
	if got := next(t, told); got != "4 10.0.0.1:77" {
		t.Errorf("got %s", got)
	}
	// Another task of the same job is no coordinator.
	if err := Nudge(ctx, ln.Addr().String(), s.executor(plan.TaskID{Role: "worker"}), 9, "10.6.6.6:6"); err == nil {
		t.Error("an executor nudged an executor")
	}
	select {
	case got := <-told:
		t.Errorf("told %s", got)
	default:
	}
}
