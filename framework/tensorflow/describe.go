package tensorflow

import "github.com/muster-project/muster/framework"

var _ framework.Describer = Framework{}

// Describe is what "muster frameworks" shows.
func (Framework) Describe() framework.Description {
	return framework.Description{
		About: "tf.distribute: TF_CONFIG for parameter servers and for several workers",
		Roles: []framework.RoleDescription{
			{Name: "chief", Does: "leads the others; its end is the job's end"},
			{Name: "worker", Does: "computes"},
			{Name: "ps", Does: "holds variables; ended with the job"},
			{Name: "evaluator", Does: "tests checkpoints beside the training"},
		},
	}
}
