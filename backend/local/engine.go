package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/plan"
)

// Engine hands out this machine. One lives in each server; those of several
// users agree through the claims.
//
// A slot's claim is held by the engine from the grant on until the coordinator
// says that the executor holds it (Launched) or that it is not wanted (Drop):
// so neither may die in between and leave a slot that nobody holds.
type Engine struct {
	machine Machine
	ledger  Ledger
	find    func(context.Context) ([]string, error) // GPUs
	log     *slog.Logger

	wake chan struct{}

	mu      sync.Mutex
	queue   []*waiter
	holding map[string]map[string]*os.File // job, slot → claim
	ticket  int64
	absent  absent

	looking sync.Mutex // held while the driver is asked, never together with mu
	looked  time.Time  // zero: never
	sick    error
}

// waiter is one request of a coordinator and how it is told.
type waiter struct {
	Wanted
	uid     int
	answers chan Answer // of capacity 1: the newest answer replaces an unread one
	told    Answer
}

// Answer is the engine's word on a request. Granted comes at most once with the
// gang; more of the same request may follow if less than all was granted.
type Answer struct {
	Reasons []string
	Refused string
	Granted []Grant
	Done    bool // nothing follows
}

// Grant is a slot and where its claim lies.
type Grant struct {
	Slot  backend.Slot
	Claim string
}

// NewEngine makes an engine; Run starts it.
func NewEngine(m Machine, s Settings, l Ledger, log *slog.Logger) *Engine {
	e := &Engine{machine: m, ledger: l, log: log, wake: make(chan struct{}, 1), holding: map[string]map[string]*os.File{}}
	e.find = func(ctx context.Context) ([]string, error) { return FindGPUs(ctx, s) }
	if e.ledger.Log == nil {
		e.ledger.Log = log.Debug
	}
	return e
}

// lookAgain is how often a queue looks whether another server's slots became
// free: the end of a file lock tells nobody.
const lookAgain = 200 * time.Millisecond

// touchEvery keeps claims young enough for those who sweep /tmp.
const touchEvery = 6 * time.Hour

// Run decides until the context ends. It then lets go of all claims that no
// executor holds yet; their coordinators ask again.
func (e *Engine) Run(ctx context.Context) {
	tick, sweep := time.NewTicker(lookAgain), time.NewTicker(touchEvery)
	defer tick.Stop()
	defer sweep.Stop()
	defer e.letGo()
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		case <-sweep.C:
			e.touchAll(ctx)
		case <-tick.C:
			if !e.anybody() {
				continue
			}
		}
		if err := e.round(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("nothing can be granted", "error", err)
			e.excuse(err)
		}
	}
}

func (e *Engine) touchAll(ctx context.Context) {
	unlock, err := e.ledger.Lock(ctx)
	if err != nil {
		return
	}
	defer unlock()
	e.ledger.touch(time.Now())
}

func (e *Engine) letGo() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for job := range e.holding {
		e.dropClaims(job)
	}
}

func (e *Engine) anybody() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.queue) > 0
}

func (e *Engine) poke() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Request puts a request into the queue, or finds it there: it is the same if
// job and number are. The ticket is 0 the first time; a coordinator that comes
// back with the one it was given keeps its place. A request whose coordinator
// no longer listens keeps its place until Drop.
func (e *Engine) Request(w Wanted, uid int) (ticket int64, answers <-chan Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.absent.came(w.Job)
	fresh := &waiter{Wanted: w, uid: uid, answers: make(chan Answer, 1)}
	if i := e.index(w.Job, w.Number); i >= 0 {
		old := e.queue[i]
		fresh.Ticket = old.Ticket
		if old.Minimum == 0 {
			fresh.Minimum = 0 // its gang was granted already
		}
		e.queue[i] = fresh
		close(old.answers)
	} else {
		if fresh.Ticket == 0 {
			// Never smaller than one given before, whatever the clock does.
			fresh.Ticket = max(time.Now().UnixNano(), e.ticket+1)
		}
		e.queue = append(e.queue, fresh)
	}
	e.ticket = max(e.ticket, fresh.Ticket)
	e.poke()
	return fresh.Ticket, fresh.answers
}

func (e *Engine) index(job string, number int) int {
	return slices.IndexFunc(e.queue, func(w *waiter) bool { return w.Job == job && w.Number == number })
}

// Launched says that the executors of slots hold their claims themselves now.
func (e *Engine) Launched(job string, slots []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.absent.came(job)
	for _, s := range slots {
		if f := e.holding[job][s]; f != nil {
			f.Close()
			delete(e.holding[job], s)
		}
	}
}

// Drop forgets a request, or with number 0 everything of a job that no executor
// holds, and looks at once whether others can go on.
func (e *Engine) Drop(job string, number int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.absent.came(job)
	e.queue = slices.DeleteFunc(e.queue, func(w *waiter) bool {
		gone := w.Job == job && (number == 0 || w.Number == number)
		if gone {
			close(w.answers)
		}
		return gone
	})
	if number == 0 {
		e.dropClaims(job)
	}
	e.poke()
}

func (e *Engine) dropClaims(job string) {
	for _, f := range e.holding[job] {
		f.Close()
	}
	delete(e.holding, job)
}

