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
			"It is exactly what submit hands over.",
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
	e.userFlag(cmd)
	out.flag(cmd, "text", "json", "yaml")
	return cmd
}

func (e *Env) printPlan(p *plan.Plan, out *output) error {
	if out.data() {
		return out.write(e.Stdout, p)
	}
	sample, err := sampleOf(p)
	if err != nil {
		return fault(exitInternal, fmt.Errorf("plan: %w", err))
	}
	return plan.Format(e.Stdout, p, sample)
}

// sampleOf shows what the first task would see under a roster that is made up.
func sampleOf(p *plan.Plan) (*plan.Sample, error) {
	roster := plan.Example(p)
	if len(roster.Members) == 0 {
		return nil, nil
	}
	first := roster.Members[0].Task
	launch, err := frameworkOf(p.Framework).Launch(p, roster, first)
	if err != nil {
		return nil, err
	}
	return &plan.Sample{Task: first, Launch: launch}, nil
}
