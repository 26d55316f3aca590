package horovod

import "github.com/muster-project/muster/framework"

var _ framework.Describer = Framework{}

// Describe is what "muster frameworks" shows.
func (Framework) Describe() framework.Description {
	return framework.Description{
		About: "Horovod over gloo: HOROVOD_RANK, HOROVOD_SIZE and their kin, and the store where ranks meet",
		Roles: []framework.RoleDescription{
			{Name: "chief", Does: "rank 0; its end is the job's end"},
			{Name: "worker", Does: "a rank for each of procs"},
		},
		Launchers: []string{"horovodrun"},
	}
}
