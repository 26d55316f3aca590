// Package wire is the link between executor and coordinator: messages of this
// package go in on one side and come out on the other, over one long-lived
// TLS 1.3 connection per executor with length-prefixed protobuf frames.
// Generated types stay inside.
package wire
