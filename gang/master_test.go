package gang_test

import (
	"maps"
	"slices"
	"time"

	"github.com/muster-project/muster/gang"
)

// job is what its owner sees as one thing, however often it is submitted.
type job struct {
	id, user, queue string
	need            []gang.Class
	parts           []string
	priority        int
	master          gang.Size
	arrive, run     time.Duration
	due             time.Duration // over by then, if not 0
	keepers         int           // who submits again
	forgets         bool          // planted: they do not name the first application

	apps      []*app
	granted   bool          // so says its journal
	work      time.Duration // done while complete
	outcome   string
	finished  time.Time
	completed time.Time
	asides    int
	rejoins   int
	first     gang.Ticket
	keeper    []keeper
}

type keeper struct {
	state gang.State
	aside gang.Aside
	look  time.Time
	seen  int // submissions that it knows of
}

// master is the part of a coordinator that beats.
type master struct {
	app    *app
	state  gang.State
	view   gang.View
	pic    *picture
	last   gang.Decision
	beat   time.Time
	paused time.Time // until
}

func newMaster(a *app) *master {
	m := &master{app: a}
	if a.job.granted {
		m.state = gang.Resume()
	}
	return m
}

// policy is how masters decide; the planted ones are wrong.
type policy func(gang.State, gang.Snapshot, time.Time) (gang.State, gang.Decision)

// naive keeps whatever it gets.
func naive(s gang.State, in gang.Snapshot, now time.Time) (gang.State, gang.Decision) {
	d := gang.Decision{Ask: map[string]int{}, Complete: true, Look: now}
	for _, c := range in.Need {
		n := 0
		for _, h := range in.Held {
			if h.Class == c.Name {
				n++
			}
		}
		if n < c.Minimum {
			d.Complete = false
			d.Ask[c.Name] = c.Minimum - n
		}
	}
	d.Keep = in.Held
	return s, d
}

// look takes a view of some moment within the lag, as this user may see it.
func (w *world) look(user string) (gang.View, *picture) {
	v := gang.View{At: w.now, Reports: !w.blindAt(w.reportsOff), Tickets: !w.blindAt(w.ticketsOff)}
	i := len(w.past) - 1
	for i > 0 && w.now.Sub(w.past[i-1].at) <= w.lag && w.rng.IntN(3) > 0 {
		i--
	}
	p := w.past[i]
	v.Foreign = p.foreign
	if !v.Reports {
		return v, &p
	}
	for _, a := range p.apps {
		a.Visible = w.admins || a.User == user
		if !a.Visible {
			a.Progress = 0
		}
		if v.Tickets {
			a.Stamp = w.files[a.ID]
		}
		v.Applications = append(v.Applications, a)
	}
	return v, &p
}

// beat is one turn of a master: what came, what it sees, what it decides.
func (w *world) beat(m *master) {
	a, j := m.app, m.app.job
	a.beaten = w.now
	for _, b := range w.boxes {
		if b.app == a && b.class != "" && !b.delivered {
			b.delivered, b.at = true, w.now
		}
	}
	if !w.now.Before(m.last.Look) {
		m.view, m.pic = w.look(a.user)
		w.ticket(m)
	}
	in := gang.Snapshot{App: a.id, Launched: a.began, View: m.view, Need: j.need, Times: w.times, Chance: w.rng.Float64(), Held: w.held(a)}
	for _, b := range w.boxes {
		if b.app == a && b.class == "" {
			in.Kept = []gang.Holding{{Size: b.size, Node: b.on.name, Partition: b.on.partition}}
		}
	}
	if m.pic != nil && !w.noNodes {
		in.Nodes = slices.Clone(m.pic.nodes)
		in.Shares = w.shares(w.queues[a.queue], m.pic)
	}
	m.state, m.last = w.decide(m.state, in, w.now)
	w.obey(m)
}

func (w *world) held(a *app) []gang.Slot {
	var out []gang.Slot
	for _, b := range w.boxes {
		if b.app == a && b.class != "" && b.delivered {
			out = append(out, gang.Slot{ID: b.id, Class: b.class, Node: b.on.name, Rack: b.on.rack, At: b.at, Started: b.started})
		}
	}
	return out
}

func (w *world) ticket(m *master) {
	if w.blindAt(w.ticketsOff) {
		return
	}
	if m.last.Ticket || m.last.Look.IsZero() && !m.state.Complete() {
		w.files[m.app.id] = w.now.Add(w.skew) // the file system's clock is another one
	} else {
		delete(w.files, m.app.id)
	}
}

// obey does what was decided.
func (w *world) obey(m *master) {
	a, j, d := m.app, m.app.job, m.last
	if d.Refuse != nil {
		w.note("%s refused: %s", j.id, d.Refuse.Text)
		w.close(a, "refused")
		return
	}
	if d.Aside != nil {
		w.note("%s %s", j.id, d.Aside.Text)
		j.asides++
		w.end(a)
		for i := range j.keeper {
			j.keeper[i].aside = *d.Aside
		}
		return
	}
	if d.Rejoin {
		w.note("%s rejoins", j.id)
		j.rejoins++
		j.granted, j.work = false, 0
	}
	w.free(func(b *box) bool { return b.app == a && slices.Contains(d.Release, b.id) })
	a.asks, a.where = map[string]int{}, nil
	for class, n := range d.Ask {
		undelivered := 0
		for _, b := range w.boxes {
			if b.app == a && b.class == class && !b.delivered {
				undelivered++
			}
		}
		a.asks[class] = n - undelivered
	}
	if d.Where != nil {
		a.where = map[string]map[string]int{}
		for class, at := range d.Where {
			a.where[class] = maps.Clone(at)
		}
	}
	if !d.Complete {
		a.progress = 0
		return
	}
	w.serve(m)
}

// serve lets the tasks of a complete gang work.
func (w *world) serve(m *master) {
	a, j := m.app, m.app.job
	if !j.granted {
		w.note("%s complete", j.id)
		w.completes(a)
	}
	if w.files != nil {
		delete(w.files, a.id)
	}
	j.granted, j.completed = true, w.now
	for _, b := range w.boxes {
		if b.app == a && b.class != "" && b.delivered {
			b.started = true
		}
	}
	full := true
	for _, c := range j.need {
		n := 0
		for _, s := range w.held(a) {
			if s.Class == c.Name {
				n++
			}
		}
		full = full && n >= c.Minimum
	}
	a.progress = 0.01 + 0.99*min(1, float64(j.work)/float64(j.run))
	if full {
		j.work += w.every
	}
	if j.work >= j.run {
		w.close(a, "succeeded")
	}
}

func (w *world) close(a *app, outcome string) {
	w.end(a)
	delete(w.files, a.id)
	a.job.outcome, a.job.finished = outcome, w.now
	w.note("%s %s", a.job.id, outcome)
}

// keep is one turn of the keepers of a job.
func (w *world) keep(j *job) {
	now := j.apps[len(j.apps)-1]
	if j.outcome != "" || now.state != gang.Over {
		return
	}
	for i := range j.keeper {
		k := &j.keeper[i]
		if w.now.Before(k.look) {
			continue
		}
		k.look = w.now.Add(w.times.Look)
		v, _ := w.look(j.user)
		s, may, _ := gang.MayReturn(k.state, k.aside, v, w.times, w.now)
		k.state = s
		known := k.seen
		k.seen = len(j.apps)
		if may && known == len(j.apps) { // exclusive create: only the first of them submits
			w.submit(j)
			return
		}
	}
}
