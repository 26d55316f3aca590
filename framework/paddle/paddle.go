// Package paddle is paddle.distributed: a draft comes in and gets ports and
// the policies of its mode, collective or parameter server; a roster comes in
// and the PADDLE_ variables go out, for programs started by us or by Paddle's
// own launcher. README.md lists them.
package paddle

import (
	"fmt"
	"strconv"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// The ports of a task.
const (
	Port   = "endpoint" // a process's own, in everybody's lists
	Master = "master"   // where trainers meet: that of rank 0 is used
	Gloo   = "gloo"     // where trainers beside servers meet: that of server 0 is used
)

// Framework is paddle.
type Framework struct{}

var _ framework.Framework = Framework{}

// Name is "paddle".
func (Framework) Name() string { return "paddle" }

// part is what a role is to Paddle.
type part int

const (
	outside part = iota
	trainer
	server
)

func partOf(r *plan.Role) part {
	switch {
	case r.Name == "ps" || r.Name == "server":
		return server
	case r.Counted:
		return trainer
	}
	return outside
}

// Prepare tells the mode by the roles: with a ps it is parameter server, else
// collective.
func (Framework) Prepare(d *plan.Draft) {
	p := d.Plan
	trainers, servers := trainersOf(p), p.Role("ps") != nil || p.Role("server") != nil
	if servers && trainers == nil {
		d.Report(plan.Finding{
			Path: "roles", Problem: "no trainers: servers alone have nobody to serve", Hint: "add a role called worker or trainer",
		})
		return
	}
	for i := range p.Roles {
		r := &p.Roles[i]
		switch partOf(r) {
		case outside:
			if len(r.Ports) == 0 {
				framework.AddPort(r, "main", true)
			}
		case server:
			framework.Serve(d, r, trainers)
			framework.AddPorts(r, Port, true)
			framework.AddPort(r, Gloo, false)
			refuseLauncher(d, r)
		case trainer:
			framework.Collect(d, r)
			if servers {
				refuseLauncher(d, r)
			}
			countProcs(d, r)
			framework.AddPorts(r, Port, false)
			framework.AddPort(r, Master, false)
		}
	}
	framework.CheckReady(d, func(r *plan.Role) bool {
		return partOf(r) == trainer && r.Ports[0].Name == Port // nobody listens there where gloo finds ports of its own
	})
	framework.Check(d, reserved)
}

// trainersOf is the role that servers serve: the one called worker or trainer,
// else the last with ranks.
func trainersOf(p *plan.Plan) *plan.Role {
	var found *plan.Role
	for i := range p.Roles {
		r := &p.Roles[i]
		if r.Name == "worker" || r.Name == "trainer" {
			return r
		}
		if partOf(r) == trainer {
			found = r
		}
	}
	return found
}

// launched says that a role's command is Paddle's own launcher, which starts
// the processes and gives them their variables.
func launched(r *plan.Role) bool { return launcherArgs(r.Command) != nil }

func launcherArgs(c spec.Command) []string {
	return framework.LauncherArgs(c, []string{"fleetrun"}, []string{"paddle.distributed.launch", "paddle.distributed.fleet.launch"})
}

// refuseLauncher refuses a launcher beside roles of servers: it would start
// servers and trainers of its own in every task.
func refuseLauncher(d *plan.Draft, r *plan.Role) {
	if launched(r) {
		d.Report(plan.Finding{
			Path:    "roles." + r.Name + ".command",
			Problem: "paddle.distributed.launch would start servers and trainers of its own in every task",
			Hint:    "run the program itself: the roles of the job file say who is a server",
		})
	}
}

// countProcs takes the number of processes from the launcher's line where the
// job file has none.
func countProcs(d *plan.Draft, r *plan.Role) {
	const option = "--nproc-per-node"
	n, err := strconv.Atoi(framework.LauncherOption(launcherArgs(r.Command), option))
	switch {
	case err != nil || n < 1: // the launcher's line says nothing
	case d.Open(r.Name, "procs"):
		r.Procs = n
	case n != r.Procs:
		d.Report(plan.Finding{
			Path:    "roles." + r.Name + ".procs",
			Problem: fmt.Sprintf("%d here, which wins over %s %d of the command", r.Procs, option, n),
			Warning: true,
		})
	}
}

// Launch gives a task what Paddle, or its launcher, reads.
func (Framework) Launch(p *plan.Plan, r *plan.Roster, id plan.TaskID) (plan.Launch, error) {
	l, m, err := framework.Common(p, r, id)
	if err != nil {
		return plan.Launch{}, err
	}
	if partOf(p.Role(id.Role)) != outside {
		if err := distributed(&l, p, r, m); err != nil {
			return plan.Launch{}, fmt.Errorf("epoch %d: %w", r.Epoch, err)
		}
	}
	return l, framework.AddRoster(&l, p, r, id, framework.ScopeNode)
}
