// Package kerberos proves who calls a Hadoop cluster: a keytab or a ticket cache
// goes in, GSSAPI exchanges and protection for package rpc, and SPNEGO for HTTP,
// come out.
package kerberos
