package horovod

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
)

// set are the variables that are ours alone.
var set = []string{
	"HOROVOD_CONTROLLER", "HOROVOD_CPU_OPERATIONS", "HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_PORT", "HOROVOD_HOSTNAME",
	"HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE", "HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE",
}

func reserved(name string) bool { return slices.Contains(set, name) }

// timeout is how long ranks wait for each other: the first to call hvd.init()
// waits for the one that imports slowest. Horovod's own 30 s is less than what
// that takes on a busy node. A rank that dies is noticed without it.
const timeout = "300"

// meet adds the variables of a task with ranks.
//
// A task is what Horovod calls a host: local ranks count inside it, even where
// two tasks share a machine, because each task sees its own devices only and
// programs choose theirs by hvd.local_rank(). So HOROVOD_HOSTNAME, which is
// nothing but the name of the group of local ranks, names the task.
func meet(l *plan.Launch, p *plan.Plan, r *plan.Roster, m *plan.Member) error {
	master := framework.Master(p, r, m.Task)
	if master == nil {
		return fmt.Errorf("%s: nobody has rank 0 in epoch %d", m.Task, r.Epoch)
	}
	port, ok := master.Ports[Port]
	if !ok {
		return fmt.Errorf("%s: port %q: missing in the roster of epoch %d", master.Task, Port, r.Epoch)
	}
	role := p.Role(m.Task.Role)
	for name, value := range map[string]string{
		"HOROVOD_CONTROLLER":           "gloo",
		"HOROVOD_CPU_OPERATIONS":       "gloo",
		"HOROVOD_GLOO_RENDEZVOUS_ADDR": master.Host,
		"HOROVOD_GLOO_RENDEZVOUS_PORT": strconv.Itoa(port),
		"HOROVOD_HOSTNAME":             m.Task.Role + "-" + strconv.Itoa(m.Task.Index),
		"HOROVOD_SIZE":                 strconv.Itoa(r.WorldOf(p, role.Name)),
		"HOROVOD_LOCAL_SIZE":           strconv.Itoa(m.Procs),
	} {
		framework.Set(l, name, value)
	}
	framework.SetDefault(l, "HOROVOD_GLOO_IFACE", "${muster.iface}")
	framework.SetDefault(l, "HOROVOD_GLOO_TIMEOUT_SECONDS", timeout)
	framework.SetDefault(l, "OMP_NUM_THREADS", strconv.Itoa(max(1, int(role.Resources.CPUs)/role.Procs)))
	for i := range m.Procs {
		rank, size := cross(p, r, m, i)
		framework.SetProc(l, i, "HOROVOD_RANK", strconv.Itoa(m.Rank+i))
		framework.SetProc(l, i, "HOROVOD_LOCAL_RANK", strconv.Itoa(i))
		framework.SetProc(l, i, "HOROVOD_CROSS_RANK", strconv.Itoa(rank))
		framework.SetProc(l, i, "HOROVOD_CROSS_SIZE", strconv.Itoa(size))
	}
	if m.Rank == 0 {
		l.Files[DiscoverHosts] = discover(p, r, role.Name)
	}
	return nil
}

// cross is where a task stands among those that have an i-th process.
func cross(p *plan.Plan, r *plan.Roster, m *plan.Member, i int) (rank, size int) {
	for o := range r.Peers(p, m.Task.Role) {
		if o.Procs <= i {
			continue
		}
		if o.Rank < m.Rank {
			rank++
		}
		size++
	}
	return rank, size
}

// DiscoverHosts is a script in the directory of the task with rank 0 that
// prints the hosts of its epoch as Horovod's elastic driver reads them.
const DiscoverHosts = "discover_hosts"

func discover(p *plan.Plan, r *plan.Roster, role string) []byte {
	slots := map[string]int{}
	var hosts []string // in rank order
	for m := range r.Peers(p, role) {
		if slots[m.Host] == 0 {
			hosts = append(hosts, m.Host)
		}
		slots[m.Host] += m.Procs
	}
	var out strings.Builder
	out.WriteString("#!/bin/sh\ncat <<'END'\n")
	for _, h := range hosts {
		fmt.Fprintf(&out, "%s:%d\n", h, slots[h])
	}
	out.WriteString("END\n")
	return []byte(out.String())
}
