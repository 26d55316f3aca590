package ray

import "github.com/muster-project/muster/framework"

var _ framework.Describer = Framework{}

// Describe is what "muster frameworks" shows.
func (Framework) Describe() framework.Description {
	return framework.Description{
		About: "a Ray cluster as long as the job: ray.init() in the command finds it by RAY_ADDRESS",
		Roles: []framework.RoleDescription{
			{Name: Head, Does: "Ray's control store, dashboard and the command as driver; its end is the job's end",
				Default: "1 task, taken from the first role when missing"},
			{Name: "worker", Does: "a node of Ray; runs no command of its own"},
		},
	}
}
