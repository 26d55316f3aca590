package cli

import (
	"github.com/spf13/cobra"

	"github.com/muster-project/muster/spec"
)

func (e *Env) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "completion SHELL", GroupID: "site", Short: "print the completion script of a shell: bash, zsh, fish",
		Example:   "  muster completion bash > ~/.local/share/bash-completion/completions/muster",
		ValidArgs: []string{"bash", "zsh", "fish"},
		Args:      count(1, 1, "SHELL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(e.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(e.Stdout)
			case "fish":
				return root.GenFishCompletion(e.Stdout, true)
			}
			f := faultf(exitUsage, "%s: no completion for this shell", args[0])
			if near := spec.Suggest(args[0], cmd.ValidArgs); near != "" {
				return f.hint("did you mean %s?", near)
			}
			return f.hint("bash, zsh and fish are known")
		},
	}
}

// completeJobs offers job ids, newest first, with their names.
func (e *Env) completeJobs(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	jobs, _ := e.jobs(cmd.Context()) // a completion never complains
	var out []string
	for _, j := range jobs {
		out = append(out, j.ID+"\t"+j.Plan.Name)
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeJobFiles offers YAML files.
func completeJobFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}
