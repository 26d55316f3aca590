package plain

import "github.com/muster-project/muster/framework"

var _ framework.Describer = Framework{}

// Describe is what "muster frameworks" shows.
func (Framework) Describe() framework.Description {
	return framework.Description{About: "any program; tasks find each other by MUSTER_ROSTER and MUSTER_RANK"}
}
