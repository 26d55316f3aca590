package yarn

import (
	"slices"
	"strings"
)

// cluster is what the resource manager says of the place at one moment. What it
// did not say is nil or zero, and nothing is refused for it.
type cluster struct {
	Scheduler   Scheduler
	Machines    []machine
	Labels      map[string]bool // node labels: is it exclusive? nil: unknown or switched off
	Types       []string        // resource names; nil: unknown
	Root        *queue
	Submits     map[string]bool // queues that the user may submit to, by path and by last part; nil: unknown
	MaxPriority int             // -1: unknown
	Handler     string          // of placement constraints: disabled, scheduler, placement-processor; empty: unknown
	Docker      string          // yes, no; empty: unknown
}

// machine is one node.
type machine struct {
	Name  string // host:port
	Rack  string
	Label string
	State string // RUNNING, LOST, UNHEALTHY, …
	Total Size
	Used  Size
}

// free is what is left of a machine.
func (m machine) free() Size { return m.Total.Sub(m.Used) }

// machines are those that run and serve asks of a partition. Nodes of a label
// that is not exclusive serve asks without a label, too, when they are idle.
func (c *cluster) machines(label string, running bool) []machine {
	var out []machine
	for _, m := range c.Machines {
		if running && m.State != nodeRunning {
			continue
		}
		exclusive, known := c.Labels[m.Label]
		if m.Label == label || label == "" && known && !exclusive {
			out = append(out, m)
		}
	}
	return out
}

const nodeRunning = "RUNNING"

// queue is one queue of the scheduler's tree.
type queue struct {
	Name, Path   string
	Leaf, Auto   bool   // Auto: queues below it are made when somebody submits to them
	State        string // RUNNING, STOPPED, DRAINING
	Labels       []string
	DefaultLabel string
	Parts        map[string]share // by node label
	Most         Size             // its own largest container, zero if it has none
	Submitters   string           // access list, as written
	Users        []member
	Factor       float64 // of the guaranteed share that one user may have; 0 or less: no limit
	MaxLifetime  int64   // seconds; 0 or less: none
	Applications int     // active and pending
	Pending      int
	MaxRunning   int // applications at the same time; 0: no limit
	MaxAll       int // applications, those that wait included; 0: no limit
	Ordering     string
	Children     []*queue
}

// share is what a queue has of one partition.
type share struct {
	Guaranteed  Size
	Maximum     Size
	Used        Size
	Reserved    Size
	MasterLimit Size // of all coordinators together
	MasterUsed  Size
}

// member is one user of a queue.
type member struct {
	Name        string
	Limit       Size // of the user, in the default partition; moves with use
	Parts       map[string]share
	Active      int
	Pending     int
	MasterLimit Size
	MasterUsed  Size
}

// walk visits a queue and all below it.
func (q *queue) walk(visit func(*queue)) {
	if q == nil {
		return
	}
	visit(q)
	for _, c := range q.Children {
		c.walk(visit)
	}
}

// find gives the queues that a name means: one by its path, or all whose last
// part it is.
func (q *queue) find(name string) []*queue {
	var byPath, byName []*queue
	q.walk(func(q *queue) {
		switch {
		case q.Path == name:
			byPath = append(byPath, q)
		case q.Name == name || lastPart(q.Path) == name:
			byName = append(byName, q)
		}
	})
	if byPath != nil {
		return byPath
	}
	return byName
}

// leaves are the names of queues that applications can be submitted to: the
// last part where that is enough.
func (q *queue) leaves() []string {
	var out []string
	q.walk(func(l *queue) {
		if !l.Leaf {
			return
		}
		name := lastPart(l.Path)
		if len(q.find(name)) > 1 {
			name = l.Path
		}
		out = append(out, name)
	})
	slices.Sort(out)
	return out
}

// parent is the queue above a path.
func (q *queue) parent(path string) *queue {
	above, _, ok := cutLast(path)
	if !ok {
		return nil
	}
	if found := q.find(above); len(found) == 1 {
		return found[0]
	}
	return nil
}

func cutLast(path string) (above, last string, ok bool) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

func lastPart(path string) string {
	_, last, _ := cutLast(path)
	return last
}

// reaches says whether a queue may use a label. The partition without one is
// everybody's.
func (q *queue) reaches(label string) bool {
	return label == "" || q.Labels == nil || slices.Contains(q.Labels, "*") || slices.Contains(q.Labels, label)
}

// user gives what a queue knows of one of its users.
func (q *queue) user(name string) (member, bool) {
	for _, m := range q.Users {
		if m.Name == name {
			return m, true
		}
	}
	return member{}, false
}
