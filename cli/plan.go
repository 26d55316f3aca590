package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-project/muster/plan"
)

func (e *Env) planCommand() *cobra.Command {
	var out output
	var f jobFlags
	cmd := &cobra.Command{
		Use: "plan FILE | -- COMMAND…", GroupID: "start", Short: "show what would run, and where each value leads",
		Long: "Show the plan of a job: every default filled, ranks, resources, start order and policies decided.\n" +
			"It is exactly what submit hands over. Of each role it shows the variables of the first task, and what\n" +
			"the second sees otherwise; -o wide shows every task.",
		Example:           "  muster plan job.yaml\n  muster plan job.yaml -N 4 -o json",
		ValidArgsFunction: completeJobFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := e.until(cmd.Context())
			defer stop()
			a, err := e.assemble(ctx, cmd, &f, args)
			if err != nil {
				return orInterruption(ctx, err)
			}
			defer a.close()
			a.tellNotes(e.Stderr)
			return e.printPlan(a.plan, &out)
		},
	}
	f.add(cmd)
	e.whoFlags(cmd)
	out.flag(cmd, "text", "wide", "json", "yaml")
	return cmd
}

func (e *Env) printPlan(p *plan.Plan, out *output) error {
	if out.data() {
		return out.write(e.Stdout, p)
	}
	each := 2
	if out.format == "wide" {
		each = len(p.Tasks())
	}
	samples, err := samplesOf(p, each)
	if err != nil {
		return fault(exitInternal, fmt.Errorf("plan: %w", err))
	}
	return plan.Format(e.Stdout, p, samples)
}

// samplesOf shows what the first tasks of each role would see under a roster
// that is made up.
func samplesOf(p *plan.Plan, each int) ([]plan.Sample, error) {
	roster := plan.Example(p)
	f := frameworkOf(p.Framework)
	var out []plan.Sample
	for _, r := range p.Roles {
		for i := range min(each, r.Instances.Max) {
			id := plan.TaskID{Role: r.Name, Index: i}
			launch, err := f.Launch(p, roster, id)
			if err != nil {
				return nil, err
			}
			out = append(out, plan.Sample{Task: id, Launch: launch})
		}
	}
	return out, nil
}
