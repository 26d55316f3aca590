package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-project/muster/backend"
)

func (e *Env) explainCommand() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use: "explain [JOB]", GroupID: "watch", Short: "say why a job waits, and what can be done",
		Long: "Say every reason why a job waits, the most important first, with its numbers and the next step.\n" +
			"On a cluster the resource manager is asked now.\n" + jobWord + ".",
		Example:           "  muster explain\n  muster explain m-7k3f -o json",
		Args:              count(0, 1, "JOB"),
		ValidArgsFunction: e.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := e.until(cmd.Context())
			defer stop()
			j, err := e.one(ctx, args)
			if err != nil {
				return err
			}
			return e.explain(ctx, j, &out)
		},
	}
	e.atFlags(cmd)
	out.flag(cmd, "text", "json", "yaml")
	return cmd
}

// explanation is the answer of explain; its keys are part of muster's interface.
type explanation struct {
	ID      string           `json:"id"`
	State   string           `json:"state"`
	Waits   bool             `json:"waits"`
	Reasons []backend.Reason `json:"reasons"`
}

func (e *Env) explain(ctx context.Context, j job, out *output) error {
	r, err := e.inspect(ctx, j)
	if err != nil {
		return err
	}
	x := explanation{ID: j.ID, State: r.State, Reasons: []backend.Reason{}}
	if r.Ended.IsZero() {
		if x.Reasons, err = e.reasons(ctx, j, r); err != nil {
			return err
		}
	}
	x.Waits = len(x.Reasons) > 0
	if out.data() {
		return out.write(e.Stdout, x)
	}
	if !x.Waits {
		fmt.Fprintf(e.Stdout, "%s: does not wait: %s\n", j.ID, r.State)
		return nil
	}
	fmt.Fprintf(e.Stdout, "%s: %s\n", j.ID, r.State)
	for n, reason := range x.Reasons {
		fmt.Fprintf(e.Stdout, "%d. %s\n", n+1, reason.Text)
		if reason.Next != "" {
			fmt.Fprintf(e.Stdout, "   hint: %s\n", reason.Next)
		}
	}
	return nil
}

// gathering says that a cluster sees nothing in a job's way. Then its coordinator
// may know more: that no node is left which its placement allows, or that it was
// preempted and lets others be first, which a cluster takes for running.
func gathering(reasons []backend.Reason) bool {
	return len(reasons) == 0 || len(reasons) == 1 && reasons[0].Code == "starting"
}

// reasons asks the cluster; on this machine the journal has them.
func (e *Env) reasons(ctx context.Context, j job, r *report) ([]backend.Reason, error) {
	out := []backend.Reason{}
	if j.remote != nil {
		b, err := e.connect(j)
		if err != nil {
			return nil, err
		}
		if x, ok := b.(backend.Explainer); ok {
			asked, err := x.Explain(ctx, j.remote.Ref)
			if err != nil || !gathering(asked) || len(r.Waiting) == 0 {
				return append(out, asked...), refused(err)
			}
		}
	}
	for _, text := range r.Waiting {
		out = append(out, backend.Reason{Code: "waiting", Text: text})
	}
	for _, t := range r.Tasks {
		if t.WaitsFor != "" {
			out = append(out, backend.Reason{Code: "order", Text: fmt.Sprintf("%s waits for %s", t.Task, t.WaitsFor)})
		}
	}
	return out, nil
}
