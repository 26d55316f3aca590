package cli

import (
	"github.com/spf13/cobra"

	"github.com/muster-project/muster/backend/yarn"
)

// atFlags adds where a verb looks for jobs, and whose they are.
func (e *Env) atFlags(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&e.at, "on", "", "look at BACKEND[:SITE] itself, also for jobs that were submitted elsewhere")
	named(s.Lookup("on"), "BACKEND[:SITE]")
	_ = cmd.RegisterFlagCompletionFunc("on", cobra.FixedCompletions(backendNames(), cobra.ShellCompDirectiveNoFileComp))
	e.whoFlags(cmd)
}

// whoFlags adds who we are to a cluster.
func (e *Env) whoFlags(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&e.user, "user", "", "whose job it is; with Kerberos: for whom your principal acts as a proxy (default whom your ticket is for, else HADOOP_USER_NAME, else you)")
	s.StringVar(&e.keytab, "keytab", "", "keys to log in to a cluster by, in place of a ticket cache")
	s.StringVar(&e.principal, "principal", "", "whose keys in the keytab, or whose ticket")
	named(s.Lookup("user"), "NAME")
	named(s.Lookup("keytab"), "FILE")
	named(s.Lookup("principal"), "NAME[@REALM]")
}

// who is who we are to a cluster.
func (e *Env) who() yarn.Who {
	w := yarn.Who{User: e.user, Account: e.account(), Principal: e.principal, Getenv: e.Getenv}
	if e.keytab != "" {
		w.Keytab = e.abs(e.keytab)
	}
	return w
}

// owner is whose jobs a backend handles, where it knows better than the machine.
type owner interface{ Owner() string }

func (e *Env) ownerOf(b any) string {
	if o, ok := b.(owner); ok {
		return o.Owner()
	}
	return e.account()
}
