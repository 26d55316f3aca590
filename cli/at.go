package cli

import (
	"github.com/spf13/cobra"
)

// atFlags adds where a verb looks for jobs, and whose they are.
func (e *Env) atFlags(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&e.at, "on", "", "look at BACKEND[:SITE] itself, also for jobs that were submitted elsewhere")
	named(s.Lookup("on"), "BACKEND[:SITE]")
	_ = cmd.RegisterFlagCompletionFunc("on", cobra.FixedCompletions(backendNames(), cobra.ShellCompDirectiveNoFileComp))
	e.userFlag(cmd)
}

// userFlag adds whose name is given to a cluster that believes what it is told.
func (e *Env) userFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&e.user, "user", "", "whose job it is, on a cluster without Kerberos (default HADOOP_USER_NAME, else you)")
	named(cmd.Flags().Lookup("user"), "NAME")
}

// clusterUser is who we are to a cluster that believes what it is told.
func (e *Env) clusterUser() string {
	switch {
	case e.user != "":
		return e.user
	case e.Getenv("HADOOP_USER_NAME") != "":
		return e.Getenv("HADOOP_USER_NAME")
	}
	return e.account()
}
