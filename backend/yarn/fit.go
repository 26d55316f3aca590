package yarn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// coordinatorRole stands for the coordinator's own container among the roles.
const coordinatorRole = "(coordinator)"

// need is what a stage of the job asks for in one partition.
type need struct {
	label string
	roles []*plan.Role
}

// fit refuses what cannot be held even if nobody else is there: a container
// larger than any may be, a gang larger than its queue or its nodes. The
// coordinator's own container counts, since a gang waits with it.
func (r *refusal) fit(q *queue) {
	master := r.cluster.Scheduler.Round(r.settings.Coordinator)
	before := len(r.findings)
	r.largest("native.yarn.am", master, q)
	for i := range r.plan.Roles {
		role := &r.plan.Roles[i]
		r.largest("roles."+role.Name, r.size(role), q)
	}
	if len(r.findings) > before {
		return // what no container may hold, no node need be asked about
	}
	if r.cluster.Machines == nil {
		return
	}
	for stage := 0; ; stage++ {
		needs := r.needs(stage)
		if len(needs) == 0 {
			return
		}
		for _, n := range needs {
			if n.label == r.partition(r.settings.MasterLabel, q) {
				n.roles = append(n.roles, &plan.Role{Name: coordinatorRole, Instances: spec.Count{Min: 1, Max: 1}})
			}
			if r.reachable(n.label, q) && r.share(n, q) {
				r.nodes(n)
			}
		}
	}
}

// partition is the node label that an ask without one goes to.
func (r *refusal) partition(label string, q *queue) string {
	if label == "" && q != nil {
		return q.DefaultLabel
	}
	return label
}

// size is what a role's containers will have.
func (r *refusal) size(role *plan.Role) Size {
	if role.Name == coordinatorRole {
		return r.cluster.Scheduler.Round(r.settings.Coordinator)
	}
	size := r.cluster.Scheduler.Round(r.settings.SizeOf(role))
	for _, name := range parts(size) {
		if r.cluster.Types != nil && !slices.Contains(r.cluster.Types, name) {
			size = size.With(name, 0) // said by resources
		}
	}
	return size
}

// needs are the roles of a stage by the partition that they ask in.
func (r *refusal) needs(stage int) []need {
	var out []need
	for i := range r.plan.Roles {
		role := &r.plan.Roles[i]
		if role.Stage != stage {
			continue
		}
		label := r.settings.Role(role.Name).NodeLabel
		if found := find(r.cluster.Root, queueOf(r.plan)); len(found) == 1 {
			label = r.partition(label, found[0])
		}
		at := slices.IndexFunc(out, func(n need) bool { return n.label == label })
		if at < 0 {
			at = len(out)
			out = append(out, need{label: label})
		}
		out[at].roles = append(out[at].roles, role)
	}
	return out
}

// largest compares one container with the largest that the scheduler grants.
// YARN refuses those even where it does not count what is too much.
func (r *refusal) largest(path string, size Size, q *queue) {
	most, whose := r.cluster.Scheduler.Rounding.Max, "the cluster"
	if q != nil && !q.Largest.IsZero() {
		most, whose = q.Largest, "queue "+queueOf(r.plan)
	}
	if most.IsZero() {
		return
	}
	for _, name := range parts(size) {
		if n, top := size.Get(name), most.Get(name); n > top {
			r.say(path+key(name), "", "%s asked, the largest container of %s has %s", amount(name, n), whose, amount(name, top))
		}
	}
}

// key is how a role's key for a part of a size is written.
func key(name string) string {
	switch name {
	case nameMemory:
		return ".memory"
	case nameCores:
		return ".cpus"
	case GPU:
		return ".gpus"
	}
	return ""
}

// share compares a gang with what its queue may have at most, and says whether
// it is within that.
func (r *refusal) share(n need, q *queue) bool {
	if q == nil {
		return true
	}
	part, ok := q.Partitions[n.label]
	if !ok || part.Max.IsZero() {
		return true // not known, or no node is there
	}
	most := part.Max
	for _, m := range r.cluster.machines(n.label, true) {
		if m.Label != n.label {
			most = most.Add(m.Total) // lent by labels that are not exclusive, beyond the queue's own
		}
	}
	total, text := r.sum(n)
	var over []string
	for _, name := range parts(total) {
		if r.cluster.Scheduler.Counts(name) && total.Get(name) > most.Get(name) {
			over = append(over, fmt.Sprintf("%s at once, queue %s has at most %s", amount(name, total.Get(name)), queueOf(r.plan), amount(name, most.Get(name))))
		}
	}
	if len(over) > 0 {
		r.say(where(n), "ask for fewer tasks or smaller ones, for a range of instances, or in another queue", "%s (%s)%s", strings.Join(over, "; "), text, in(n.label))
		return false
	}
	return r.userLimit(n, q, part)
}

// userLimit refuses what one user alone may never hold. The scheduler lets a
// user pass the limit by one container, so that one is taken off.
func (r *refusal) userLimit(n need, q *queue, part hadoop.Share) bool {
	if q.UserLimitFactor <= 0 || part.Min.IsZero() {
		return true
	}
	var there Size
	for _, m := range r.cluster.machines(n.label, true) {
		there = there.Add(m.Total)
	}
	total, text := r.sum(n)
	most := r.dominant(part.Min, there) * q.UserLimitFactor
	for _, role := range n.roles {
		if role.Instances.Min > 0 && r.dominant(total.Sub(r.size(role)), there) <= most {
			return true
		}
	}
	r.say(where(n), "ask for fewer tasks or smaller ones, or in another queue", "%s at once (%s)%s, one user of queue %s has at most %g × its share of %s",
		say(total), text, in(n.label), queueOf(r.plan), q.UserLimitFactor, say(part.Min))
	return false
}

