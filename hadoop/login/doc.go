// Package login says who calls a cluster: the cluster's configuration and what
// the caller has (a ticket cache, a keytab, tokens, a name) go in; how each of
// the cluster's services is called comes out.
package login
