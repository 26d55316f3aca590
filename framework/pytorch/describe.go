package pytorch

import "github.com/muster-project/muster/framework"

var _ framework.Describer = Framework{}

// Describe is what "muster frameworks" shows.
func (Framework) Describe() framework.Description {
	return framework.Description{
		About: "torch.distributed: MASTER_ADDR, RANK, WORLD_SIZE and their kin, with or without a launcher",
		Roles: []framework.RoleDescription{
			{Name: "master", Does: "rank 0; its end is the job's end"},
			{Name: "worker", Does: "a rank for each process", Default: "the role of a job that names none"},
			{Name: "ps", Does: "a parameter server of torch.distributed.rpc: a rank like the others"},
		},
		Launchers: []string{"torchrun", "accelerate launch", "deepspeed"},
	}
}
