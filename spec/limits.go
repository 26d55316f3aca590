package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limit is one set of limits and whose it is.
type Limit struct {
	Whose  string `json:"whose"` // as in a sentence: queue "dl", user "alice", the site
	Origin string `json:"origin"`
	Limits
	at map[string]place
}

// limits collects what holds for the job. A user's limits in the site file
// stand key by key in place of the general ones; those of the queue and those
// that the user wrote for herself hold beside them.
func (m *merger) limits(queue *node) []Limit {
	s := m.stack
	var out []Limit
	general, own := s.site.get("limits"), s.site.get("users").get(m.user).get("limits")
	if own != nil && own.kind == mapping && general != nil {
		for _, e := range own.entries {
			general = general.without(e.key)
		}
	}
	out = addLimit(out, "the site", general)
	out = addLimit(out, "user "+strconv.Quote(m.user), own)
	if queue != nil {
		out = addLimit(out, "queue "+strconv.Quote(queue.text), s.site.get("queues").get(queue.text).get("limits"))
	}
	return addLimit(out, "your own limit", s.user.get("limits"))
}

func addLimit(out []Limit, whose string, n *node) []Limit {
	if n == nil || n.kind != mapping || len(n.entries) == 0 {
		return out
	}
	l := Limit{Whose: whose, Origin: n.at.String(), at: map[string]place{}}
	_ = decodeNode(n, &l.Limits) // read before, without a problem
	for _, e := range n.entries {
		l.at[e.key] = e.value.at
	}
	return append(out, l)
}

// capRun gives a job without timeout.run the shortest one that it is allowed:
// else it would run without end past its limit.
func capRun(root *node, limits []Limit) *node {
	if t := root.get("timeout").get("run"); t != nil {
		return root
	}
	var shortest *Limit
	for i, l := range limits {
		if l.Run != nil && (shortest == nil || *l.Run < *shortest.Run) {
			shortest = &limits[i]
		}
	}
	if shortest == nil {
		return root
	}
	value := &node{kind: scalar, text: shortest.Run.String(), at: shortest.at["run"]}
	out, _ := put(root, jobType, []string{"timeout", "run"}, value)
	return out
}

// use is what a job asks for, all its tasks together.
type use struct {
	instances, gpus int
	cpus            float64
	memory          Size
	largest         map[string]string // key → role that asks for most of it
}

func useOf(j *Job) use {
	u := use{largest: map[string]string{}}
	most := map[string]float64{}
	for _, r := range j.Roles {
		n := max(1, r.Instances.Max)
		cpus := r.CPUs
		if cpus == 0 {
			cpus = 1
		}
		u.instances += n
		u.gpus += n * r.GPUs
		u.cpus += float64(n) * cpus
		u.memory = Size(min(float64(u.memory)+float64(n)*float64(r.Memory), 1<<62)) // impossible sizes must not wrap around
		for key, x := range map[string]float64{"instances": float64(n), "gpus": float64(n * r.GPUs), "cpus": float64(n) * cpus, "memory": float64(n) * float64(r.Memory)} {
			if x > most[key] {
				most[key], u.largest[key] = x, r.Name
			}
		}
	}
	return u
}

// checkLimits compares a normalized job with its limits.
func checkLimits(j *Job, limits []Limit) Problems {
	var out Problems
	u := useOf(j)
	for _, l := range limits {
		over := func(key, asked, allowed string) {
			path := key
			if role := u.largest[key]; role != "" {
				path = "roles." + role + "." + key
			}
			whole := ""
			if len(j.Roles) > 1 || key != "instances" && u.instances > 1 {
				whole = " by all tasks together"
			}
			out = append(out, Problem{Path: path, Text: asked + " asked" + whole + ", " + l.allows(allowed), Hint: l.hint(key)})
		}
		if l.Instances != nil && u.instances > *l.Instances {
			over("instances", strconv.Itoa(u.instances), strconv.Itoa(*l.Instances))
		}
		if l.CPUs != nil && u.cpus > *l.CPUs {
			over("cpus", fmt.Sprint(u.cpus), fmt.Sprint(*l.CPUs))
		}
		if l.Memory != nil && u.memory > *l.Memory {
			over("memory", u.memory.String(), l.Memory.String())
		}
		if l.GPUs != nil && u.gpus > *l.GPUs {
			over("gpus", strconv.Itoa(u.gpus), strconv.Itoa(*l.GPUs))
		}
		out = append(out, l.checkJob(j)...)
	}
	return out
}

func (l Limit) checkJob(j *Job) Problems {
	var out Problems
	if l.Run != nil && (j.Timeout.Run > *l.Run || j.Timeout.Run == 0) {
		asked := j.Timeout.Run.String()
		if j.Timeout.Run == 0 {
			asked = "no limit"
		}
		out = append(out, Problem{Path: "timeout.run", Text: asked + " asked, " + l.allows(l.Run.String()), Hint: l.hint("run")})
	}
	if l.Priority != nil && j.Priority > *l.Priority {
		out = append(out, Problem{Path: "priority", Text: strconv.Itoa(j.Priority) + " asked, " + l.allows("at most "+strconv.Itoa(*l.Priority)), Hint: l.hint("priority")})
	}
	if len(l.Queues) > 0 && !slices.Contains(l.Queues, j.Queue) {
		asked := quote(j.Queue) + " asked"
		if j.Queue == "" {
			asked = "none asked"
		}
		out = append(out, Problem{Path: "queue", Text: asked + ", " + l.allows(strings.Join(l.Queues, ", ")), Hint: l.hint("queues")})
	}
	return out
}

func (l Limit) allows(what string) string { return l.Whose + " allows " + what }

func (l Limit) hint(key string) string { return "the limit is in " + l.at[key].String() }
