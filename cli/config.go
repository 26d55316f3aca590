package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/muster-project/muster/spec"
)

func (e *Env) configCommand() *cobra.Command {
	var out output
	var f jobFlags
	var schema bool
	cmd := &cobra.Command{
		Use: "config [FILE]", GroupID: "site", Short: "show each value of a job and where it came from",
		Long: "Show each value that holds and where it was written: built in, the site's file, your own file,\n" +
			"the job file, flags; later ones win. Without FILE: what every job of yours starts from.",
		Example:           "  muster config\n  muster config job.yaml --set roles.worker.memory=8GiB",
		ValidArgsFunction: completeJobFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			if schema {
				_, err := e.Stdout.Write(spec.Schema())
				return err
			}
			values, limits, err := e.configValues(cmd, &f, args)
			if err != nil {
				return err
			}
			return e.printConfig(&out, values, limits)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON schema of job files, for editors")
	out.flag(cmd, "table", "json", "yaml")
	return cmd
}

func (e *Env) configValues(cmd *cobra.Command, f *jobFlags, args []string) ([]spec.Value, []spec.Limit, error) {
	if len(args) > 0 {
		a, err := e.resolve(cmd, f, args)
		if err != nil {
			return nil, nil, err
		}
		return a.resolved.Values, a.resolved.Limits, nil
	}
	stack := &spec.Stack{}
	if err := errors.Join(e.settingsFiles(stack), f.apply(e, cmd.Flags(), stack)); err != nil {
		return nil, nil, err
	}
	const nothing = "no command" // a job needs one; this is none
	stack.SetValue(nothing, "command", []string{"true"})
	resolved, err := stack.Resolve(e.account())
	if err != nil {
		return nil, nil, e.specFault(err)
	}
	return slices.DeleteFunc(resolved.Values, func(v spec.Value) bool { return v.Origin == nothing }), resolved.Limits, nil
}

func (e *Env) printConfig(out *output, values []spec.Value, limits []spec.Limit) error {
	if out.data() {
		return out.write(e.Stdout, struct {
			Values []spec.Value `json:"values"`
			Limits []spec.Limit `json:"limits,omitempty"`
		}{values, limits})
	}
	var rows [][]string
	for _, v := range values {
		rows = append(rows, []string{v.Path, cut(v.Value, 60), v.Origin})
	}
	if err := table(e.Stdout, []string{"KEY", "VALUE", "FROM"}, rows); err != nil {
		return err
	}
	for _, l := range limits {
		fmt.Fprintf(e.Stdout, "limits of %s: %s\n", l.Whose, l.Origin)
	}
	return nil
}
