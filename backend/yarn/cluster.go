package yarn

import (
	"slices"
	"strings"

	hadoop "github.com/muster-project/muster/hadoop/yarn"
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
	Docker      string          // yes, no; empty: unknown
	Guarded     bool            // it cares who sees what
	// Administrators are the cluster's, as its list is written.
	Administrators string
}

// machine is one node.
type machine struct {
	Name  string // host:port
	Rack  string
	Label string
	State string // RUNNING, LOST, UNHEALTHY, …
	Web   string // address of its web service
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

// Words of the resource manager for what works.
const (
	nodeRunning  = "RUNNING"
	queueRunning = "RUNNING"
)

// submits says whether the user may submit to a queue. Versions name queues by
// their path or by its last part.
func (c *cluster) submits(q *queue) bool { return c.Submits[q.Path] || c.Submits[lastPart(q.Path)] }

// queue is one queue of the scheduler.
type queue = hadoop.Queue

// walk visits a queue and all below it.
func walk(q *queue, visit func(*queue)) {
	if q == nil {
		return
	}
	visit(q)
	for _, c := range q.Children {
		walk(c, visit)
	}
}

// find gives the queues that a name means: one by its path, or all whose last
// part it is.
func find(root *queue, name string) []*queue {
	var byPath, byName []*queue
	walk(root, func(q *queue) {
		switch {
		case q.Path == name:
			byPath = append(byPath, q)
		case lastPart(q.Path) == name:
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
func leaves(root *queue) []string {
	var out []string
	walk(root, func(l *queue) {
		if !l.Leaf {
			return
		}
		name := lastPart(l.Path)
		if len(find(root, name)) > 1 {
			name = l.Path
		}
		out = append(out, name)
	})
	slices.Sort(out)
	return out
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// reaches says whether a queue may use a label. The partition without one is
// everybody's.
func reaches(q *queue, label string) bool {
	return label == "" || q.Labels == nil || slices.Contains(q.Labels, "*") || slices.Contains(q.Labels, label)
}

// nothing says that a queue has no share of a label's nodes: access alone gives
// none.
func nothing(q *queue, label string) bool {
	return label != "" && len(q.Partitions) > 0 && q.Partitions[label].Max.IsZero()
}

// user gives what a queue knows of one of its users.
func user(q *queue, name string) (hadoop.UserShare, bool) {
	for _, u := range q.Users {
		if u.Name == name {
			return u, true
		}
	}
	return hadoop.UserShare{}, false
}
