package yarn

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// refusal judges one plan against what is known of a cluster. Pure.
type refusal struct {
	plan     *plan.Plan
	settings *Settings
	cluster  *cluster
	user     string
	findings []plan.Finding
}

// refuse says everything that can be known before a job is submitted: what can
// never run here is refused with its numbers, what may come true with nodes
// that are away is a warning.
func refuse(p *plan.Plan, c *cluster, user string) []plan.Finding {
	s, findings := Decode(p)
	r := &refusal{plan: p, settings: s, cluster: c, user: user, findings: findings}
	r.files()
	r.docker()
	q := r.queue()
	r.priority()
	r.lifetime(q)
	r.placement(q)
	r.resources()
	r.labels(q)
	r.memory()
	r.fit(q)
	return r.findings
}

func (r *refusal) say(path, hint, format string, args ...any) {
	r.find(plan.Finding{Path: path, Problem: fmt.Sprintf(format, args...), Hint: hint})
}

func (r *refusal) warn(path, hint, format string, args ...any) {
	r.find(plan.Finding{Path: path, Problem: fmt.Sprintf(format, args...), Hint: hint, Warning: true})
}

// find notes what is wrong once, however many roles share it.
func (r *refusal) find(f plan.Finding) {
	if !slices.Contains(r.findings, f) {
		r.findings = append(r.findings, f)
	}
}

// files refuses what only a shared file system could do.
func (r *refusal) files() {
	if r.plan.Work.InPlace {
		r.say("workdir.in_place", "leave it out: each task then gets a copy", "nodes of the cluster do not see the directory %s", r.plan.Work.Source)
	}
}

// queue finds the queue that the job is meant for, and says why it cannot be.
func (r *refusal) queue() *queue {
	root := r.cluster.Root
	if root == nil {
		return nil
	}
	name := queueOf(r.plan)
	found := find(root, name)
	switch {
	case len(found) == 0:
		r.say("queue", meant(name, leaves(root)), "%s: the cluster has no such queue", name)
		return nil
	case len(found) > 1:
		var paths []string
		for _, q := range found {
			paths = append(paths, q.Path)
		}
		r.say("queue", "write the whole path", "%s means several queues: %s", name, strings.Join(paths, ", "))
		return nil
	}
	q := found[0]
	if !q.Leaf {
		r.say("queue", "name one below it: "+strings.Join(leaves(q), ", "), "%s has queues below it and takes no jobs itself", name)
		return nil
	}
	if q.State != "" && q.State != queueRunning {
		r.say("queue", "name another, or ask an administrator to start it: "+strings.Join(r.open(), ", "), "%s is %s and takes no jobs", name, strings.ToLower(q.State))
	}
	if r.cluster.Submits != nil && !r.cluster.submits(q) {
		hint := ""
		if others := r.open(); len(others) > 0 {
			hint = "queues that take jobs of yours: " + strings.Join(others, ", ")
		}
		who := ""
		if list := strings.TrimSpace(q.ACLs["SUBMIT_APP"]); list != "" {
			who = ", only " + list + " has"
		}
		r.say("queue", hint, "%s has no right to submit to %s%s", r.user, name, who)
	}
	if n := q.Running + q.Pending; q.MaxApps > 0 && n >= q.MaxApps {
		r.say("queue", "try again when some have ended", "%s holds %d jobs, its most is %d", name, n, q.MaxApps)
	}
	return q
}

// open are the queues that run and that the user may submit to.
func (r *refusal) open() []string {
	var out []string
	for _, name := range leaves(r.cluster.Root) {
		q := find(r.cluster.Root, name)[0]
		if q.State != "" && q.State != queueRunning {
			continue
		}
		if r.cluster.Submits == nil || r.cluster.submits(q) {
			out = append(out, name)
		}
	}
	return out
}

func (r *refusal) priority() {
	most, p := r.cluster.MaxPriority, r.plan.Priority
	switch {
	case p < 0:
		r.say("priority", "0 is the lowest", "%d is less than YARN knows", p)
	case most >= 0 && p > most:
		r.say("priority", "an administrator raises it by yarn.cluster.max-application-priority", "%d asked, the highest here is %d", p, most)
	}
}

func (r *refusal) lifetime(q *queue) {
	if q == nil || q.MaxLifetime <= 0 {
		return
	}
	most := time.Duration(q.MaxLifetime) * time.Second
	switch asked := r.settings.Lifetime; {
	case asked > most:
		r.say("native.yarn.lifetime", "", "%s asked, %s ends every job after %s", spec.Duration(asked), q.Path, spec.Duration(most))
	case time.Duration(r.plan.Timeout.Run) > most:
		r.warn("timeout.run", "", "%s asked, %s ends every job after %s", r.plan.Timeout.Run, q.Path, spec.Duration(most))
	}
}

