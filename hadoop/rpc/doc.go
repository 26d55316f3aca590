// Package rpc is a client of Hadoop RPC version 9 over protobuf: a method name
// and a request message go in, the answer or the server's exception comes out.
//
//	c := rpc.New(rpc.Config{Addresses: …, Protocol: …, Auth: …})
//	err := c.Call(ctx, "getClusterMetrics", req, resp)
//
// A Client keeps one connection for one protocol and one user; its calls share
// it, answers come in any order. It connects when first used, closes when idle,
// and connects again as needed. Call repeats a request whose answer was lost,
// with the same client and call id, by which a server that keeps a retry cache
// knows it again; it moves on to the next address when a server is away, on
// standby or asks for a retry. Once never repeats what a server may have done.
//
// Who calls is proven by nothing (SIMPLE: a user name), by a token (DIGEST-MD5)
// or by Kerberos (whatever implements the interface). A server decides whether
// what follows is signed or encrypted; the strongest it offers is taken, and an
// answer outside that protection is refused.
//
// Exceptions of the server are a *RemoteError; errors.Is compares it with an
// Exception, which is a Java class name.
package rpc
