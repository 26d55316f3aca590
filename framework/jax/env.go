package jax

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
)

// shared are the variables that all processes of a task have in common, ranked
// those that each has for itself.
//
// JAX itself reads only the address and the devices. How many processes there
// are and which of them this is it asks the launcher that it recognises; the
// only one whose variables say just this, and that it looks for first, is Open
// MPI's. JAX_NUM_PROCESSES and JAX_PROCESS_ID are what scripts read by habit.
var (
	shared = []string{"JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "OMPI_MCA_orte_hnp_uri", "OMPI_COMM_WORLD_SIZE"}
	ranked = []string{"JAX_PROCESS_ID", "JAX_LOCAL_DEVICE_IDS", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"}
)

// reserved says that a variable is set by us for tasks with a rank.
func reserved(name string) bool {
	return slices.Contains(shared, name) || slices.Contains(ranked, name)
}

// distributed adds the variables of a task with a rank.
func distributed(l *plan.Launch, p *plan.Plan, r *plan.Roster, m *plan.Member) error {
	role := p.Role(m.Task.Role)
	master := framework.Master(p, r, m.Task)
	if master == nil {
		return fmt.Errorf("%s: nobody has rank 0 in epoch %d", m.Task, r.Epoch)
	}
	address, err := framework.Endpoint(master, Port, 0)
	if err != nil {
		return fmt.Errorf("epoch %d: %w", r.Epoch, err)
	}
	world := strconv.Itoa(r.WorldOf(p, role.Name))
	framework.Set(l, "JAX_COORDINATOR_ADDRESS", address)
	framework.Set(l, "JAX_NUM_PROCESSES", world)
	framework.Set(l, "OMPI_MCA_orte_hnp_uri", "0.0;tcp://"+address)
	framework.Set(l, "OMPI_COMM_WORLD_SIZE", world)
	for i := range m.Procs {
		rank := strconv.Itoa(m.Rank + i)
		framework.SetProc(l, i, "JAX_PROCESS_ID", rank)
		framework.SetProc(l, i, "OMPI_COMM_WORLD_RANK", rank)
		framework.SetProc(l, i, "OMPI_COMM_WORLD_LOCAL_RANK", strconv.Itoa(i))
		if ids := framework.Devices(role, m, i); len(ids) > 0 {
			framework.SetProc(l, i, "JAX_LOCAL_DEVICE_IDS", list(ids))
		}
	}
	if role.Resources.GPUs == 0 && len(m.Devices) == 0 {
		// The default of JAX since 0.5; releases before it have none, and fail
		// in the first collective between processors.
		framework.SetDefault(l, "JAX_CPU_COLLECTIVES_IMPLEMENTATION", "gloo")
	}
	return nil
}

func list(ids []int) string {
	text := make([]string, len(ids))
	for i, id := range ids {
		text[i] = strconv.Itoa(id)
	}
	return strings.Join(text, ",")
}
