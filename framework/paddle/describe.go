package paddle

import "github.com/muster-project/muster/framework"

var _ framework.Describer = Framework{}

// Describe is what "muster frameworks" shows.
func (Framework) Describe() framework.Description {
	return framework.Description{
		About: "paddle.distributed, collective or with parameter servers: the PADDLE_ variables",
		Roles: []framework.RoleDescription{
			{Name: "worker", Does: "a trainer for each of procs; trainer is another word for it"},
			{Name: "ps", Does: "holds parameters: the job is then in parameter server mode; server is another word for it"},
		},
		Launchers: []string{"python -m paddle.distributed.launch", "fleetrun"},
	}
}
