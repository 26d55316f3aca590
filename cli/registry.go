package cli

import (
	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/framework/horovod"
	"github.com/muster-project/muster/framework/jax"
	"github.com/muster-project/muster/framework/mpi"
	"github.com/muster-project/muster/framework/mxnet"
	"github.com/muster-project/muster/framework/paddle"
	"github.com/muster-project/muster/framework/plain"
	"github.com/muster-project/muster/framework/pytorch"
	"github.com/muster-project/muster/framework/ray"
	"github.com/muster-project/muster/framework/tensorflow"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// frameworks are all that muster knows; the first is the default.
var frameworks = []framework.Framework{
	plain.Framework{},
	pytorch.Framework{},
	tensorflow.Framework{},
	horovod.Framework{},
	ray.Framework{},
	jax.Framework{},
	mpi.Framework{},
	mxnet.Framework{},
	paddle.Framework{},
}

// backends are the names that --on takes.
var backends = []string{"local", "yarn"}

func frameworkNames() []string {
	var names []string
	for _, f := range frameworks {
		names = append(names, f.Name())
	}
	return names
}

func backendNames() []string { return backends }

// frameworkOf finds a framework by the word in the job file; nil if there is none.
func frameworkOf(name string) framework.Framework {
	for _, f := range frameworks {
		if f.Name() == name || name == "" {
			return f
		}
	}
	return nil
}

func frameworkHint(name string) string {
	if near := spec.Suggest(name, frameworkNames()); near != "" {
		return "did you mean " + near + "?"
	}
	return "muster frameworks lists them"
}

// readyFor is the rule by which a job's framework starts its tasks, nil if it
// has none.
func readyFor(p *plan.Plan) func(*plan.Plan, *plan.Roster, plan.TaskID, func(plan.TaskID) bool) (bool, string) {
	if r, ok := frameworkOf(p.Framework).(framework.Readier); ok {
		return r.Ready
	}
	return nil
}
