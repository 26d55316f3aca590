// Package mpi is OpenMPI and MPICH: a draft comes in and gets the policies of a
// job whose ranks need each other; a roster comes in and an mpirun that finds
// its hosts and reaches them goes out, in the task of rank 0. README.md has the
// variables.
//
// mpirun of either family starts one daemon on each host and the daemon starts
// the ranks. Each task is such a host, and what is ssh elsewhere is the agent of
// our executor here: no login, no key and no sshd, and the ranks live within the
// task that they belong to.
package mpi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
)

// Framework is mpi.
type Framework struct{}

var _ framework.Framework = Framework{}

// Name is "mpi".
func (Framework) Name() string { return "mpi" }

// launchers are the programs of a line that starts the ranks itself.
var launchers = []string{
	"mpirun", "mpiexec", "orterun", "prterun",
	"mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich", "mpiexec.hydra", "mpirun.hydra",
}

// Prepare sets the policies of ranks that need each other.
func (Framework) Prepare(d *plan.Draft) {
	for i := range d.Plan.Roles {
		r := &d.Plan.Roles[i]
		if !r.Counted {
			if len(r.Ports) == 0 {
				framework.AddPort(r, "main", true)
			}
			continue
		}
		framework.Collect(d, r)
	}
	checkCommands(d)
	checkLine(d)
	framework.Check(d, reserved)
}

// checkCommands warns of a command that nobody runs: rank 0's task starts the
// program of all.
func checkCommands(d *plan.Draft) {
	first := map[int]*plan.Role{} // by stage
	for i := range d.Plan.Roles {
		r := &d.Plan.Roles[i]
		if !r.Counted {
			continue
		}
		f := first[r.Stage]
		if f == nil {
			first[r.Stage] = r
			continue
		}
		if !slices.Equal(framework.Argv(f.Command), framework.Argv(r.Command)) {
			d.Report(plan.Finding{
				Path:    "roles." + r.Name + ".command",
				Problem: fmt.Sprintf("is not used: mpirun in %s/0 starts one program for all ranks", f.Name),
				Warning: true,
			})
		}
	}
}

// checkLine warns of a line that asks for more ranks than the job has room for.
func checkLine(d *plan.Draft) {
	for i := range d.Plan.Roles {
		r := &d.Plan.Roles[i]
		args := framework.LauncherArgs(r.Command, launchers, nil)
		if !r.Counted || args == nil || r.Instances.Elastic() {
			continue
		}
		slots := 0
		for _, o := range d.Plan.Roles {
			if o.Counted && o.Stage == r.Stage {
				slots += o.Instances.Max * o.Procs
			}
		}
		if n := asked(args); n > slots {
			d.Report(plan.Finding{
				Path: "roles." + r.Name + ".command",
				Problem: fmt.Sprintf("asks for %d ranks, but tasks times procs are %d: OpenMPI refuses that and MPICH crowds them together",
					n, slots),
				Warning: true,
			})
		}
	}
}

// asked is how many ranks the options of a line ask for, those of each program
// between ":"; 0 if they leave it to the hosts.
func asked(args []string) int {
	total := 0
	for {
		next := slices.Index(args, ":")
		if next < 0 {
			return total + askedByOne(args)
		}
		total += askedByOne(args[:next])
		args = args[next+1:]
	}
}

func askedByOne(args []string) int {
	for i := 0; i+1 < len(args) && strings.HasPrefix(args[i], "-"); i++ {
		if slices.Contains([]string{"-np", "--np", "-n", "--n", "-c"}, args[i]) {
			n, _ := strconv.Atoi(args[i+1])
			return n
		}
		if !strings.HasPrefix(args[i+1], "-") {
			i++ // the option's value, or the program: then no option follows
		}
	}
	return 0
}

// Launch lets the task of rank 0 start everything, and the others wait for it.
func (Framework) Launch(p *plan.Plan, r *plan.Roster, id plan.TaskID) (plan.Launch, error) {
	l, m, err := framework.Common(p, r, id)
	if err != nil {
		return plan.Launch{}, err
	}
	if m.Rank >= 0 {
		if err := distributed(&l, p, r, m); err != nil {
			return plan.Launch{}, err
		}
	}
	return l, framework.AddRoster(&l, p, r, id, framework.ScopeNode)
}

func distributed(l *plan.Launch, p *plan.Plan, r *plan.Roster, m *plan.Member) error {
	role, master := p.Role(m.Task.Role), framework.Master(p, r, m.Task)
	if master == nil {
		return fmt.Errorf("%s: nobody has rank 0 in epoch %d", m.Task, r.Epoch)
	}
	// One process of ours per task, whatever mpirun starts in it. Its own rank
	// would be wrong for those: they ask MPI.
	l.Procs = l.Procs[:1]
	for _, name := range []string{"MUSTER_RANK", "MUSTER_LOCAL_RANK", "MUSTER_PROC"} {
		delete(l.Procs[0], name)
	}
	hosts := slices.Collect(r.Peers(p, role.Name))
	l.Files[agentFile] = []byte("#!/bin/sh\nexec ${muster.agent} \"$@\"\n")
	settings(l, role, master, hosts)
	if m.Task != master.Task {
		l.Argv = []string{"sh", "-c", "exec ${muster.agent} --await " + alias(master)}
		l.Peers = peers(master)
		return nil
	}
	hostFiles(l, hosts)
	l.Peers = peers(hosts...)
	if framework.LauncherArgs(role.Command, launchers, nil) == nil {
		world := strconv.Itoa(r.WorldOf(p, role.Name))
		l.Argv = append([]string{"mpirun", "-np", world}, framework.Argv(role.Command)...)
	}
	return nil
}

// alias is the name of a task as a host: tasks may share a machine, and OpenMPI
// takes hosts of one name for one.
func alias(m *plan.Member) string { return m.Task.Dir() }

func peers(members ...*plan.Member) map[string]plan.Peer {
	found := map[string]plan.Peer{}
	for _, m := range members {
		found[alias(m)] = plan.Peer{Task: m.Task, Incarnation: m.Incarnation, Control: m.Control}
	}
	return found
}

var _ framework.Describer = Framework{}

// Describe is what "muster frameworks" shows.
func (Framework) Describe() framework.Description {
	return framework.Description{
		About: "OpenMPI and MPICH: mpirun in the task of rank 0 starts ranks in all tasks, without ssh",
		Roles: []framework.RoleDescription{
			{Name: "master", Does: "where mpirun runs, and the first ranks; its end is the job's end"},
			{Name: "worker", Does: "slots for as many ranks as procs; without a master mpirun runs in task 0"},
		},
		Launchers: []string{"mpirun", "mpiexec", "orterun"},
	}
}
