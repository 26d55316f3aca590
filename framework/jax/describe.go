package jax

import "github.com/muster-project/muster/framework"

var _ framework.Describer = Framework{}

// Describe is what "muster frameworks" shows.
func (Framework) Describe() framework.Description {
	return framework.Description{
		About: "jax.distributed.initialize() without an argument: coordinator, number of processes, own number, devices",
		Roles: []framework.RoleDescription{
			{Name: "chief", Does: "process 0, where the coordinator listens; its end is the job's end"},
			{Name: "worker", Does: "a JAX process for each of procs"},
		},
	}
}
