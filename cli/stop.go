package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func (e *Env) stopCommand() *cobra.Command {
	var now bool
	cmd := &cobra.Command{
		Use: "stop JOB…", GroupID: "steer", Short: "stop jobs: signal, grace, kill",
		Long: "Stop jobs. Tasks get the stop signal, stop_grace to end, then the kill; with --now the kill at once.\n" +
			"Stopping what has ended is fine.",
		Example:           "  muster stop m-7k3f\n  muster stop --now digits",
		Args:              count(1, -1, "JOB"),
		ValidArgsFunction: e.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			jobs, err := e.find(cmd.Context(), args)
			if err != nil {
				return err
			}
			var problems []error
			for _, j := range jobs {
				r, err := e.inspect(cmd.Context(), j)
				if err == nil && !r.Ended.IsZero() {
					fmt.Fprintf(e.Stdout, "%s: had ended already: %s\n", j.ID, r.State)
					continue
				}
				if err := e.sendStop(cmd.Context(), j, now); err != nil {
					problems = append(problems, err)
					continue
				}
				fmt.Fprintf(e.Stdout, "%s: is told to stop\n", j.ID)
			}
			return errors.Join(problems...)
		},
	}
	e.atFlags(cmd)
	cmd.Flags().BoolVar(&now, "now", false, "kill at once, without the stop signal")
	return cmd
}
