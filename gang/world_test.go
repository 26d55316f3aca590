package gang_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/muster-project/muster/gang"
)

// epoch is when every simulated world begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// tick is the grain of simulated time.
const tick = 500 * time.Millisecond

// lease is how long tasks live without a master.
const lease = time.Minute

// world is a cluster with its jobs and what befalls them.
type world struct {
	manager

	jobs       []*job
	files      map[string]time.Time // ticket directory
	times      gang.Times
	demand     gang.Times // what check demands: times, unless a rule is planted out
	decide     policy
	every      time.Duration // between two beats
	lag        time.Duration // reports may be as old as this
	skew       time.Duration // of the file system's clock
	events     []happening
	reportsOff []span
	ticketsOff []span
	noNodes    bool          // masters see no node reports
	patience   time.Duration // of the resource manager with a silent master
	quiet      bool          // check nothing while it runs: the end counts
	notes      []string
	broken     []string
	serials    int
	disturbed  time.Time // the last time that something befell a master or a node
}

// happening is something that befalls the world once.
type happening struct {
	at   time.Duration
	what func(*world)
}

type span struct{ from, to time.Duration }

// quickTimes are the clocks of the simulated masters: the relations are those of
// the default ones.
func quickTimes() gang.Times {
	s := time.Second
	return gang.Times{
		Look: 3 * s, Calm: 6 * s, Stale: 12 * s, Yield: 15 * s, Stall: 60 * s, Try: 5 * s, Rest: 8 * s, Starve: 60 * s,
		Dead: 20 * s, Hold: 20 * s, Replace: 30 * s, Unfit: 400 * s, Expiry: 90 * s,
	}
}

func newWorld(seed uint64) *world {
	w := &world{
		files: map[string]time.Time{}, times: quickTimes(), demand: quickTimes(), patience: time.Minute, decide: gang.Decide, every: time.Second,
		manager: manager{now: epoch, rng: rand.New(rand.NewPCG(seed, 1)), queues: map[string]*leaf{}},
	}
	w.queues["q"] = &leaf{name: "q", guaranteed: 100, maximum: 100}
	return w
}

func (w *world) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf("%6.1fs ", w.now.Sub(epoch).Seconds())+fmt.Sprintf(format, args...))
}

func (w *world) fault(format string, args ...any) {
	if w.quiet {
		return
	}
	w.broken = append(w.broken, fmt.Sprintf("%6.1fs ", w.now.Sub(epoch).Seconds())+fmt.Sprintf(format, args...))
}

func (w *world) blindAt(spans []span) bool {
	at := w.now.Sub(epoch)
	return slices.ContainsFunc(spans, func(s span) bool { return at >= s.from && at < s.to })
}

// node adds a machine.
func (w *world) node(name, rack, partition string, size gang.Size) {
	w.nodes = append(w.nodes, &machine{name: name, rack: rack, partition: partition, size: size})
}

// submit makes an application of a job; from the second on it names the first.
func (w *world) submit(j *job) {
	w.serials++
	a := &app{id: fmt.Sprintf("a%04d", w.serials), user: j.user, queue: j.queue, parts: j.parts, priority: j.priority, job: j, need: j.need, masterSize: j.master}
	if len(j.apps) > 0 {
		if !j.forgets {
			a.first = j.apps[0].id
		}
		w.note("%s submitted again as %s", j.id, a.id)
	} else {
		j.keeper = make([]keeper, max(1, j.keepers))
	}
	for i := range j.keeper {
		j.keeper[i].seen = len(j.apps) + 1
		j.keeper[i].state = gang.State{}
	}
	j.apps = append(j.apps, a)
	w.apps = append(w.apps, a)
}

// foreign adds an application that knows no gangs: it takes what it gets, and
// ends at a time.
func (w *world) foreign(queue, partition string, from, to time.Duration, n int, size gang.Size) {
	w.events = append(w.events, happening{from, func(w *world) {
		w.serials++
		w.apps = append(w.apps, &app{id: fmt.Sprintf("f%04d", w.serials), user: "other", queue: queue, masterSize: size, until: epoch.Add(to),
			need: []gang.Class{{Name: "f", Size: size, Partition: partition, Count: n}}})
	}})
}

// run lets time pass until every job is over, at most until the horizon.
func (w *world) run(horizon time.Duration) bool {
	slices.SortStableFunc(w.events, func(a, b happening) int { return int(a.at - b.at) })
	for w.now.Sub(epoch) < horizon {
		w.step()
		if len(w.broken) > 0 {
			return false
		}
		if w.over() {
			return true
		}
		w.now = w.now.Add(tick)
	}
	return false
}

func (w *world) over() bool {
	for _, j := range w.jobs {
		if j.outcome == "" {
			return false
		}
	}
	return true
}

func (w *world) step() {
	at := w.now.Sub(epoch)
	for len(w.events) > 0 && w.events[0].at <= at {
		w.events[0].what(w)
		w.events = w.events[1:]
	}
	for _, j := range w.jobs {
		if len(j.apps) == 0 && j.arrive <= at {
			w.submit(j)
		}
	}
	for _, a := range w.apps {
		if a.job == nil && a.state != gang.Over && !w.now.Before(a.until) {
			w.end(a)
		}
		if a.state == gang.Pending && !a.failed.IsZero() && w.now.Sub(a.failed) > lease {
			w.free(func(b *box) bool { return b.app == a })
		}
		if a.hands != nil && w.now.Sub(a.beaten) > w.patience { // the resource manager gives a silent master up
			w.disturbed = w.now
			w.fail(a)
		}
	}
	w.schedule(1 + w.rng.IntN(6))
	w.report()
	for _, i := range w.rng.Perm(len(w.apps)) {
		if m := w.apps[i].hands; m != nil && !w.now.Before(m.beat) && !w.now.Before(m.paused) {
			m.beat = w.now.Add(w.every)
			w.beat(m)
		}
	}
	for _, j := range w.jobs {
		if len(j.apps) > 0 {
			w.keep(j)
		}
	}
	w.check()
}
