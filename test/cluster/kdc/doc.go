// Package kdc runs a private MIT Kerberos for tests: a directory comes in; a
// realm with principals, their keytabs, ticket caches, and a server on the
// loopback interface come out.
//
//	k, err := kdc.New(ctx, dir, 0)     // realm and database, on a free port
//	err = k.Add(ctx, "alice", "nn/localhost")
//	err = k.Start(ctx)              // ends with this process at the latest
//	err = k.Ticket(ctx, "alice", cache, time.Minute)
//	… KRB5_CONFIG=k.Config(), k.Keytab("alice")
//	err = k.Stop()
//
// Nothing outside the directory is read or written: programs of MIT get it by
// their environment, and names are never looked up in the DNS.
package kdc