// round decides once. Lock order: the engine, then the ledger.
func (e *Engine) round(ctx context.Context) error {
	if e.wantsGPU() {
		_ = e.look(ctx) // logged; until it answers there are no GPUs to hand out
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.absent.over(time.Now()) {
		for _, w := range slices.Clone(e.queue) {
			e.answer(w, Answer{Reasons: []string{"the server has just begun: who waited for the last one comes first"}})
		}
		return nil
	}
	unlock, err := e.ledger.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	held, err := e.ledger.Living()
	if err != nil {
		return err
	}
	again := e.regrant(held)
	queue := make([]*Wanted, len(e.queue))
	for i, w := range e.queue {
		queue[i] = &w.Wanted
	}
	d := decide(e.machine, held, queue)
	for _, w := range slices.Clone(e.queue) {
		answer := Answer{Reasons: d.waiting[&w.Wanted], Refused: d.refused[&w.Wanted], Granted: again[w]}
		var slots []backend.Slot
		for _, g := range d.granted {
			if g.Wanted == &w.Wanted {
				slots = append(slots, g.Slot)
			}
		}
		grants, err := e.claim(w, slots)
		if err != nil {
			answer.Reasons = append(answer.Reasons, err.Error())
		}
		answer.Granted = append(answer.Granted, grants...)
		e.answer(w, answer)
	}
	return nil
}

// regrant finds what a request was granted already, so that a coordinator that
// asks again after a crash is given the same slots.
func (e *Engine) regrant(held []Claim) map[*waiter][]Grant {
	out := map[*waiter][]Grant{}
	for _, w := range e.queue {
		met := 0
		w.Asks = slices.DeleteFunc(slices.Clone(w.Asks), func(a backend.Ask) bool {
			s := backend.Slot{ID: slotID(w.Number, a.Task), Request: w.Number, Task: a.Task, Node: e.machine.Node, Resources: a.Resources}
			i := slices.IndexFunc(held, func(c Claim) bool { return c.Job == w.Job && c.Slot == s.ID })
			if i < 0 {
				return false
			}
			s.CPUSet, s.Devices = held[i].CPUSet, held[i].GPUs
			path, ok := e.ledger.Find(w.Job, s.ID)
			if ok {
				out[w] = append(out[w], Grant{Slot: s, Claim: path})
				met++
			}
			return ok
		})
		w.Minimum = max(0, w.Minimum-met)
	}
	return out
}

// claim writes the claims of a whole gang, or of none.
func (e *Engine) claim(w *waiter, slots []backend.Slot) ([]Grant, error) {
	var grants []Grant
	files := map[string]*os.File{}
	for _, s := range slots {
		c := claimOf(&w.Wanted, s)
		c.UID = w.uid
		path, f, err := e.ledger.Create(c)
		if err != nil {
			for _, f := range files {
				os.Remove(f.Name())
				f.Close()
			}
			if errors.Is(err, fs.ErrExist) {
				err = fmt.Errorf("a file of another user is in the way: %w", err)
			}
			return nil, err
		}
		files[s.ID] = f
		grants = append(grants, Grant{Slot: s, Claim: path})
	}
	for id, f := range files {
		if e.holding[w.Job] == nil {
			e.holding[w.Job] = map[string]*os.File{}
		}
		e.holding[w.Job][id] = f
	}
	return grants, nil
}

// answer tells a waiter what is new and takes it off the queue once it has all.
func (e *Engine) answer(w *waiter, a Answer) {
	if len(a.Granted) > 0 {
		w.Minimum = 0
		w.Asks = slices.DeleteFunc(slices.Clone(w.Asks), func(ask backend.Ask) bool {
			return slices.ContainsFunc(a.Granted, func(g Grant) bool { return g.Slot.Task == ask.Task })
		})
	}
	a.Done = a.Refused != "" || len(w.Asks) == 0
	if len(a.Granted) == 0 && !a.Done && slices.Equal(a.Reasons, w.told.Reasons) {
		return
	}
	w.told = a
	select {
	case old := <-w.answers:
		a.Granted = append(old.Granted, a.Granted...)
	default:
	}
	w.answers <- a
	if a.Done {
		e.queue = slices.DeleteFunc(e.queue, func(q *waiter) bool { return q == w })
	}
}

// excuse tells everybody who waits why nothing is decided.
func (e *Engine) excuse(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range slices.Clone(e.queue) {
		e.answer(w, Answer{Reasons: []string{err.Error()}})
	}
}

// wantsGPU says whether anybody who waits wants one: a job that asks for none
// never waits for a driver.
func (e *Engine) wantsGPU() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.queue, func(w *waiter) bool { return total(w.Asks).GPUs > 0 })
}

// sickFor is how long a driver that did not answer is left alone.
const sickFor = time.Minute

// look asks the driver for its GPUs, once if it answers.
func (e *Engine) look(ctx context.Context) error {
	e.looking.Lock()
	defer e.looking.Unlock()
	if !e.looked.IsZero() && (e.sick == nil || time.Since(e.looked) < sickFor) {
		return e.sick
	}
	ids, err := e.find(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return err // our own haste says nothing about the driver
		}
		e.log.Warn("GPUs are not used", "error", err)
	}
	e.looked, e.sick = time.Now(), err
	e.mu.Lock()
	defer e.mu.Unlock()
	e.machine.GPUs = ids
	return err
}

// Use is what the machine has and who holds it.
type Use struct {
	Machine Machine
	Free    plan.Resources
	Claims  []Claim
}

// ErrClaims is in the error of Use when nothing can be handed out, since what is
// handed out cannot be written down.
var ErrClaims = errors.New("claims")

// Use looks at the machine now. What it could see is good beside an error, too.
func (e *Engine) Use(ctx context.Context) (Use, error) {
	sick := e.look(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	unlock, err := e.ledger.Lock(ctx)
	if err != nil {
		return Use{Machine: e.machine}, errors.Join(fmt.Errorf("%w: %w", ErrClaims, err), sick)
	}
	defer unlock()
	held, err := e.ledger.Living()
	b := newBooks(e.machine, held)
	return Use{Machine: e.machine, Claims: held,
		Free: plan.Resources{CPUs: max(0, b.shares), Memory: max(0, b.memory), GPUs: len(b.gpus)}}, errors.Join(err, sick)
}
