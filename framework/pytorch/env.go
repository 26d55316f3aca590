package pytorch

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
)

// ranked are the variables that each process has for itself. Under torchrun
// they are torchrun's to set.
var ranked = []string{"RANK", "LOCAL_RANK", "ROLE_RANK"}

// shared are the variables that a task's processes have in common, beside the
// master's address. Under torchrun they too are torchrun's to set.
var shared = []string{
	"WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NODE_RANK", "GROUP_WORLD_SIZE", "ROLE_NAME", "ROLE_WORLD_SIZE",
	"TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RUN_ID",
}

// reserved says that a variable is set by us for tasks with a rank.
func reserved(name string) bool {
	if name == "MASTER_ADDR" || name == "MASTER_PORT" {
		return true
	}
	for _, list := range [][]string{ranked, shared, launcher} {
		if slices.Contains(list, name) {
			return true
		}
	}
	return false
}

// distributed adds the variables of a task with a rank.
//
// A task is what torchrun calls a node or group: LOCAL_RANK counts inside it,
// even where two tasks share a machine, because each task sees its own devices
// only and programs choose theirs by LOCAL_RANK.
func distributed(l *plan.Launch, p *plan.Plan, r *plan.Roster, m *plan.Member) error {
	role := p.Role(m.Task.Role)
	master := framework.Master(p, r, m.Task)
	if master == nil {
		return fmt.Errorf("%s: nobody has rank 0 in epoch %d", m.Task, r.Epoch)
	}
	port, ok := master.Ports[Port]
	if !ok {
		return fmt.Errorf("%s: port %q: missing in the roster of epoch %d", master.Task, Port, r.Epoch)
	}
	peers := r.Peerage(p, m.Task)
	set := func(name string, value int) { framework.Set(l, name, strconv.Itoa(value)) }
	framework.Set(l, "MASTER_ADDR", master.Host)
	set("MASTER_PORT", port)
	threads(l, role)

	launched := launcherOf(role.Command) != ""
	if launched || m.Procs == 1 {
		// With one process of ours per task these also serve a torchrun that
		// hides in a script. With more, each would start the whole group again.
		set("PET_NNODES", peers.Groups)
		set("PET_NODE_RANK", m.GroupRank)
		set("PET_NPROC_PER_NODE", m.Procs)
		framework.Set(l, "PET_MASTER_ADDR", master.Host)
		set("PET_MASTER_PORT", port)
		c10d(l, p, m, net.JoinHostPort(master.Host, strconv.Itoa(port)))
	}
	if launched {
		underLauncher(l, m)
		return nil
	}
	set("WORLD_SIZE", r.WorldOf(p, role.Name))
	set("LOCAL_WORLD_SIZE", m.Procs)
	set("GROUP_RANK", m.GroupRank)
	set("NODE_RANK", m.GroupRank)
	set("GROUP_WORLD_SIZE", peers.Groups)
	framework.Set(l, "ROLE_NAME", role.Name)
	set("ROLE_WORLD_SIZE", peers.RoleWorld)
	set("TORCHELASTIC_RESTART_COUNT", max(0, m.Incarnation-1))
	set("TORCHELASTIC_MAX_RESTARTS", role.Restarts)
	framework.Set(l, "TORCHELASTIC_RUN_ID", p.ID)
	for i := range m.Procs {
		framework.SetProc(l, i, "RANK", strconv.Itoa(m.Rank+i))
		framework.SetProc(l, i, "LOCAL_RANK", strconv.Itoa(i))
		framework.SetProc(l, i, "ROLE_RANK", strconv.Itoa(peers.RoleRank+i))
	}
	return nil
}

// underLauncher leaves one process, the launcher itself, which starts the others
// and gives them their ranks. What it would pass on to all of them alike, and
// so wrong for all but one, is left out. By c10d it gives even the tasks ranks
// of its own.
func underLauncher(l *plan.Launch, m *plan.Member) {
	l.Procs = l.Procs[:1]
	if m.Procs > 1 || l.Env[rdzvBackend] == "c10d" {
		for _, name := range []string{"MUSTER_RANK", "MUSTER_LOCAL_RANK", "MUSTER_PROC"} {
			delete(l.Procs[0], name)
		}
	}
	for _, list := range [][]string{ranked, shared} {
		for _, name := range list {
			delete(l.Env, name)
			delete(l.Expand, name)
		}
	}
}

// threads keeps the processes of one machine from each starting a thread per
// processor: the task's processors are shared out among its processes.
func threads(l *plan.Launch, role *plan.Role) {
	framework.SetDefault(l, "OMP_NUM_THREADS", strconv.Itoa(max(1, int(role.Resources.CPUs)/role.Procs)))
}
