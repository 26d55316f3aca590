package backendtest

import (
	"context"
	"io"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/storage"
)

// Case is one thing that every backend must do.
type Case struct {
	Name string
	run  func(s *suite)
}

// Cases are all of them.
func Cases() []Case {
	return []Case{
		{"all-or-nothing start", (*suite).allOrNothing},
		{"surplus released", (*suite).surplus},
		{"exit status and signal unchanged", (*suite).exits},
		{"stop twice", (*suite).stopTwice},
		{"stop during start", (*suite).stopDuringStart},
		{"lost slot", (*suite).lostSlot},
		{"late and repeated exit", (*suite).repeatedExit},
		{"stale incarnation", (*suite).staleIncarnation},
		{"superseded term", (*suite).superseded},
		{"state unknown for a while", (*suite).unknown},
		{"logs complete after the end", (*suite).logs},
		{"preempted and requeued", (*suite).preempted},
		{"nothing left", (*suite).nothing},
	}
}

// Run holds a backend to the whole contract.
func Run(t *testing.T, h *Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, h) })
	}
}

// Run runs one case.
func (c Case) Run(t testing.TB, h *Harness) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*h.Patience)
	defer cancel()
	c.run(&suite{Harness: h, t: t, ctx: ctx})
}

// A gang that does not fit holds nothing while it waits, and starts as a whole.
func (s *suite) allOrNothing() {
	first := s.submit(s.job(1, "sleep=1m"))
	first.untilState("worker/0", "running")
	second := s.submit(s.job(s.Slots, "exit=0"))
	second.until("the second gang is asked for", func() bool {
		return count(second.events(), func(*event.SlotsRequested) bool { return true }) > 0
	})
	s.stays(time.Second, "the waiting gang holds nothing", func() bool { return s.has(second) == 0 })
	if v := first.view(); v.Outcome != nil {
		s.t.Fatalf("the first gang: %+v; it was to be there while the second waits", v.Outcome)
	}
	if err := s.Backend.Stop(s.ctx, first.ref, false); err != nil {
		s.t.Fatalf("stop: %v", err)
	}
	if o := second.end(); o.State != event.Succeeded {
		s.t.Fatalf("the second gang: %+v, want succeeded once the first is gone", o)
	}
	if o := first.end(); o.State != event.Stopped {
		s.t.Fatalf("the first gang: %+v, want stopped", o)
	}
}

// has counts the slots of a gang that waits.
func (s *suite) has(r *running) int {
	if s.Gathers {
		return count(r.events(), func(*event.SlotGranted) bool { return true })
	}
	return s.Held(r.ref.Job)
}

// A gang holds the slots of its tasks and no others.
func (s *suite) surplus() {
	p := s.job(1, "sleep=1s")
	p.Roles[0].Instances.Max = 2
	r := s.submit(p)
	r.untilState("worker/0", "running")
	s.until("the gang holds exactly the slots of its tasks", func() bool {
		members := 0
		for _, t := range r.view().Tasks {
			if t.State == "running" {
				members++
			}
		}
		return members > 0 && s.Held(r.ref.Job) == members
	})
	if o := r.end(); o.State != event.Succeeded {
		s.t.Fatalf("%+v, want succeeded", o)
	}
}

// What a program ends with is what people are told.
func (s *suite) exits() {
	ends := map[string]event.Exit{
		"exit=0":       {},
		"exit=1":       {Class: event.ClassExit, Status: 1},
		"exit=3":       {Class: event.ClassExit, Status: 3},
		"exit=77":      {Class: event.ClassExit, Status: 77},
		"exit=255":     {Class: event.ClassExit, Status: 255},
		"kill=SIGKILL": {Class: event.ClassSignal, Status: 137, Signal: "SIGKILL"},
		"kill=SIGSEGV": {Class: event.ClassSignal, Status: 139, Signal: "SIGSEGV"},
	}
	jobs := map[string]*running{} // at the same time, as far as there is room
	for word := range ends {
		jobs[word] = s.submit(s.job(1, word))
	}
	for word, want := range ends {
		r := jobs[word]
		o := r.end()
		x := r.task("worker/0").Exit
		if x == nil || x.Class != want.Class || x.Status != want.Status || x.Signal != want.Signal || o.Status != want.Status {
			s.t.Errorf("%s: task ended with %+v and the job with %d, want %+v", word, x, o.Status, want)
		}
	}
}

