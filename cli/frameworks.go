package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/spec"
)

// frameworkReport is a framework as "muster frameworks" shows it. Its keys are
// part of muster's interface.
type frameworkReport struct {
	Name      string       `json:"name"`
	About     string       `json:"about"`
	Roles     []roleReport `json:"roles,omitempty"`
	Launchers []string     `json:"launchers,omitempty"`
}

type roleReport struct {
	Name    string `json:"name"`
	Does    string `json:"does"`
	Default string `json:"default,omitempty"`
}

func describe(f framework.Framework) frameworkReport {
	r := frameworkReport{Name: f.Name()}
	d, ok := f.(framework.Describer)
	if !ok {
		return r
	}
	about := d.Describe()
	r.About, r.Launchers = about.About, about.Launchers
	for _, role := range about.Roles {
		r.Roles = append(r.Roles, roleReport(role))
	}
	return r
}

func (e *Env) frameworksCommand() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use: "frameworks [NAME]", GroupID: "site", Short: "list the frameworks that a job can name, or show one",
		Long: "List the frameworks that framework: in a job file or --framework can name. With NAME: the roles whose\n" +
			"names it knows, what they are where a job says nothing, and the launchers whose lines work as they are.",
		Example: "  muster frameworks\n  muster frameworks pytorch\n  muster frameworks -o json",
		Args:    count(0, 1, "NAME"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return frameworkCompletions(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return e.printFramework(args[0], &out)
			}
			return e.printFrameworks(&out)
		},
	}
	out.flag(cmd, "table", "json", "yaml", "name")
	return cmd
}

// frameworkCompletions are the names with what they are, as shells show them.
func frameworkCompletions() []string {
	var words []string
	for _, f := range frameworks {
		words = append(words, f.Name()+"\t"+describe(f).About)
	}
	return words
}

func (e *Env) printFrameworks(out *output) error {
	var list []frameworkReport
	var rows [][]string
	for _, f := range frameworks {
		r := describe(f)
		list = append(list, r)
		rows = append(rows, []string{r.Name, dash(strings.Join(roleNames(r), ", ")), dash(strings.Join(r.Launchers, ", ")), r.About})
	}
	switch {
	case out.data():
		return out.write(e.Stdout, list)
	case out.format == "name":
		for _, r := range list {
			fmt.Fprintln(e.Stdout, r.Name)
		}
		return nil
	}
	return table(e.Stdout, []string{"FRAMEWORK", "ROLES", "LAUNCHERS", "WHAT TASKS GET"}, rows)
}

func roleNames(r frameworkReport) []string {
	var names []string
	for _, role := range r.Roles {
		names = append(names, role.Name)
	}
	return names
}

func (e *Env) printFramework(name string, out *output) error {
	for _, f := range frameworks {
		if f.Name() != name {
			continue
		}
		r := describe(f)
		switch {
		case out.data():
			return out.write(e.Stdout, r)
		case out.format == "name":
			fmt.Fprintln(e.Stdout, r.Name)
			return nil
		}
		return r.text(e.Stdout)
	}
	f := faultf(exitUsage, "%s: no such framework", name)
	if near := spec.Suggest(name, frameworkNames()); near != "" {
		return f.hint("did you mean %s?", near)
	}
	return f.hint("there are: %s", strings.Join(frameworkNames(), ", "))
}

func (r frameworkReport) text(w io.Writer) error {
	fmt.Fprintf(w, "framework  %s\nabout      %s\n", r.Name, r.About)
	if len(r.Launchers) > 0 {
		fmt.Fprintf(w, "launchers  %s: their lines work as they are\n", strings.Join(r.Launchers, ", "))
	}
	if len(r.Roles) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	var rows [][]string
	for _, role := range r.Roles {
		rows = append(rows, []string{role.Name, role.Does, dash(role.Default)})
	}
	return table(w, []string{"ROLE", "WHAT ITS TASKS ARE", "WHERE THE JOB SAYS NOTHING"}, rows)
}
