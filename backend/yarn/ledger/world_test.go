package ledger

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/gang"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// world is a small cluster and a coordinator that obeys the contract, for tests.
// Its resource manager and its nodes do what YARN's do, when the test says so.
type world struct {
	book *Ledger
	now  time.Time
	p    *plan.Plan

	// resource manager
	asks      map[int64]lines
	serial    int
	room      map[string]int // free places by node
	there     map[string]*thing
	fresh     []string // allocated, not yet pulled
	completed []Status

	// coordinator
	granted  map[string]backend.Slot
	launched map[string]bool
	released map[string]bool
	started  map[string]bool
	failed   map[string]string
	gone     map[string]backend.Gone
	others   []backend.Event
	batches  [][]string // what was granted with one conclusion
}

// thing is a container as the cluster knows it.
type thing struct {
	id, node string
	class    int64
	launched bool
	running  bool
	stopping bool
	ended    bool
	exit     int
	text     string
}

// ticketRule is package gang's own rule: the tests run what is run on clusters.
type ticketRule struct{ state gang.State }

func (r *ticketRule) Decide(s gang.Snapshot, now time.Time) (d gang.Decision) {
	r.state, d = gang.Decide(r.state, s, now)
	return d
}
func (r *ticketRule) Next() { r.state = r.state.Next() }

const app = "application_1_0001"

func roleOf(name string, least, most, stage int) plan.Role {
	return plan.Role{Name: name, Instances: spec.Count{Min: least, Max: most}, Stage: stage, StopGrace: spec.Duration(10 * time.Second)}
}

func newWorld(nodes int, roles ...plan.Role) *world {
	w := &world{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), p: &plan.Plan{ID: "m-1", Roles: roles},
		asks: map[int64]lines{}, room: map[string]int{}, there: map[string]*thing{}}
	for i := range nodes {
		w.room[fmt.Sprintf("n%d", i)] = 4
	}
	w.newCoordinator(&ticketRule{})
	return w
}

func (w *world) newCoordinator(r Rule, known ...backend.Slot) {
	w.granted, w.launched, w.released = map[string]backend.Slot{}, map[string]bool{}, map[string]bool{}
	w.started, w.failed, w.gone, w.others, w.batches = map[string]bool{}, map[string]string{}, map[string]backend.Gone{}, nil, nil
	w.book = New(Config{App: app, Plan: w.p, Rule: r, Kept: true, Times: DefaultTimes(), Gang: gang.DefaultTimes(),
		Shape: func(*plan.Role) Shape { return Shape{Size: gang.Size{"memory-mb": 1}} }}, known, w.now)
	w.look(nil)
}

// look shows the ledger that this gang is alone, or behind others.
func (w *world) look(others []gang.Application) {
	v := gang.View{At: w.now, Reports: true, Applications: append([]gang.Application{
		{ID: app, User: "u", State: gang.Running, Visible: true, Launched: w.now.Add(-time.Minute)}}, others...)}
	w.book.Look(v, nil, nil, 0.5)
}

// older is a gang that came before this one and is not complete.
func (w *world) older() []gang.Application {
	return []gang.Application{{ID: "application_1_0000", User: "v", State: gang.Running, Visible: true, Launched: w.now.Add(-time.Hour)}}
}

func (w *world) pass(d time.Duration) { w.now = w.now.Add(d) }

// schedule lets the resource manager allocate up to n containers.
func (w *world) schedule(n int) {
	for _, class := range slices.Sorted(mapKeys(w.asks)) {
		for n > 0 && w.asks[class][Any].count > 0 {
			node := w.place(w.asks[class])
			if node == "" {
				break
			}
			w.allocate(class, node)
			for _, p := range []string{Any, node} {
				if ln, ok := w.asks[class][p]; ok {
					ln.count--
					w.asks[class][p] = ln
				}
			}
			n--
		}
	}
}

func (w *world) allocate(class int64, node string) string {
	w.serial++
	id := fmt.Sprintf("container_%03d", w.serial)
	w.there[id] = &thing{id: id, node: node, class: class}
	w.room[node]--
	w.fresh = append(w.fresh, id)
	return id
}

func (w *world) place(ls lines) string {
	for _, node := range slices.Sorted(mapKeys(w.room)) {
		if w.room[node] > 0 && (ls[Any].relax || ls[node].count > 0) {
			return node
		}
	}
	return ""
}

// end is what happens when a container is over, for whatever reason.
func (w *world) end(c *thing, exit int, text string) {
	if c.ended {
		return
	}
	c.ended, c.running, c.exit, c.text = true, false, exit, text
	w.room[c.node]++
	w.completed = append(w.completed, Status{ID: c.id, Ended: true, Exit: exit, Text: text})
}

