// Package ray is a Ray cluster for the length of a job: a draft comes in and
// gets its head, ports and policies; a roster comes in and "ray start" with all
// its arguments goes out, and on the head the driver's command behind it.
// README.md lists them.
package ray

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// Head is the role whose one task has Ray's control store and the driver.
const Head = "head"

// Ports of a Ray node. The first is its raylet's, so a task is ready when Ray
// runs on it. That all of them are told to Ray is also what lets it start on a
// busy machine: for a port that it chooses itself it waits 15 seconds.
var (
	nodePorts = []string{"node", "object", "agent", "agent-http", "runtime-env", "metrics"}
	headPorts = []string{"gcs", "dashboard", "client"}
)

// Framework is ray.
type Framework struct{}

var _ framework.Framework = Framework{}

// Name is "ray".
func (Framework) Name() string { return "ray" }

// restarts is how often a node of Ray that is lost is replaced, where nobody
// says otherwise: Ray runs what was lost with it again elsewhere.
const restarts = 3

// Prepare makes one task the head, and gives nodes their ports and policies.
func (Framework) Prepare(d *plan.Draft) {
	checkStages(d)
	addHead(d)
	for i := range d.Plan.Roles {
		r := &d.Plan.Roles[i]
		if !r.Counted {
			if len(r.Ports) == 0 {
				framework.AddPort(r, "main", true)
			}
			continue
		}
		for _, name := range slices.Backward(nodePorts) {
			framework.AddPort(r, name, true)
		}
		if r.Name == Head {
			lead(d, r)
		} else {
			follow(d, r)
		}
		checkNode(d, r)
	}
	framework.Check(d, func(name string) bool { return name == address })
}

// checkStages refuses nodes that wait until others have succeeded: a cluster is
// together from its head's start to the driver's end.
func checkStages(d *plan.Draft) {
	for _, r := range d.Plan.Roles {
		for _, a := range r.After {
			if other := d.Plan.Role(a.Role); r.Counted && a.Is == spec.Succeeded && other != nil && other.Counted {
				d.Report(plan.Finding{Path: "roles." + r.Name + ".after",
					Problem: fmt.Sprintf("%s and %s would be nodes of one cluster of Ray, which start together", a.Role, r.Name),
					Hint:    "let the driver do one after the other, or make two jobs of it"})
			}
		}
	}
}

// addHead makes a head of one task of the first role that could be a node,
// where the author named none: so many instances are so many nodes.
func addHead(d *plan.Draft) {
	p := d.Plan
	n := slices.IndexFunc(p.Roles, func(r plan.Role) bool { return r.Counted })
	if p.Role(Head) != nil || n < 0 {
		return
	}
	worker := &p.Roles[n]
	head := *worker
	head.Name, head.Instances = Head, spec.Count{Min: 1, Max: 1}
	head.Ports = slices.Clone(worker.Ports)
	d.Written[Head] = maps.Clone(d.Written[worker.Name])
	if worker.Instances.Max == 1 {
		rename(p, worker.Name)
		*worker = head
		return
	}
	if worker.Instances.Min < 2 {
		d.Report(plan.Finding{
			Path:    "roles." + worker.Name + ".instances",
			Problem: "one task is the head, so at least 2 make a head and a worker",
			Hint:    "write instances: 2.." + fmt.Sprint(worker.Instances.Max) + ", or a role head of its own",
		})
		return
	}
	worker.Instances.Min--
	worker.Instances.Max--
	p.Roles = slices.Insert(p.Roles, n, head)
}

// rename lets roles that wait for a role wait for the head instead.
func rename(p *plan.Plan, from string) {
	for i := range p.Roles {
		for n := range p.Roles[i].After {
			if p.Roles[i].After[n].Role == from {
				p.Roles[i].After[n].Role = Head
			}
		}
	}
}

// lead sets what is the head's alone: the job is done when its driver is, and
// what the driver lost with a head only a new cluster can give it.
func lead(d *plan.Draft, r *plan.Role) {
	for _, name := range headPorts {
		framework.AddPort(r, name, false)
	}
	if d.Open(Head, "ends_job") {
		r.EndsJob = true
	}
	if d.Open(Head, "on_failure") && d.Open(Head, "restarts") && d.Open(Head, "max_failures") {
		r.OnFailure = spec.FailureStop
	}
	if d.Open(Head, "restart_scope") {
		r.RestartScope = spec.ScopeJob
	}
	if r.Instances.Max != 1 {
		d.Report(plan.Finding{Path: "roles.head.instances", Problem: fmt.Sprintf("%d heads: a cluster has one", r.Instances.Max),
			Hint: "the others are workers: add a role worker"})
	}
}

// follow sets what is a worker's: it serves the driver, and is replaced when it
// is lost.
func follow(d *plan.Draft, r *plan.Role) {
	head := d.Plan.Role(Head)
	if head == nil {
		return // it was refused
	}
	if d.Open(r.Name, "wait") {
		r.Wait = false
	}
	if d.Open(r.Name, "on_failure") && d.Open(r.Name, "max_failures") && (d.Open(r.Name, "restarts") || r.Restarts > 0) {
		r.OnFailure = spec.FailureRestart
		if d.Open(r.Name, "restarts") {
			r.Restarts = restarts
		}
	}
	if d.Open(r.Name, "restart_scope") {
		r.RestartScope = spec.ScopeTask
	}
	if !reflect.DeepEqual(head.Command, r.Command) {
		d.Report(plan.Finding{Path: "roles." + r.Name + ".command", Warning: true,
			Problem: "not run: its tasks are nodes of Ray, and the driver is the command of head"})
	}
}

// checkNode refuses several processes in a task: Ray starts its own.
func checkNode(d *plan.Draft, r *plan.Role) {
	if r.Procs != 1 {
		d.Report(plan.Finding{Path: "roles." + r.Name + ".procs", Problem: fmt.Sprintf("%d: a task is one node of Ray, which starts its own processes", r.Procs),
			Hint: "cpus says how many tasks of Ray run on a node at once"})
	}
}

// Ready lets workers start once Ray runs on the head: they would give up.
func (Framework) Ready(p *plan.Plan, r *plan.Roster, id plan.TaskID, ready func(plan.TaskID) bool) (ok bool, waitsFor string) {
	head := plan.TaskID{Role: Head}
	role := p.Role(id.Role)
	if id == head || role == nil || !role.Counted || r.Member(head) == nil || ready(head) {
		return true, ""
	}
	return false, head.String()
}
