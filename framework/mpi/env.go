package mpi

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
)

// Files in MUSTER_DIR. The first is for people and other programs; OpenMPI and
// Hydra have a form of their own each.
const (
	hostFile    = "mpi/hostfile"
	openmpiFile = "mpi/openmpi"
	hydraFile   = "mpi/hydra"
	agentFile   = "mpi/agent"
)

// fixed are the variables without which ranks would not get where they belong.
// Those of OpenMPI come twice, for version 4 and for the runtime of version 5.
var fixed = map[string]string{
	"OMPI_MCA_plm_rsh_agent":         "${muster.dir}/" + agentFile,
	"OMPI_MCA_orte_default_hostfile": "${muster.dir}/" + openmpiFile,
	// Daemons take settings from their own task: they are of this task here.
	"OMPI_MCA_plm_rsh_pass_environ_mca_params": "0",
	// Only the task of rank 0 knows how to reach the others.
	"OMPI_MCA_plm_rsh_no_tree_spawn": "1",
	// A daemon that stays attached ends with the agent.
	"OMPI_MCA_orte_leave_session_attached": "1",
	// Several daemons on one machine would quarrel about one directory.
	"OMPI_MCA_orte_tmpdir_base": "${muster.dir}",

	"PRTE_MCA_plm_ssh_agent":                   "${muster.dir}/" + agentFile,
	"PRTE_MCA_prte_default_hostfile":           "${muster.dir}/" + openmpiFile,
	"PRTE_MCA_plm_ssh_pass_environ_mca_params": "0",
	"PRTE_MCA_plm_ssh_no_tree_spawn":           "1",
	"PRTE_MCA_prte_leave_session_attached":     "1",
	"PRTE_MCA_prte_tmpdir_base":                "${muster.dir}",

	"HYDRA_LAUNCHER":      "ssh",
	"HYDRA_LAUNCHER_EXEC": "${muster.dir}/" + agentFile,
	"HYDRA_HOST_FILE":     "${muster.dir}/" + hydraFile,
	// Otherwise every rank would see the directory and the devices of rank 0's task.
	"HYDRA_ENV": "none",
}

// defaults are what an author or a user may want otherwise.
var defaults = map[string]string{
	// It only says that root is meant where it is root who submits.
	"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
	"PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
	// Tasks are no names of the network: nobody needs to be asked about them.
	"OMPI_MCA_if_base_do_not_resolve": "1",
	"HYDRA_IFACE":                     "${muster.iface}",
	// Daemons that share a machine would all bind to its first processors. The
	// limits of the task hold for its ranks anyway.
	"OMPI_MCA_hwloc_base_binding_policy":    "none",
	"PRTE_MCA_hwloc_default_binding_policy": "none",
}

// reserved says that we set a variable for tasks with ranks.
func reserved(name string) bool { _, ok := fixed[name]; return ok }

// settings lets mpirun of either family find hosts and agent.
func settings(l *plan.Launch, role *plan.Role, master *plan.Member, hosts []*plan.Member) {
	for name, value := range fixed {
		framework.Set(l, name, value)
	}
	for name, value := range defaults {
		framework.SetDefault(l, name, value)
	}
	framework.SetDefault(l, "OMP_NUM_THREADS", strconv.Itoa(max(1, int(role.Resources.CPUs)/role.Procs)))
	if float64(role.Procs) > role.Resources.CPUs {
		framework.SetDefault(l, "OMPI_MCA_mpi_yield_when_idle", "1")
	}
	if shared(hosts) {
		// Ranks of different tasks on one machine give their shared memory the same
		// name and crash.
		framework.SetDefault(l, "OMPI_MCA_btl", "self,tcp")
		// It takes ranks of one host name for neighbours, and waits for ever.
		framework.SetDefault(l, "OMPI_MCA_coll", "^han")
	}
	if ip := net.ParseIP(master.Host); ip != nil && ip.IsLoopback() || master.Host == "localhost" {
		framework.SetDefault(l, "OMPI_MCA_btl_tcp_if_include", "lo") // which OpenMPI would leave out
	} else {
		// The interface of the task's address carries what daemons say. OpenMPI 5
		// refuses lo, and both find something by themselves where all is one machine.
		framework.SetDefault(l, "OMPI_MCA_oob_tcp_if_include", "${muster.iface}")
		framework.SetDefault(l, "PRTE_MCA_prte_if_include", "${muster.iface}")
	}
}

// shared says that two of the tasks are on one machine.
func shared(hosts []*plan.Member) bool {
	seen := map[string]bool{}
	return slices.ContainsFunc(hosts, func(m *plan.Member) bool {
		again := seen[m.Node]
		seen[m.Node] = true
		return again
	})
}

// hostFiles name the tasks in rank order, each with its slots. mpirun's own task
// is the local host to OpenMPI, which starts no daemon there; Hydra reaches it
// through the agent like the others.
func hostFiles(l *plan.Launch, hosts []*plan.Member) {
	var all, openmpi, hydra strings.Builder
	for i, m := range hosts {
		name := alias(m)
		fmt.Fprintf(&all, "%s slots=%d\n", name, m.Procs)
		fmt.Fprintf(&hydra, "%s:%d\n", name, m.Procs)
		if i == 0 {
			name = "localhost"
		}
		fmt.Fprintf(&openmpi, "%s slots=%d\n", name, m.Procs)
	}
	framework.Set(l, "MUSTER_HOSTFILE", "${muster.dir}/"+hostFile)
	l.Files[hostFile] = []byte(all.String())
	l.Files[openmpiFile] = []byte(openmpi.String())
	l.Files[hydraFile] = []byte(hydra.String())
}
