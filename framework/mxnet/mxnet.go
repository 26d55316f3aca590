// Package mxnet is MXNet's distributed key-value store, which is ps-lite: a
// draft comes in and gets the scheduler and servers that its author left out,
// ports and policies; a roster comes in and the DMLC_ variables go out.
// README.md lists them.
package mxnet

import (
	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
)

// Port is what each process listens on; that of the scheduler is where all of
// them meet.
const Port = "ps"

// schedulerCPUs is what a scheduler needs that nobody asked more for: it passes
// on who is there, and waits.
const schedulerCPUs = 0.1

// Framework is mxnet.
type Framework struct{}

var _ framework.Framework = Framework{}

// Name is "mxnet".
func (Framework) Name() string { return "mxnet" }

// part is what a role is to ps-lite: its DMLC_ROLE, empty where it is none.
func part(r *plan.Role) string {
	switch {
	case r.Name == "scheduler":
		return "scheduler"
	case r.Name == "server" || r.Name == "ps":
		return "server"
	case r.Counted:
		return "worker"
	}
	return ""
}

// Prepare completes the three roles of ps-lite, gives every process a port,
// and sets the policies of a job whose parts cannot go on without each other.
func (Framework) Prepare(d *plan.Draft) {
	complete(d)
	for i := range d.Plan.Roles {
		r := &d.Plan.Roles[i]
		switch part(r) {
		case "":
			if len(r.Ports) == 0 {
				framework.AddPort(r, "main", true)
			}
			continue
		case "worker":
			framework.Collect(d, r)
		}
		framework.AddPorts(r, Port, true)
	}
	checkScheduler(d)
	framework.Check(d, reserved)
}

// complete makes servers and scheduler serve the workers, and adds those that
// are missing. They run the workers' command: with their DMLC_ROLE set, the
// line "import mxnet" in it is where they stay.
func complete(d *plan.Draft) {
	worker := workers(d.Plan)
	if worker == nil {
		d.Report(plan.Finding{
			Path: "roles", Problem: "no workers: a server or scheduler alone has nobody to serve",
			Hint: "add a role called worker",
		})
		return
	}
	copied := *worker // what AddRole appends may move it
	add := func(name string, cpus float64) {
		framework.AddRole(d, plan.Role{
			Name: name, Command: copied.Command, Env: copied.Env, Image: copied.Image, Resources: plan.Resources{CPUs: cpus},
		})
	}
	if d.Plan.Role("ps") == nil {
		add("server", 0)
	}
	add("scheduler", schedulerCPUs)
	for i := range d.Plan.Roles {
		if r := &d.Plan.Roles[i]; part(r) == "server" || part(r) == "scheduler" {
			framework.Serve(d, r, &copied)
		}
	}
}

// workers is the role that the others serve: the one called worker, else the
// last with ranks.
func workers(p *plan.Plan) *plan.Role {
	var found *plan.Role
	for i := range p.Roles {
		if r := &p.Roles[i]; part(r) == "worker" && (found == nil || found.Name != "worker") {
			found = r
		}
	}
	return found
}

// checkScheduler refuses what ps-lite knows one of.
func checkScheduler(d *plan.Draft) {
	r := d.Plan.Role("scheduler")
	if r == nil {
		return
	}
	refuse := func(key string) {
		d.Report(plan.Finding{
			Path: "roles.scheduler." + key, Problem: "a job has one scheduler, and that is one process",
			Hint: "leave it out",
		})
	}
	if r.Instances.Min != 1 || r.Instances.Max != 1 {
		refuse("instances")
	}
	if r.Procs != 1 {
		refuse("procs")
	}
}

// Launch gives a task its part in ps-lite.
func (Framework) Launch(p *plan.Plan, r *plan.Roster, id plan.TaskID) (plan.Launch, error) {
	l, m, err := framework.Common(p, r, id)
	if err != nil {
		return plan.Launch{}, err
	}
	if err := store(&l, p, r, m); err != nil {
		return plan.Launch{}, err
	}
	return l, framework.AddRoster(&l, p, r, id, framework.ScopeNode)
}
