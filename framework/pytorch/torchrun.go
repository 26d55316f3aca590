package pytorch

import (
	"fmt"
	"strconv"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// isTorchrun says that a command starts torchrun, by name or as a module.
func isTorchrun(c spec.Command) bool { return torchrunArgs(c) != nil }

// torchrunArgs returns what stands behind torchrun on a command line, not nil
// if torchrun is there at all.
func torchrunArgs(c spec.Command) []string {
	return framework.LauncherArgs(c, []string{"torchrun"}, []string{"torch.distributed.run", "torch.distributed.launch"})
}

// countProcs takes the number of processes from torchrun's line where the job
// file has none: ranks are counted by it, and the line wins over our variables.
func countProcs(d *plan.Draft, r *plan.Role) {
	const option = "--nproc-per-node"
	value := framework.LauncherOption(torchrunArgs(r.Command), option)
	n, err := strconv.Atoi(value)
	switch {
	case err != nil || n < 1: // none; or "gpu", "auto": torchrun's to find out
	case d.Open(r.Name, "procs"):
		r.Procs = n
	case n != r.Procs:
		d.Report(plan.Finding{
			Path:    "roles." + r.Name + ".procs",
			Problem: fmt.Sprintf("%d here, but the command says %s %d, which wins: ranks in the roster will be wrong", r.Procs, option, n),
			Warning: true,
		})
	}
}
