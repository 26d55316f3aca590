package gang_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-project/muster/gang"
)

// feature is what a mix may contain besides jobs of one user on one queue.
type feature struct {
	foreign, faults, blind, lag, users, queues, classes, partitions bool
}

var everything = feature{foreign: true, faults: true, lag: true, users: true, queues: true, classes: true, partitions: true}

func seconds(t *rapid.T, from, to int, label string) time.Duration {
	return time.Duration(rapid.IntRange(from, to).Draw(t, label)) * time.Second
}

// mem is memory, and cpu processors, of one container.
func mem(m, c int64) gang.Size { return gang.Size{"memory": m, "vcores": c} }

// anyWorld draws a cluster, jobs that each fit on it alone, and misfortune.
func anyWorld(t *rapid.T, f feature) (*world, time.Duration) {
	w := newWorld(rapid.Uint64().Draw(t, "seed"))
	w.skew = time.Duration(rapid.IntRange(-3600, 3600).Draw(t, "skew")) * time.Second
	w.admins = !f.users || rapid.Bool().Draw(t, "everybody sees everything")
	if f.lag {
		w.lag = time.Duration(rapid.IntRange(0, 4).Draw(t, "lag")) * tick
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
		part := ""
		if f.partitions && i > 0 && rapid.IntRange(0, 3).Draw(t, "labelled") == 0 {
			part = "gpu"
		}
		w.node(fmt.Sprintf("n%d", i), fmt.Sprintf("r%d", i/2), part, mem(int64(rapid.IntRange(4, 10).Draw(t, "memory")), 16))
	}
	names := []string{"q"}
	if f.queues && rapid.Bool().Draw(t, "two queues") {
		half := int64(rapid.IntRange(30, 70).Draw(t, "guaranteed"))
		w.queues["q"] = &leaf{name: "q", guaranteed: half, maximum: 100, masters: int64(rapid.SampledFrom([]int{0, 30}).Draw(t, "masters"))}
		w.queues["p"] = &leaf{name: "p", guaranteed: 100 - half, maximum: int64(rapid.SampledFrom([]int{80, 100}).Draw(t, "maximum")),
			user: int64(rapid.SampledFrom([]int{0, 70}).Draw(t, "user limit"))}
		names = append(names, "p")
	}
	last := time.Duration(0)
	later := func(d time.Duration) time.Duration { last = max(last, d); return d }
	for i := range rapid.IntRange(1, 6).Draw(t, "jobs") {
		j := anyJob(t, w, f, i, names)
		later(j.arrive)
		w.jobs = append(w.jobs, j)
	}
	if f.foreign {
		for range rapid.IntRange(0, 4).Draw(t, "foreign") {
			from := seconds(t, 0, 120, "from")
			w.foreign(rapid.SampledFrom(names).Draw(t, "queue"), "", from, later(from+seconds(t, 5, 200, "for")), rapid.IntRange(1, 8).Draw(t, "n"), mem(int64(rapid.IntRange(1, 3).Draw(t, "size")), 1))
		}
	}
	if f.faults {
		anyFaults(t, w, later)
	}
	if f.blind {
		off := func(label string) []span {
			from := seconds(t, 0, 100, label)
			return []span{{from, later(from + seconds(t, 1, 150, "for"))}}
		}
		w.reportsOff, w.ticketsOff = off("reports off"), off("tickets off")
	}
	return w, w.horizon(last)
}

