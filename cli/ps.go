package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

func (e *Env) psCommand() *cobra.Command {
	var out output
	var all, everybody bool
	cmd := &cobra.Command{
		Use: "ps", GroupID: "watch", Short: "list jobs",
		Long: "List the jobs that have not ended, newest first; with -a also those that have. With --all-users also\n" +
			"those of others on this machine's own server (muster serve --shared) that you may see.",
		Example: "  muster ps\n  muster ps -a -o name\n  muster ps -o json",
		Args:    count(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			jobs, listing := e.jobs(cmd.Context())
			if everybody {
				others, err := e.servedJobs(cmd.Context())
				jobs = append(jobs, others...)
				slices.SortFunc(jobs, newestFirst)
				listing = errors.Join(listing, err)
			}
			if jobs == nil && listing != nil {
				return listing
			}
			reports := []*report{}
			for _, j := range jobs {
				r, err := e.inspect(cmd.Context(), j)
				if err != nil {
					listing = errors.Join(listing, err)
					continue
				}
				if all || r.Ended.IsZero() {
					reports = append(reports, r)
				}
			}
			if err := e.list(&out, reports, all, everybody, len(jobs)); err != nil {
				return err
			}
			return listing
		},
	}
	e.atFlags(cmd)
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also jobs that have ended")
	cmd.Flags().BoolVar(&everybody, "all-users", false, "also jobs of others that you may see")
	out.flag(cmd, "table", "wide", "json", "yaml", "name")
	return cmd
}

func (e *Env) list(out *output, reports []*report, all, everybody bool, total int) error {
	switch {
	case out.data():
		return out.write(e.Stdout, reports)
	case out.format == "name":
		for _, r := range reports {
			fmt.Fprintln(e.Stdout, r.ID)
		}
		return nil
	case len(reports) == 0:
		if !all && total > 0 {
			fmt.Fprintf(e.Stderr, "muster: no job is running; %s ended: muster ps -a\n", plural(total, "job"))
		} else {
			fmt.Fprintln(e.Stderr, "muster: no jobs")
		}
		return nil
	}
	head := []string{"JOB", "NAME", "STATE", "TASKS", "STATUS", "ELAPSED", "SUBMITTED"}
	if everybody && out.format != "wide" {
		head = append(head, "USER")
	}
	if out.format == "wide" {
		head = append(head, "FRAMEWORK", "BACKEND", "USER", "EPOCH", "TERM", "PROGRESS", "ADDRESS", "WHY")
	}
	var rows [][]string
	for _, r := range reports {
		status, why := "-", ""
		if r.Outcome != nil {
			status, why = strconv.Itoa(r.Outcome.Status), r.Outcome.Text
		}
		if len(r.Waiting) > 0 {
			why = r.Waiting[0]
		}
		row := []string{r.ID, dash(cut(r.Name, 30)), r.State, r.running(), status, span(r.elapsed()), r.Submitted.Local().Format(time.DateTime)}
		if everybody && out.format != "wide" {
			row = append(row, r.User)
		}
		if out.format == "wide" {
			row = append(row, r.Framework, r.Backend, r.User, strconv.Itoa(r.Epoch), strconv.FormatInt(r.Term, 10), dash(r.percent()), dash(r.firstAddress()), dash(why))
		}
		rows = append(rows, row)
	}
	return table(e.Stdout, head, rows)
}
