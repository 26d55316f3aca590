package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/muster-project/muster/event"
)

func (e *Env) eventsCommand() *cobra.Command {
	var out output
	var follow bool
	cmd := &cobra.Command{
		Use: "events [JOB]", GroupID: "watch", Short: "show what happened to a job",
		Long: "Show a job's journal: every fact with its time. It also works while nothing of muster runs.\n" +
			"With -o json each fact is one line, as in the journal.\n" + jobWord + ".",
		Example:           "  muster events m-7k3f\n  muster events -f -o json",
		Args:              count(0, 1, "JOB"),
		ValidArgsFunction: e.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			j, err := e.one(cmd.Context(), args)
			if err != nil {
				return err
			}
			ctx, stop := e.until(cmd.Context())
			defer stop()
			for ev, err := range e.journal(ctx, j, follow) {
				if err != nil {
					return orInterruption(ctx, err)
				}
				if err := printEvent(e.Stdout, &out, ev); err != nil {
					return err
				}
			}
			return context.Cause(ctx)
		},
	}
	e.atFlags(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the job has ended")
	out.flag(cmd, "text", "json")
	return cmd
}

func printEvent(w io.Writer, out *output, ev event.Event) error {
	if out.format == "json" {
		line, err := event.Marshal(ev)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", line)
		return err
	}
	_, err := fmt.Fprintf(w, "%s  %-18s  %s\n", ev.At.Local().Format("2006-01-02 15:04:05.000"), ev.Body.Type(), event.Text(ev))
	return err
}

// orInterruption prefers the signal that ended a context to what it caused.
func orInterruption(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
