package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func (e *Env) requeueCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "requeue JOB…", GroupID: "steer", Short: "have jobs give their slots back and go on in others",
		Long: "Requeue jobs: a job keeps its id and its journal, gives back everything that it holds, and waits again in\n" +
			"its old place of the order. Tasks find the time that they have left in $MUSTER_DEADLINE_FILE; those with\n" +
			"on_preempt get its signal and may save, the others get the stop signal. None of it costs a restart.",
		Example:           "  muster requeue m-7k3f\n  muster requeue digits --reason 'node n7 goes down'",
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
				switch {
				case err != nil:
				case !r.Ended.IsZero():
					err = faultf(exitRefused, "%s: has ended: %s", j.ID, r.State)
				case r.Epoch == 0:
					fmt.Fprintf(e.Stdout, "%s: holds nothing yet: %s\n", j.ID, r.State)
					continue
				default:
					err = e.sendRequeue(cmd.Context(), j, reason)
				}
				if err != nil {
					problems = append(problems, err)
					continue
				}
				fmt.Fprintf(e.Stdout, "%s: is told to give its slots back and to go on in others\n", j.ID)
			}
			return errors.Join(problems...)
		},
	}
	e.atFlags(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "what the tasks and the journal are told")
	return cmd
}