// placement refuses to spread a role over more nodes or racks than there are.
// Everything else is arranged when the gang is held: see package ledger.
func (r *refusal) placement(q *queue) {
	if r.cluster.Machines == nil {
		return
	}
	for i := range r.plan.Roles {
		role := &r.plan.Roles[i]
		own := r.settings.Role(role.Name)
		if own.Placement.Kind != placeSpread {
			continue
		}
		label := r.partition(own.NodeLabel, q)
		places, running := r.places(own.Placement.Scope, label, false), r.places(own.Placement.Scope, label, true)
		switch path, n := r.path(role.Name, "placement"), role.Instances.Min; {
		case n > places:
			r.say(path, "ask for fewer tasks, or leave it out", "%d tasks, one on each %s: the cluster has %d%s", n, own.Placement.Scope, places, in(label))
		case n > running:
			r.warn(path, "", "%d tasks, one on each %s: only %d of %d run%s", n, own.Placement.Scope, running, places, in(label))
		}
	}
}

// places counts the nodes or racks of a partition.
func (r *refusal) places(scope, label string, running bool) int {
	seen := map[string]bool{}
	for _, m := range r.cluster.machines(label, running) {
		if name := m.Name; m.Label == label {
			if scope == scopeRack {
				name = m.Rack
			}
			seen[name] = true
		}
	}
	return len(seen)
}

// path is where a setting of a role was written, or would be.
func (r *refusal) path(role, key string) string {
	if m, ok := r.plan.Native[Name].(map[string]any); ok {
		roles, _ := m["roles"].(map[string]any)
		own, _ := roles[role].(map[string]any)
		if _, written := own[key]; written {
			return "native.yarn.roles." + role + "." + key
		}
	}
	return "native.yarn." + key
}

func (r *refusal) docker() {
	for i := range r.plan.Roles {
		role := &r.plan.Roles[i]
		d := r.settings.Role(role.Name).Docker
		if d.Image == "" {
			if len(d.Mounts) > 0 || d.Network != "" {
				r.say(r.path(role.Name, "docker"), "write docker: {image: …}", "mounts and network without an image")
			}
			continue
		}
		path := r.path(role.Name, "docker")
		if role.Image != "" {
			path = "roles." + role.Name + ".image"
		}
		switch r.cluster.Docker {
		case "no":
			r.say(path, "leave it out, or ask an administrator to add docker to yarn.nodemanager.runtime.linux.allowed-runtimes",
				"%s: the nodes of the cluster run no Docker containers, and would start the task without its image", d.Image)
		case "":
			r.warn(path, "", "%s: it is not known whether the nodes run Docker containers: those that do not start the task without its image", d.Image)
		}
	}
}

// resources refuses resource types that the cluster has not.
func (r *refusal) resources() {
	if r.cluster.Types == nil {
		return
	}
	for i := range r.plan.Roles {
		role := &r.plan.Roles[i]
		if role.Resources.GPUs > 0 && !slices.Contains(r.cluster.Types, GPU) {
			r.say("roles."+role.Name+".gpus", "an administrator declares them: yarn.resource-types in resource-types.xml, and the GPU plugin on the nodes",
				"%d asked, the cluster does not know %s", role.Resources.GPUs, GPU)
		}
		for _, name := range slices.Sorted(maps.Keys(r.settings.Role(role.Name).Resources)) {
			if !slices.Contains(r.cluster.Types, name) {
				r.say(r.path(role.Name, "resources")+"."+name, meant(name, r.cluster.Types), "the cluster knows no such resource")
			}
		}
	}
}

// labels refuses node labels that do not exist or that the queue may not use.
func (r *refusal) labels(q *queue) {
	seen := map[string]bool{}
	check := func(label, path string) {
		if label == "" || seen[label+" "+path] {
			return
		}
		seen[label+" "+path] = true
		known := slices.Sorted(maps.Keys(r.cluster.Labels))
		if _, ok := r.cluster.Labels[label]; !ok {
			if len(known) == 0 {
				r.say(path, "leave it out", "%s: the cluster has no node labels", label)
				return
			}
			r.say(path, meant(label, known), "%s: the cluster has no such node label", label)
			return
		}
		if !r.reachable(label, q) {
			hint := "that queue may use no label"
			if reach := slices.DeleteFunc(known, func(l string) bool { return !r.reachable(l, q) }); len(reach) > 0 {
				hint = "that queue may use: " + strings.Join(reach, ", ")
			}
			r.say(path, hint, "queue %s may not use nodes with the label %s", queueOf(r.plan), label)
		}
	}
	check(r.settings.MasterLabel, "native.yarn.am.node_label")
	for i := range r.plan.Roles {
		name := r.plan.Roles[i].Name
		check(r.settings.Role(name).NodeLabel, r.path(name, "node_label"))
	}
}

// reachable says whether a queue may use the nodes of a label, if there is one.
func (r *refusal) reachable(label string, q *queue) bool {
	if _, known := r.cluster.Labels[label]; !known && label != "" {
		return false
	}
	return q == nil || reaches(q, label) && (!nothing(q, label) || r.idle(label))
}

// idle says that no node of a label runs: then a queue has nothing of it, which
// says nothing about its rights.
func (r *refusal) idle(label string) bool { return len(r.cluster.machines(label, true)) == 0 }

// memory tells what a task gets that names none.
func (r *refusal) memory() {
	for i := range r.plan.Roles {
		if role := &r.plan.Roles[i]; role.Resources.Memory == 0 {
			r.warn("roles."+role.Name+".memory", "", "none written, and YARN must be told a number: %s is asked for, and a task that takes more is killed", amount(nameMemory, DefaultMemory))
		}
	}
}