// A stop may be asked for again, and after the end.
func (s *suite) stopTwice() {
	r := s.submit(s.job(2, "sleep=1m"))
	r.untilState("worker/1", "running")
	for range 2 {
		if err := s.Backend.Stop(s.ctx, r.ref, false); err != nil {
			s.t.Fatalf("stop: %v", err)
		}
	}
	if o := r.end(); o.State != event.Stopped || o.Status != 130 {
		s.t.Fatalf("%+v, want stopped with 130", o)
	}
	if err := s.Backend.Stop(s.ctx, r.ref, true); err != nil {
		s.t.Fatalf("stop after the end: %v", err)
	}
	r.nothingLeft()
}

// A stop that comes while slots and executors are being made leaves none.
func (s *suite) stopDuringStart() {
	for i := range 5 {
		r := s.submit(s.job(s.Slots, "sleep=1m"))
		if i%2 == 1 {
			r.until("slots are granted", func() bool {
				return count(r.events(), func(*event.SlotGranted) bool { return true }) > 0
			})
		}
		if err := s.Backend.Stop(s.ctx, r.ref, false); err != nil {
			s.t.Fatalf("stop: %v", err)
		}
		if o := r.end(); o.State != event.Stopped {
			s.t.Fatalf("%+v, want stopped", o)
		}
		r.nothingLeft()
	}
	s.lateLaunch()
}

