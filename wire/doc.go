// Package wire is the link between executor and coordinator: messages of this
// package go in on one side and come out on the other, over one long-lived
// TLS 1.3 connection per executor with length-prefixed protobuf frames.
// Generated types stay inside.
//
//	executor                                     coordinator
//	Dial ──────── hello: all that it knows ────→ Server: Handler.Linked
//	     ←─────── welcome: term, beat, lease ───
//	Conn.Send ─── messages ────────────────────→ Handler.Received
//	     ←─────── directives ─────────────────── Link.Send
//	     ──────── beat ────────────────────────→ (Link.LastBeat, Link.Offset)
//	     ←─────── pong, by the server itself ───
//	DialLog ───── one log, a connection of its own → Server.OpenLog
//	ServeControl ←──── "term 4 is at address" ──── Nudge
//
// Both ends prove who they are with a certificate of the job's own Authority.
// Every message may come twice or late; the protocol has no answers that must
// be waited for, only state that is told again in the next hello.
package wire

//go:generate go -C ../tools run ./protogen ../wire/internal/pb/wire.proto