// beat is one call of the scheduler.
func (w *world) beat() {
	b := w.book.Beat(w.now)
	for _, a := range b.Asks {
		if w.asks[a.Class] == nil {
			w.asks[a.Class] = lines{}
		}
		w.asks[a.Class][a.Place] = line{a.Count, a.Relax}
	}
	for _, id := range b.Release {
		if c := w.there[id]; c != nil {
			w.end(c, exitAborted, "Container released by application")
		}
	}
	ans := Answer{Nodes: len(w.room), Completed: w.completed}
	for _, id := range w.fresh {
		c := w.there[id]
		ans.Allocated = append(ans.Allocated, Container{ID: id, Address: c.node, Class: c.class})
	}
	w.fresh, w.completed = nil, nil
	w.book.Answer(b, ans, w.now)
	w.conclude()
}

// restart is a resource manager that learns from its nodes what was started, and
// knows nothing else: neither what was asked nor what it had granted.
func (w *world) restart() {
	w.asks = map[int64]lines{}
	for _, c := range w.there {
		if !c.launched && !c.ended {
			c.ended = true
			w.room[c.node]++
		}
	}
	w.fresh = nil
	w.book.Resync()
	w.book.Forgotten(w.now)
	w.conclude()
}

// work does on the nodes what the ledger wants. lose lets answers go astray.
func (w *world) work(refuse, lose bool) {
	k := w.book.Work(w.now)
	for _, t := range k.Start {
		c := w.there[t.ID]
		switch {
		case c == nil || c.ended:
			w.book.Started(t.ID, errors.New("unknown container"), true, w.now)
		case refuse:
			w.book.Started(t.ID, errors.New("no room for its files"), true, w.now)
		case lose:
			c.launched = true
			w.book.Started(t.ID, errors.New("connection reset"), false, w.now)
		default:
			c.launched = true
			w.book.Started(t.ID, nil, true, w.now)
		}
	}
	w.stop(k.Stop)
	for _, t := range k.Status {
		if c := w.there[t.ID]; c != nil && c.launched {
			w.book.Seen(Status{ID: t.ID, Running: c.running, Ended: c.ended, Exit: c.exit, Text: c.text}, w.now)
		}
	}
	w.conclude()
	for n := 0; ; n++ { // what follows from it is done at once, and has an end
		at := w.book.Wake(w.now)
		if at.IsZero() || at.After(w.now) {
			return
		}
		if n < 2 {
			w.stop(w.book.Work(w.now).Stop)
			continue
		}
		panic(fmt.Sprintf("wants to be called again at once, for ever: %v", at))
	}
}

func (w *world) stop(tasks []Task) {
	for _, t := range tasks {
		if c := w.there[t.ID]; c != nil && c.launched {
			c.stopping = true
		}
	}
}

// nodes lets containers that were told so begin to run, or end.
func (w *world) nodes() {
	for _, id := range slices.Sorted(mapKeys(w.there)) {
		c := w.there[id]
		switch {
		case c.ended:
		case c.stopping:
			w.end(c, exitByMaster, "")
		case c.launched:
			c.running = true
		}
	}
}

// conclude lets the ledger think, and takes what it has to say.
func (w *world) conclude() {
	w.book.Conclude(w.now)
	var batch []string
	for _, e := range w.book.Events() {
		switch {
		case e.Granted != nil:
			w.granted[e.Granted.ID] = *e.Granted
			batch = append(batch, e.Granted.ID)
		case e.Started != nil && e.Started.Err != nil:
			w.failed[e.Started.Slot] = e.Started.Err.Error()
		case e.Started != nil:
			w.started[e.Started.Slot] = true
		case e.Gone != nil:
			w.gone[e.Gone.Slot] = *e.Gone
		default:
			w.others = append(w.others, e)
		}
	}
	if batch != nil {
		w.batches = append(w.batches, batch)
	}
}

func (w *world) request(number, minimum int, tasks ...string) {
	r := backend.Request{Number: number, Minimum: minimum}
	for _, t := range tasks {
		id, err := plan.ParseTask(t)
		if err != nil {
			panic(err)
		}
		r.Asks = append(r.Asks, backend.Ask{Task: id})
	}
	w.book.Request(r, w.now)
	w.conclude()
}

func (w *world) launch(ids ...string) {
	for _, id := range ids {
		w.launched[id] = true
	}
	w.book.Launch(ids, w.now)
	w.conclude()
}

func (w *world) release(now bool, ids ...string) {
	for _, id := range ids {
		w.released[id] = true
	}
	w.book.Release(ids, now, w.now)
	w.conclude()
}

// settle lets everything that is under way come to its end.
func (w *world) settle() {
	for range 60 {
		w.look(nil)
		w.schedule(100)
		w.beat()
		w.work(false, false)
		w.nodes()
		w.pass(time.Second)
	}
}

// slot finds the slot of a task that was granted and is not gone.
func (w *world) slot(task string) string {
	for id, s := range w.granted {
		if _, gone := w.gone[id]; s.Task.String() == task && !gone {
			return id
		}
	}
	return ""
}

// alive are the containers that the cluster still has.
func (w *world) alive() []string {
	var out []string
	for id, c := range w.there {
		if !c.ended {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

func mapKeys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

type slotT = backend.Slot
