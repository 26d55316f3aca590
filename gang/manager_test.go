package gang_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/muster-project/muster/gang"
)

// manager simulates a resource manager that hands out containers one by one, in
// whatever order its random numbers say, to whoever asks and is within limits.
// Masters' own containers count like all others.
type manager struct {
	now    time.Time
	rng    *rand.Rand
	nodes  []*machine
	queues map[string]*leaf
	apps   []*app
	boxes  []*box
	serial int
	past   []picture // the newest last
	admins bool      // everybody may see everybody's progress
}

type machine struct {
	name, rack, partition string
	size                  gang.Size
	dead                  bool
}

// leaf is a leaf queue. Shares are percent of each partition.
type leaf struct {
	name                string
	guaranteed, maximum int64
	user                int64 // percent that one user may have, 0 for no limit
	masters             int64 // percent for masters' own containers
}

type app struct {
	id, user, queue string
	parts           []string
	priority        int
	first           string
	job             *job // nil: foreign
	state           gang.Life
	launched        time.Time
	began           time.Time // this attempt
	failed          time.Time // the last attempt ended
	progress        float64
	masterSize      gang.Size
	asks            map[string]int
	where           map[string]map[string]int
	need            []gang.Class
	beaten          time.Time // last beat of its master
	until           time.Time // a foreign one ends
	hands           *master
	asSince         time.Time // running and gathering without a break since
	holdsSince      time.Time // holding while somebody before it gathers, since
}

// box is a container.
type box struct {
	id        string
	app       *app
	on        *machine
	class     string // "" is a master's own
	size      gang.Size
	delivered bool
	at        time.Time
	started   bool
}

// picture is what reports say of a moment.
type picture struct {
	at      time.Time
	apps    []gang.Application
	foreign int
	nodes   []gang.Node
	used    map[string]map[string]gang.Size // queue, partition
}

func (m *manager) partitions() []string {
	set := map[string]bool{}
	for _, n := range m.nodes {
		set[n.partition] = true
	}
	return slices.Sorted(maps.Keys(set))
}

func (m *manager) total(partition string) gang.Size {
	out := gang.Size{}
	for _, n := range m.nodes {
		if n.partition == partition && !n.dead {
			out = out.Plus(n.size, 1)
		}
	}
	return out
}

func percent(s gang.Size, p int64) gang.Size {
	out := gang.Size{}
	for k, v := range s {
		out[k] = v * p / 100
	}
	return out
}

func (m *manager) usedOn(n *machine) gang.Size {
	out := gang.Size{}
	for _, b := range m.boxes {
		if b.on == n {
			out = out.Plus(b.size, 1)
		}
	}
	return out
}

// used is what boxes that match hold in a partition.
func (m *manager) used(partition string, match func(*box) bool) gang.Size {
	out := gang.Size{}
	for _, b := range m.boxes {
		if b.on.partition == partition && match(b) {
			out = out.Plus(b.size, 1)
		}
	}
	return out
}

// allowed says that an application may have one more of a size on a node.
func (m *manager) allowed(a *app, size gang.Size, n *machine, own bool) bool {
	if n.dead || !size.Fits(n.size.Plus(m.usedOn(n), -1)) {
		return false
	}
	q, total := m.queues[a.queue], m.total(n.partition)
	inQueue := m.used(n.partition, func(b *box) bool { return b.app.queue == a.queue })
	if !inQueue.Plus(size, 1).Fits(percent(total, q.maximum)) {
		return false
	}
	if q.user > 0 {
		mine := m.used(n.partition, func(b *box) bool { return b.app.queue == a.queue && b.app.user == a.user })
		if !mine.Plus(size, 1).Fits(percent(total, q.user)) {
			return false
		}
	}
	if own && q.masters > 0 {
		masters := m.used(n.partition, func(b *box) bool { return b.app.queue == a.queue && b.class == "" })
		first := len(masters) == 0
		if !first && !masters.Plus(size, 1).Fits(percent(total, q.masters)) {
			return false
		}
	}
	return true
}

// choice is one thing that the scheduler could do now.
type choice struct {
	a     *app
	class gang.Class
	on    *machine
}

