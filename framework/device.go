package framework

import "github.com/muster-project/muster/plan"

// Devices are the devices of the i-th process of a task, counted from 0 among
// those that the task sees: they are shared out in order, as evenly as they
// go. None where the task has none.
func Devices(role *plan.Role, m *plan.Member, i int) []int {
	n := len(m.Devices) // the grant may hold more than was asked for
	if n == 0 {
		n = role.Resources.GPUs
	}
	var out []int
	for d := i * n / m.Procs; d < (i+1)*n/m.Procs; d++ {
		out = append(out, d)
	}
	return out
}
