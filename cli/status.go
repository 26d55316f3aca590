package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (e *Env) statusCommand() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use: "status [JOB]", GroupID: "watch", Short: "show a job, its tasks and its verdict",
		Long: "Show a job, its tasks and, once it has ended, which task failed first and how.\n" +
			"What is shown comes from the job's journal, so it also works while nothing of muster runs.\n" + jobWord + ".",
		Example:           "  muster status\n  muster status m-7k3f -o json",
		Args:              count(0, 1, "JOB"),
		ValidArgsFunction: e.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			j, err := e.one(cmd.Context(), args)
			if err != nil {
				return err
			}
			r, err := e.inspect(cmd.Context(), j)
			if err != nil {
				return err
			}
			switch {
			case out.data():
				return out.write(e.Stdout, r)
			case out.format == "name":
				_, err := fmt.Fprintln(e.Stdout, r.ID)
				return err
			}
			if len(args) == 0 {
				fmt.Fprintf(e.Stderr, "muster: newest job: %s\n", j.ID)
			}
			return r.text(e, e.Stdout, out.format == "wide")
		},
	}
	e.atFlags(cmd)
	out.flag(cmd, "text", "wide", "json", "yaml", "name")
	return cmd
}
