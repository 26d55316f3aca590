// Package yarnpb holds the records of YARN's three protocols: client and
// ResourceManager, application master and scheduler, application master and
// NodeManager. Its source is the wire: field numbers and types are Hadoop's
// (the same from 2.10 on, newer ones are simply absent from older clusters),
// names are ours where they read better, and the proto package never travels.
//
// Enums have a zero value of our own where Hadoop's start at 1, so that "not
// sent" and "a value newer than this file" are told apart from every real one.
// Unknown fields are kept.
package yarnpb

//go:generate go -C ../../../tools run ./protogen -root ../hadoop/pb yarnpb/yarn.proto