// dominant is the largest part that a size takes of what is there, as the
// scheduler compares sizes.
func (r *refusal) dominant(s, there Size) float64 {
	most := 0.0
	for _, name := range parts(s) {
		if t := there.Get(name); t > 0 && r.cluster.Scheduler.Counts(name) {
			most = max(most, float64(s.Get(name))/float64(t))
		}
	}
	return most
}

// sum is a gang together, and how it adds up.
func (r *refusal) sum(n need) (Size, string) {
	var total Size
	var text []string
	for _, role := range n.roles {
		size := r.size(role)
		total = total.Add(size.Times(int64(role.Instances.Min)))
		name := role.Name
		if name == coordinatorRole {
			name = "coordinator"
		}
		text = append(text, fmt.Sprintf("%s %d × (%s)", name, role.Instances.Min, say(size)))
	}
	return total, strings.Join(text, "; ")
}

// nodes packs a gang onto the nodes of its partition. What fails on those that
// run, but not on all that are known, is a warning.
func (r *refusal) nodes(n need) {
	running := r.pack(n, r.cluster.machines(n.label, true))
	if len(running) == 0 {
		return
	}
	all := r.cluster.machines(n.label, false)
	away := len(all) - len(r.cluster.machines(n.label, true))
	if away > 0 && plan.Refuse(r.pack(n, all)) == nil {
		for i := range running {
			running[i].Warning = true
			running[i].Problem += fmt.Sprintf("; it would fit if %s came back", nodesAway(away))
		}
	}
	for _, f := range running {
		if !slices.Contains(r.findings, f) {
			r.findings = append(r.findings, f)
		}
	}
}

func nodesAway(n int) string {
	if n == 1 {
		return "the node that is away"
	}
	return fmt.Sprintf("the %d nodes that are away", n)
}

// pack asks package plan, in the sizes that the scheduler will grant.
func (r *refusal) pack(n need, machines []machine) []plan.Finding {
	if len(machines) == 0 {
		return []plan.Finding{{Path: where(n), Problem: "no node is there" + in(n.label), Hint: "muster doctor --on yarn says which nodes run"}}
	}
	rounded := &plan.Plan{Backend: Name}
	for _, role := range n.roles {
		copied := *role
		copied.Stage = 0
		copied.Resources = r.plain(r.size(role))
		rounded.Roles = append(rounded.Roles, copied)
	}
	var nodes []plan.Node
	for _, m := range machines {
		nodes = append(nodes, plan.Node{Name: m.Name, Resources: r.plain(m.Total)})
	}
	out := plan.CheckFit(rounded, nodes)
	for i := range out {
		f := &out[i]
		f.Problem = strings.ReplaceAll(f.Problem, coordinatorRole, "coordinator") + in(n.label)
		if rest, ok := strings.CutPrefix(f.Path, "roles."+coordinatorRole); ok {
			f.Path = "native.yarn.am" + rest
		} else if f.Path == "roles" {
			f.Path = where(n)
		}
	}
	return append(out, r.others(n, machines)...)
}

// plain is a size without what package plan does not know or the scheduler does
// not count.
func (r *refusal) plain(s Size) plan.Resources {
	out := plan.Resources{Memory: s.Memory * mib}
	if r.cluster.Scheduler.Counts(nameCores) {
		out.CPUs = float64(s.VCores)
	}
	if r.cluster.Scheduler.Counts(GPU) {
		out.GPUs = int(s.Get(GPU))
	}
	return out
}

// others compares resources that package plan does not know, one by one.
func (r *refusal) others(n need, machines []machine) []plan.Finding {
	total, text := r.sum(n)
	var out []plan.Finding
	for _, name := range parts(total) {
		if key(name) != "" || !r.cluster.Scheduler.Counts(name) {
			continue
		}
		var there, largest, most int64
		for _, m := range machines {
			there += m.Total.Get(name)
			largest = max(largest, m.Total.Get(name))
		}
		for _, role := range n.roles {
			most = max(most, r.size(role).Get(name))
		}
		switch {
		case most > largest:
			out = append(out, plan.Finding{Path: where(n), Problem: fmt.Sprintf("%s asked, the largest node has %s%s", amount(name, most), amount(name, largest), in(n.label))})
		case total.Get(name) > there:
			out = append(out, plan.Finding{Path: where(n), Problem: fmt.Sprintf("%s asked at once (%s), all nodes together have %s%s",
				amount(name, total.Get(name)), text, amount(name, there), in(n.label))})
		}
	}
	return out
}

// where is the place in the job file of a need.
func where(n need) string {
	var names []string
	for _, role := range n.roles {
		if role.Name != coordinatorRole {
			names = append(names, role.Name)
		}
	}
	if len(names) == 1 {
		return "roles." + cmp.Or(names[0], "?")
	}
	return "roles"
}

// in names a partition at the end of a sentence.
func in(label string) string {
	if label == "" {
		return ""
	}
	return ", on nodes with the label " + label
}
