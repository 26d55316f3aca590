package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-project/muster/event"
)

func (e *Env) waitCommand() *cobra.Command {
	var out output
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "wait JOB…", GroupID: "watch", Short: "wait for jobs and end with their status",
		Long: "Wait until the jobs have ended. The exit status is that of the first job of the command line\n" +
			"that did not succeed, as run would give it; 124 if --timeout is over first, 130 if interrupted.\n" +
			"The jobs go on in both cases.",
		Example:           "  id=$(muster submit -o name job.yaml) && muster wait $id",
		Args:              count(1, -1, "JOB"),
		ValidArgsFunction: e.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			jobs, err := e.find(cmd.Context(), args)
			if err != nil {
				return err
			}
			ctx, stop := e.until(cmd.Context())
			defer stop()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeoutCause(ctx, timeout, errWaitTimeout)
				defer cancel()
			}
			return e.wait(ctx, &out, jobs)
		},
	}
	e.atFlags(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after this long")
	out.flag(cmd, "text", "json", "yaml")
	return cmd
}

var errWaitTimeout = faultf(exitTimeout, "wait: the time is over; the jobs go on")

// ending is how one job ended, for wait -o json and run -o json.
type ending struct {
	ID      string        `json:"id"`
	Name    string        `json:"name"`
	Outcome event.Outcome `json:"outcome"`
}

func (e *Env) wait(ctx context.Context, out *output, jobs []job) error {
	ends := []ending{}
	status := 0
	var problems []error
	for _, j := range jobs {
		o, err := e.outcome(ctx, j)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			problems = append(problems, err)
			continue
		}
		ends = append(ends, ending{j.ID, j.Plan.Name, o})
		if status == 0 {
			status = o.Status
		}
		if !out.data() {
			e.printEnd(j, o)
		}
	}
	if out.data() {
		var v any = ends
		if len(jobs) == 1 && len(ends) == 1 {
			v = ends[0]
		}
		if err := out.write(e.Stdout, v); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	if status != 0 {
		return verdictStatus(status)
	}
	return nil
}

// printEnd is the last word on a job, of run and wait.
func (e *Env) printEnd(j job, o event.Outcome) {
	lines := []string{"succeeded"}
	if o.State != event.Succeeded {
		lines = verdictLines(o)
	}
	fmt.Fprintf(e.Stderr, "muster: %s %s\n", j.ID, lines[0])
	for _, l := range lines[1:] {
		fmt.Fprintln(e.Stderr, l)
	}
	for _, w := range o.Warnings {
		fmt.Fprintf(e.Stderr, "warning: %s\n", w)
	}
}
