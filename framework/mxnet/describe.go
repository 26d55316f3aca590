package mxnet

import "github.com/muster-project/muster/framework"

var _ framework.Describer = Framework{}

// Describe is what "muster frameworks" shows.
func (Framework) Describe() framework.Description {
	return framework.Description{
		About: "kvstore dist_sync and dist_async: the DMLC_ variables of scheduler, servers and workers",
		Roles: []framework.RoleDescription{
			{Name: "worker", Does: "computes; kv.create('dist_sync') is its way to the others"},
			{Name: "server", Does: "holds the weights; ps is another word for it", Default: "1 task, added when missing, runs the command of worker"},
			{Name: "scheduler", Does: "tells them where the others are", Default: "1 task, added when missing, runs the command of worker"},
		},
	}
}