// lateLaunch starts an executor whose slot was released before.
func (s *suite) lateLaunch() {
	o, ok := s.Backend.(interface {
		Opener(id string) backend.Opener
	})
	if !ok {
		return // only the scripted backend lets a test be its coordinator
	}
	p := s.job(1, "sleep=1m")
	g, err := o.Opener(p.ID).Open(s.ctx, p, 1, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := g.Request(s.ctx, backend.Request{Number: 1, Minimum: 1, Asks: []backend.Ask{{Task: plan.TaskID{Role: "worker"}}}}); err != nil {
		s.t.Fatal(err)
	}
	var slot backend.Slot
	for e := range g.Events() {
		switch {
		case e.Granted != nil:
			slot = *e.Granted
			if err := g.Release(s.ctx, []string{slot.ID}, false); err != nil {
				s.t.Fatal(err)
			}
			if err := g.Launch(s.ctx, []backend.Start{{Slot: slot, Context: []byte(`{"job":"` + p.ID + `"}`)}}); err != nil {
				s.t.Fatal(err)
			}
		case e.Started != nil:
			if e.Started.Err == nil {
				s.t.Errorf("%s: an executor was started in a slot that was released", slot.ID)
			}
			if err := g.Close(s.ctx, event.Outcome{}); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// A slot that vanishes is noticed, named, and replaced if the policy says so.
func (s *suite) lostSlot() {
	r := s.submit(s.job(2, "sleep=1m"))
	r.untilState("worker/1", "running")
	if err := s.Lose(r.ref.Job, plan.TaskID{Role: "worker", Index: 1}); err != nil {
		s.t.Fatal(err)
	}
	if o := r.end(); o.State != event.Failed || o.Class != event.ClassLost || o.Task.String() != "worker/1" {
		s.t.Fatalf("%+v, want worker/1 lost", o)
	}
	r.nothingLeft()

	p := s.job(2, "1:sleep=1m", "exit=0")
	p.Roles[0].OnFailure, p.Roles[0].Restarts, p.Roles[0].RestartScope = spec.FailureRestart, 1, spec.ScopeJob
	r = s.submit(p)
	r.untilState("worker/0", "running")
	if err := s.Lose(r.ref.Job, plan.TaskID{Role: "worker", Index: 0}); err != nil {
		s.t.Fatal(err)
	}
	if o := r.end(); o.State != event.Succeeded {
		s.t.Fatalf("%+v, want a replacement and success", o)
	}
	r.nothingLeft()
}

// An exit told again, late, ends nothing of the next incarnation.
func (s *suite) repeatedExit() {
	p := s.job(1, "1:exit=7", "sleep=400ms", "exit=0")
	p.Roles[0].OnFailure, p.Roles[0].Restarts = spec.FailureRestart, 1
	r := s.submit(p)
	if o := r.end(); o.State != event.Succeeded {
		s.t.Fatalf("%+v, want the second incarnation to succeed", o)
	}
	for n, want := range map[int]int{1: 7, 2: 0} {
		got := count(r.events(), func(b *event.TaskExited) bool { return b.Incarnation == n && b.Exit.Status == want })
		all := count(r.events(), func(b *event.TaskExited) bool { return b.Incarnation == n })
		if got != 1 || all != 1 {
			s.t.Errorf("incarnation %d ended %d times, %d times with %d; want once with it", n, all, got, want)
		}
	}
}

// What an older incarnation says answers no roll call of the next.
func (s *suite) staleIncarnation() {
	p := s.job(1, "1:exit=7", "exit=0")
	p.Roles[0].OnFailure, p.Roles[0].Restarts = spec.FailureRestart, 1
	p.Timeout.Start = spec.Duration(s.Patience / 4)
	r := s.submit(p)
	if o := r.end(); o.State != event.Succeeded {
		s.t.Fatalf("%+v, want the second incarnation to register and to succeed", o)
	}
	ports := map[int]int{}
	for _, e := range r.events() {
		if b, ok := e.Body.(*event.TaskRegistered); ok {
			ports[b.Incarnation] = b.Ports["main"]
		}
	}
	if ports[1] == 0 || ports[2] == 0 {
		s.t.Errorf("ports by incarnation %v, want both to have registered", ports)
	}
}

// A coordinator that is superseded leaves, and no task notices.
func (s *suite) superseded() {
	r := s.submit(s.job(2, "sleep=3s", "exit=0"))
	r.untilState("worker/0", "running")
	r.untilState("worker/1", "running")
	if err := s.Takeover(r.ref.Job); err != nil {
		s.t.Fatal(err)
	}
	if o := r.end(); o.State != event.Succeeded {
		s.t.Fatalf("%+v, want success under the second term", o)
	}
	v := r.view()
	if v.Term < 2 {
		s.t.Errorf("term %d, want a second one", v.Term)
	}
	for _, t := range v.Tasks {
		if t.Incarnation != 1 {
			s.t.Errorf("%s is in incarnation %d, want the first: it was to go on untouched", t.Task, t.Incarnation)
		}
	}
}

// Not knowing is no end.
func (s *suite) unknown() {
	r := s.submit(s.job(1, "sleep=1s", "exit=0"))
	r.untilState("worker/0", "running")
	s.Blind(true)
	for range 3 {
		ctx, cancel := context.WithTimeout(s.ctx, 2*time.Second) // somebody who waits for an answer
		st, err := s.Backend.Status(ctx, r.ref)
		cancel()
		if err == nil && st.Phase == backend.PhaseEnded {
			s.t.Errorf("status %+v while the backend cannot be asked, want anything but an end", st)
		}
	}
	s.Blind(false)
	if o := r.end(); o.State != event.Succeeded {
		s.t.Fatalf("%+v, want succeeded", o)
	}
}

// A slot that will be taken away is warned of, so that its task can save; a job
// that is requeued gives all slots back and goes on in others. Neither is a
// failure, and neither costs a restart.
func (s *suite) preempted() {
	if s.Preempt != nil {
		r := s.submit(s.job(2, "saves", "1:sleep=1m", "exit=0"))
		r.untilState("worker/0", "running")
		r.untilState("worker/1", "running")
		if err := s.Preempt(r.ref.Job, plan.TaskID{Role: "worker", Index: 1}, 2*time.Second); err != nil {
			s.t.Fatal(err)
		}
		r.until("worker/1 goes on", func() bool { return r.task("worker/1").Incarnation == 2 })
		for _, e := range r.events() {
			if b, ok := e.Body.(*event.TaskExited); ok && b.Task.Index == 1 && b.Incarnation == 1 && (b.Exit.Class != event.ClassPreempted || b.Exit.Status != 75) {
				s.t.Errorf("%+v, want a task that heard of it and saved", b.Exit)
			}
		}
		r.requeue()
		if o := r.end(); o.State != event.Succeeded {
			s.t.Errorf("%+v, want success", o)
		}
		r.nothingLeft()
	}
	r := s.submit(s.job(2, "1:sleep=1m", "exit=0"))
	r.untilState("worker/0", "running")
	r.untilState("worker/1", "running")
	r.requeue()
	if o := r.end(); o.State != event.Succeeded {
		s.t.Errorf("%+v, want success in other slots", o)
	}
	if v := r.view(); v.Restarts != 0 || v.Epoch < 2 {
		s.t.Errorf("%d restarts, epoch %d; want none and a second one", v.Restarts, v.Epoch)
	}
	slots := map[string]bool{}
	for _, e := range r.events() {
		if b, ok := e.Body.(*event.SlotGranted); ok {
			slots[b.Slot] = true
		}
	}
	if len(slots) != 4 {
		s.t.Errorf("%d slots were granted, want two and then two others", len(slots))
	}
	r.nothingLeft()
}

// requeue leaves a message for the coordinator, as clients do.
func (r *running) requeue() {
	r.t.Helper()
	at := path.Join(r.ref.Dir, "mailbox", "requeue.json")
	err := storage.PublishBytes(r.ctx, r.FS, at, 0o600, []byte(`{"requeue":{"request":"r1","by":"test"}}`))
	if err != nil {
		r.t.Fatal(err)
	}
}

// All that was printed can be read after the end, to the last line.
func (s *suite) logs() {
	const lines = 200
	words := make([]string, 0, lines+1)
	for i := range lines {
		words = append(words, "print=line-"+strconv.Itoa(i))
	}
	r := s.submit(s.job(1, append(words, "exit=3")...))
	if o := r.end(); o.Status != 3 {
		s.t.Fatalf("%+v, want 3", o)
	}
	l, ok := s.Backend.(backend.Logs)
	if !ok {
		s.t.Fatal("the backend gives no logs")
	}
	rd, err := l.Logs(s.ctx, r.ref, plan.TaskID{Role: "worker"}, "out")
	if err != nil {
		s.t.Fatal(err)
	}
	defer rd.Close()
	text, err := io.ReadAll(rd)
	if err != nil {
		s.t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(got) != lines || !strings.HasSuffix(got[lines-1], "line-"+strconv.Itoa(lines-1)) {
		s.t.Errorf("%d lines, the last is %q; want %d", len(got), got[len(got)-1], lines)
	}
}

// After the end nothing of a job is left, however it ended.
func (s *suite) nothing() {
	for _, words := range [][]string{{"exit=0"}, {"exit=5"}, {"sleep=200ms", "kill=SIGKILL"}} {
		r := s.submit(s.job(s.Slots, words...))
		r.end()
		r.nothingLeft()
		if n := s.Held(r.ref.Job); n != 0 {
			s.t.Errorf("%v: %d slots are still held", words, n)
		}
	}
}