// anyJob draws until the job fits: others are refused, which has its own test.
func anyJob(t *rapid.T, w *world, f feature, i int, queues []string) *job {
	j := &job{
		id: fmt.Sprintf("j%d", i), user: "ada", queue: rapid.SampledFrom(queues).Draw(t, "queue"), master: mem(1, 1),
		arrive: seconds(t, 0, 60, "arrive"), run: seconds(t, 2, 60, "run"), keepers: rapid.IntRange(1, 2).Draw(t, "keepers"),
	}
	if f.users {
		j.user = rapid.SampledFrom([]string{"ada", "bob", "eve"}).Draw(t, "user")
	}
	classes := 1
	if f.classes {
		classes = rapid.IntRange(1, 3).Draw(t, "classes")
	}
	for c := range classes {
		n := rapid.IntRange(1, 12).Draw(t, "count")
		j.need = append(j.need, gang.Class{Name: fmt.Sprintf("k%d", c), Size: mem(int64(rapid.IntRange(1, 5).Draw(t, "size")), 1), Minimum: n, Count: n + rapid.IntRange(0, 2).Draw(t, "welcome"),
			Partition: rapid.SampledFrom(w.partitions()).Draw(t, "partition"), PerNode: rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "per node")})
	}
	for !w.fits(j) {
		k := 0 // the largest class shrinks
		for c := range j.need {
			if j.need[c].Minimum*int(j.need[c].Size["memory"]) > j.need[k].Minimum*int(j.need[k].Size["memory"]) {
				k = c
			}
		}
		c := &j.need[k]
		switch {
		case c.Size["memory"] > 1 && (c.Minimum == 1 || c.Size["memory"] > 3):
			c.Size = mem(c.Size["memory"]-1, 1)
		case c.Minimum > 1:
			c.Minimum--
		case len(j.need) > 1:
			j.need = append(j.need[:k:k], j.need[k+1:]...)
		default:
			j.need = nil
		}
		if len(j.need) == 0 {
			j.need = []gang.Class{{Name: "k", Size: mem(1, 1), Minimum: 1, Count: 1}}
			break
		}
	}
	seen := map[string]bool{}
	for _, c := range j.need {
		if !seen[c.Partition] {
			seen[c.Partition] = true
			j.parts = append(j.parts, c.Partition)
		}
	}
	return j
}

// fits says that a job fits alone, wherever its master stands.
func (w *world) fits(j *job) bool {
	var nodes []gang.Node
	for _, n := range w.nodes {
		nodes = append(nodes, gang.Node{Name: n.name, Partition: n.partition, Capability: n.size})
	}
	w.now = epoch
	shares := w.shares(w.queues[j.queue], &picture{used: map[string]map[string]gang.Size{}})
	for _, n := range w.nodes {
		if n.partition == "" && gang.Fit(j.need, []gang.Holding{{Size: j.master, Node: n.name}}, nodes, shares) != nil {
			return false
		}
	}
	return true
}

func anyFaults(t *rapid.T, w *world, later func(time.Duration) time.Duration) {
	for range rapid.IntRange(0, 4).Draw(t, "faults") {
		at := later(seconds(t, 1, 200, "at"))
		switch rapid.IntRange(0, 3).Draw(t, "fault") {
		case 0:
			who := rapid.IntRange(0, len(w.jobs)-1).Draw(t, "master")
			w.events = append(w.events, happening{at, func(w *world) { w.kill(w.jobs[who]) }})
		case 1:
			who, long := rapid.IntRange(0, len(w.jobs)-1).Draw(t, "master"), seconds(t, 1, 90, "pause")
			later(at + long)
			w.events = append(w.events, happening{at, func(w *world) { w.pause(w.jobs[who], long) }})
		default:
			n, back := w.nodes[rapid.IntRange(0, len(w.nodes)-1).Draw(t, "node")], seconds(t, 1, 50, "back after")
			later(at + back)
			w.events = append(w.events, happening{at, func(w *world) { w.note("%s lost", n.name); w.lose(n) }},
				happening{at + back, func(w *world) { w.note("%s back", n.name); n.dead = false }})
		}
	}
}

// kill ends a job's master; the resource manager starts another.
func (w *world) kill(j *job) {
	if len(j.apps) == 0 || j.apps[len(j.apps)-1].hands == nil {
		return
	}
	w.note("%s loses its master", j.id)
	w.fail(j.apps[len(j.apps)-1])
}

// pause stops a master for a while.
func (w *world) pause(j *job, long time.Duration) {
	if len(j.apps) == 0 || j.apps[len(j.apps)-1].hands == nil {
		return
	}
	w.note("%s pauses for %v", j.id, long)
	j.apps[len(j.apps)-1].hands.paused = w.now.Add(long)
}

// horizon is when everything must be over: the last misfortune, and then each
// job in turn, with everything that the rule lets it wait for.
func (w *world) horizon(last time.Duration) time.Duration {
	t := w.times
	each := lease + t.Unfit/2 + t.Dead + t.Replace + t.Stall + time.Duration(len(w.jobs))*(t.Yield+t.Look+w.notice()) + 2*t.Try + 2*t.Look + w.notice() + 10*time.Second
	for _, j := range w.jobs {
		last += each + 2*j.run
	}
	return last + time.Minute
}