func (m *manager) choices() []choice {
	var out []choice
	for _, a := range m.apps {
		if a.state == gang.Over {
			continue
		}
		if a.state == gang.Pending {
			for _, n := range m.nodes {
				if n.partition == "" && m.allowed(a, a.masterSize, n, true) {
					out = append(out, choice{a: a, on: n})
				}
			}
			continue
		}
		for _, c := range a.need {
			if a.asks[c.Name] <= 0 {
				continue
			}
			for _, n := range m.nodes {
				if n.partition != c.Partition || !m.allowed(a, c.Size, n, false) {
					continue
				}
				if a.where != nil && a.where[c.Name][n.name] <= 0 {
					continue
				}
				out = append(out, choice{a: a, class: c, on: n})
			}
		}
	}
	return out
}

// schedule hands out at most n containers, at least one if that is possible.
func (m *manager) schedule(n int) {
	for range n {
		all := m.choices()
		if len(all) == 0 {
			return
		}
		m.give(all[m.rng.IntN(len(all))])
	}
}

func (m *manager) give(c choice) {
	m.serial++
	b := &box{id: fmt.Sprintf("c%05d", m.serial), app: c.a, on: c.on, class: c.class.Name, size: c.class.Size, at: m.now}
	if c.a.state == gang.Pending {
		b.size = c.a.masterSize
		c.a.state = gang.Running
		c.a.began = m.now
		c.a.progress = 0
		c.a.beaten = m.now
		c.a.asks, c.a.where = map[string]int{}, nil
		if c.a.launched.IsZero() {
			c.a.launched = m.now
		}
		if c.a.job != nil {
			c.a.hands = newMaster(c.a)
		} else {
			c.a.asks = map[string]int{"f": c.a.need[0].Count}
		}
	} else {
		c.a.asks[c.class.Name]--
		if c.a.where != nil {
			c.a.where[c.class.Name][c.on.name]--
		}
	}
	m.boxes = append(m.boxes, b)
}

func (m *manager) free(gone func(*box) bool) { m.boxes = slices.DeleteFunc(m.boxes, gone) }

// end takes everything of an application back.
func (m *manager) end(a *app) {
	a.state, a.hands, a.asks = gang.Over, nil, nil
	m.free(func(b *box) bool { return b.app == a })
}

// fail ends an attempt. What has started lives on for the next one.
func (m *manager) fail(a *app) {
	a.state, a.hands, a.asks, a.where, a.progress = gang.Pending, nil, nil, nil, 0
	a.failed = m.now
	m.free(func(b *box) bool { return b.app == a && !b.started })
}

// lose ends a node and everything on it.
func (m *manager) lose(n *machine) {
	n.dead = true
	for _, b := range slices.Clone(m.boxes) {
		if b.on == n && b.class == "" && b.app.state == gang.Running {
			if b.app.job == nil {
				m.end(b.app)
			} else {
				m.fail(b.app)
			}
		}
	}
	m.free(func(b *box) bool { return b.on == n })
}

// report takes a picture of the present.
func (m *manager) report() {
	p := picture{at: m.now, used: map[string]map[string]gang.Size{}}
	for _, a := range m.apps {
		if a.job == nil {
			if a.state == gang.Running {
				p.foreign++
			}
			continue
		}
		p.apps = append(p.apps, gang.Application{
			ID: a.id, User: a.user, Job: a.job.id, Queue: a.queue, Partitions: a.parts, Priority: a.priority,
			Launched: a.launched, State: a.state, First: a.first, Progress: a.progress,
		})
	}
	for _, n := range m.nodes {
		if !n.dead {
			p.nodes = append(p.nodes, gang.Node{Name: n.name, Rack: n.rack, Partition: n.partition, Capability: n.size, Used: m.usedOn(n)})
		}
	}
	for q := range m.queues {
		p.used[q] = map[string]gang.Size{}
		for _, part := range m.partitions() {
			p.used[q][part] = m.used(part, func(b *box) bool { return b.app.queue == q })
		}
	}
	m.past = append(m.past, p)
	if len(m.past) > 20 {
		m.past = m.past[1:]
	}
}

// shares is what a queue's report said at the time of a picture.
func (m *manager) shares(q *leaf, p *picture) []gang.Share {
	var out []gang.Share
	for _, part := range m.partitions() {
		total := m.total(part)
		s := gang.Share{Partition: part, Guaranteed: percent(total, q.guaranteed), Maximum: percent(total, q.maximum), Used: p.used[q.name][part]}
		if q.user > 0 {
			s.UserLimit = percent(total, q.user)
		}
		out = append(out, s)
	}
	return out
}
