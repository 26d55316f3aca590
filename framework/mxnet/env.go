package mxnet

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
)

// names are the variables that are set for every task with a part in ps-lite.
var names = []string{
	"DMLC_ROLE", "DMLC_PS_ROOT_URI", "DMLC_PS_ROOT_PORT", "DMLC_NUM_SERVER", "DMLC_NUM_WORKER", "DMLC_NODE_HOST", "DMLC_LOCAL",
	"DMLC_WORKER_ID", "DMLC_SERVER_ID", "PORT",
}

func reserved(name string) bool { return slices.Contains(names, name) }

// cast is who takes part in a task's store.
type cast struct {
	scheduler        *plan.Member
	servers, workers int // processes
	before           int // processes of the task's own part that come before it
}

// castOf finds the cast of a task's stage: what another stage trains has a
// store of its own, or none.
func castOf(p *plan.Plan, r *plan.Roster, id plan.TaskID) cast {
	var c cast
	own, tasks := p.Role(id.Role), r.Tasks(p)
	for i := range p.Roles {
		role := &p.Roles[i]
		if role.Stage != own.Stage {
			continue
		}
		switch part(role) {
		case "scheduler":
			c.scheduler = r.Member(plan.TaskID{Role: role.Name})
		case "server":
			if role.Name == id.Role {
				c.before = c.servers
				for _, m := range r.Of(role.Name) {
					if m.Task.Index < id.Index {
						c.before += m.Procs
					}
				}
			}
			c.servers += tasks[role.Name] * role.Procs
		case "worker":
			// Who is there, not the highest rank: ps-lite waits for so many.
			c.workers += tasks[role.Name] * role.Procs
		}
	}
	return c
}

// store adds the variables of ps-lite, if the task's stage has a store.
func store(l *plan.Launch, p *plan.Plan, r *plan.Roster, m *plan.Member) error {
	role := part(p.Role(m.Task.Role))
	if role == "" {
		return nil
	}
	c := castOf(p, r, m.Task)
	if c.scheduler == nil || c.servers == 0 {
		return nil // a stage without a store: it prepares data, say
	}
	root, err := framework.PortOf(c.scheduler, Port, 0)
	if err != nil {
		return fmt.Errorf("epoch %d: %w", r.Epoch, err)
	}
	framework.Set(l, "DMLC_ROLE", role)
	framework.Set(l, "DMLC_PS_ROOT_URI", c.scheduler.Host)
	framework.Set(l, "DMLC_PS_ROOT_PORT", strconv.Itoa(root))
	framework.Set(l, "DMLC_NUM_SERVER", strconv.Itoa(c.servers))
	framework.Set(l, "DMLC_NUM_WORKER", strconv.Itoa(c.workers))
	framework.Set(l, "DMLC_NODE_HOST", m.Host)
	framework.Set(l, "DMLC_LOCAL", "0")
	for i := range m.Procs {
		number, err := framework.PortOf(m, Port, i)
		if err != nil {
			return fmt.Errorf("epoch %d: %w", r.Epoch, err)
		}
		switch role {
		case "worker":
			framework.SetProc(l, i, "DMLC_WORKER_ID", strconv.Itoa(m.Rank+i))
		case "server":
			framework.SetProc(l, i, "DMLC_SERVER_ID", strconv.Itoa(c.before+i))
		}
		if role != "scheduler" {
			framework.SetProc(l, i, "PORT", strconv.Itoa(number))
		}
	}
	return nil
}
