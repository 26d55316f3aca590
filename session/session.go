// Package session is the state machine of one job: inputs and the time come in,
// events and actions go out. It does no I/O and reads no clock, so replaying a
// job's events gives exactly its state; a coordinator that takes over replays
// and then does what Pending says.
//
// A task's incarnation:
//
//	       EpochOpened       TaskRegistered     TaskStarted
//	idle ──────────────▶ called ─────────▶ held ─────────▶ running
//	 ▲                     │                │                │
//	 │ RestartDecided      └────────────────┴────────────────┤ TaskExited
//	 └──────────────────────────────────────────────────── exited
//
// A slot:
//
//	 SlotGranted     ExecutorStarted      SlotReleased       SlotGone
//	────────────▶ granted ───────▶ live ──────────▶ released ───────▶ (forgotten)
//	                                 └───────────────────────────────▲
//
// The job:
//
//	queued ─ gang granted ▶ starting ─ first task runs ▶ running
//	   └──────────┬────────────┴──────────┬─────────────────┘
//	              └── VerdictReached ──▶ stopping ─ nothing left ▶ finished
package session

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
)

// Session is the state of one job. Only Evolve changes it.
type Session struct {
	opt Options

	plan      *plan.Plan
	by        string
	submitted time.Time
	term      int64
	seq       int64

	requests map[int]*request
	slots    map[string]*slot
	tasks    map[plan.TaskID]*task
	order    []*task // of the plan, at maximum size
	sorted   []*slot // of slots, by id; nil: not known

	epoch  epoch
	roster *plan.Roster // the newest complete one, indexed

	restart  *restart        // decided, its epoch not opened yet
	spent    map[string]int  // restarts used, by scope key
	requeued map[string]bool // requests of that
	taken    int             // restarts that a preemption was the cause of
	lost     map[string]int  // restarts that cost nothing because infrastructure failed, by scope key
	stop     *event.StopRequested
	warned   []string // what was, in the order of it
	signals  map[string]*signal
	ran      time.Time // first task started
	verdict  *event.Outcome
	judged   time.Time
	finished *event.Outcome
	ended    time.Time

	out []event.Event // of the Decide that is running
	now time.Time     // of the newest Decide: everything up to it is concluded
}

// Options are the pure functions of others that a session asks.
type Options struct {
	// Ready says whether the framework lets a task start now; nil means always.
	Ready func(p *plan.Plan, r *plan.Roster, id plan.TaskID, ready func(plan.TaskID) bool) (bool, string)
}

type phase int

const (
	idle phase = iota
	called
	held
	running
	exited
)

// task is one task in its newest incarnation.
type task struct {
	id          plan.TaskID
	role        *plan.Role
	phase       phase
	incarnation int
	epoch       int // that opened the incarnation
	slot        string
	held        *slot // of that id, gone or not
	stopping    *event.TaskStopping
	stopAt      time.Time
	warned      *warning // nil: never
	restarted   bool     // stopped to be started again: its end is no failure
	exit        event.Exit
	exitedAt    time.Time // when the exit became known
	absent      bool      // the gang went on without it
	registered  event.TaskRegistered
	started     time.Time
	ready       bool
	fast        int // incarnations in a row that failed soon after their start
	pids        []int
	progress    *event.Progress
	published   map[string]string
}

// active says that the incarnation is open: it holds or may hold processes.
func (t *task) active() bool { return t.phase == called || t.phase == held || t.phase == running }

type slot struct {
	event.SlotGranted
	task     *task
	gone     bool // forgotten
	accepted bool // its gang is complete
	started  bool
	control  string
	native   []byte
	taken    time.Time // when the backend takes it away; zero: it does not
	released time.Time // zero: in use
	reason   string
	now      bool
}

type request struct {
	event.SlotsRequested
	at       time.Time
	granted  map[plan.TaskID]string
	enough   time.Time // the minimum was reached
	reasons  []string
	refused  string
	complete bool
}

type epoch struct {
	number int
	reason string
	at     time.Time
}

type restart struct {
	event.RestartDecided
	at    time.Time // not before
	asked int       // requests that had been made
}

type signal struct {
	event.SignalRequested
	pending map[plan.TaskID]bool
}

// New returns an empty session: the first event must be a JobSubmitted.
func New(opt Options) *Session {
	return &Session{opt: opt,
		requests: map[int]*request{}, slots: map[string]*slot{}, tasks: map[plan.TaskID]*task{},
		spent: map[string]int{}, lost: map[string]int{}, requeued: map[string]bool{}, signals: map[string]*signal{}}
}

// Submit is the first event of a job.
func Submit(p *plan.Plan, by, host string, now time.Time) event.Event {
	return event.Event{Seq: 1, At: now, Body: &event.JobSubmitted{Plan: p, By: by, Host: host}}
}

// Decide takes what came since it was last called and returns the facts that
// follow from it, already applied through Evolve. They must be in the journal
// before Pending is acted upon. Inputs that say nothing new give no facts.
//
// Conclusions look at the whole job, so they are drawn once for all inputs: ten
// thousand executors that answer one roll call cost a few looks, not as many.
func (s *Session) Decide(now time.Time, inputs ...Input) []event.Event {
	if s.plan == nil || s.finished != nil {
		return nil
	}
	s.out, s.now = nil, now
	for _, in := range inputs {
		s.take(in)
	}
	s.settle()
	return s.out
}

// emit applies a fact and remembers it for the caller of Decide.
func (s *Session) emit(b event.Body) {
	e := event.Event{Seq: s.seq + 1, Term: s.term, At: s.now, Body: b}
	s.Evolve(e)
	s.out = append(s.out, e)
}

// settle draws all conclusions from the state at s.now.
func (s *Session) settle() {
	for n := -1; n != len(s.out); {
		n = len(s.out)
		s.judgeStop()
		s.judgeTimeouts()
		s.judgePreempted()
		s.judgeFailures()
		s.judgeSuccess()
		s.judgeGang()
		s.judgeStages()
		s.urge()
		s.makeRoom()
		s.fillGang()
		s.openEpoch()
		s.completeRoster()
		s.clearUp()
		if s.finished != nil {
			return
		}
	}
}

// Plan returns the job's plan, or nil before JobSubmitted.
func (s *Session) Plan() *plan.Plan { return s.plan }

// Seq is the number of the newest event.
func (s *Session) Seq() int64 { return s.seq }

// Outcome returns the job's end and true once the job is sealed.
func (s *Session) Outcome() (event.Outcome, bool) {
	if s.finished == nil {
		return event.Outcome{}, false
	}
	return *s.finished, true
}

// each calls f for every task in plan order.
func (s *Session) each(f func(*task)) {
	for _, t := range s.order {
		f(t)
	}
}

// byID returns all slots in the order of their ids. The caller changes nothing
// in the list; what it does may end slots, which then are marked as gone.
func (s *Session) byID() []*slot {
	if s.sorted == nil {
		s.sorted = slices.SortedFunc(maps.Values(s.slots), func(a, b *slot) int { return strings.Compare(a.Slot, b.Slot) })
	}
	return s.sorted
}

// live returns the slot of a task if it can still be used.
func (s *Session) live(t *task) *slot {
	if sl := t.held; sl != nil && !sl.gone && sl.released.IsZero() {
		return sl
	}
	return nil
}
