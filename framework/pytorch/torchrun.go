package pytorch

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// isTorchrun says that a command starts torchrun, by name or as a module.
func isTorchrun(c spec.Command) bool { return torchrunArgs(c) != nil }

// torchrunArgs returns what stands behind torchrun on a command line, not nil
// if torchrun is there at all.
func torchrunArgs(c spec.Command) []string {
	line := c.Argv
	if c.Shell != "" {
		line = words(c.Shell)
	}
	first := true // a program's name may stand here
	for i, w := range line {
		switch {
		case w == ";":
			first = true
		case !first || strings.Contains(w, "=") || slices.Contains([]string{"exec", "env", "time", "nohup"}, w):
			// An argument, or something that stands before a program.
		case path.Base(w) == "torchrun":
			return append([]string{}, line[i+1:]...)
		case strings.HasPrefix(path.Base(w), "python"):
			if args := moduleArgs(line[i+1:]); args != nil {
				return args
			}
			first = false
		default:
			first = false
		}
	}
	return nil
}

// moduleArgs finds "-m torch.distributed.run" among Python's own options.
func moduleArgs(args []string) []string {
	for i, a := range args {
		if a == "-m" && i+1 < len(args) && slices.Contains([]string{"torch.distributed.run", "torch.distributed.launch"}, args[i+1]) {
			return append([]string{}, args[i+2:]...)
		}
		if !strings.HasPrefix(a, "-") {
			return nil // the program; what follows is its own
		}
	}
	return nil
}

// countProcs takes the number of processes from torchrun's line where the job
// file has none: ranks are counted by it, and the line wins over our variables.
func countProcs(d *plan.Draft, r *plan.Role) {
	args := torchrunArgs(r.Command)
	for i, a := range args {
		option, value, joined := strings.Cut(strings.ReplaceAll(a, "_", "-"), "=")
		if option != "--nproc-per-node" {
			continue
		}
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		n, err := strconv.Atoi(value)
		switch {
		case err != nil || n < 1: // "gpu", "auto": torchrun's to find out
		case d.Open(r.Name, "procs"):
			r.Procs = n
		case n != r.Procs:
			d.Report(plan.Finding{
				Path:    "roles." + r.Name + ".procs",
				Problem: fmt.Sprintf("%d here, but the command says %s %d, which wins: ranks in the roster will be wrong", r.Procs, option, n),
				Warning: true,
			})
		}
		return
	}
}
