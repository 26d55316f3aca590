// Package ipcpb holds the messages of the Hadoop RPC envelope (version 9), of
// its SASL exchange, and of security tokens: generated from ipc.proto, which is
// written from the wire format. Only field numbers and types travel, so the
// protobuf package has a name of its own and clashes with no other module that
// registers Hadoop's messages.
package ipcpb

//go:generate go -C ../../../tools run ./protogen -root ../hadoop/pb ipcpb/ipc.proto
