// Package hdfspb holds the records of four HDFS protocols: client and NameNode
// (ClientProtocol), client and DataNode over RPC (ClientDatanodeProtocol), which of
// two NameNodes is active (HAServiceProtocol), and the data transfer of DataNodes,
// which is no RPC. Its source is the wire: field
// numbers and types are Hadoop's (the same from 2.10 on, newer fields are simply
// absent from older clusters), names are ours where they read better, and the
// proto package never travels.
//
// Enums whose values start at 1 have a zero of our own, so that "not sent" is told
// from every real value; those of data transfer start at 0 on the wire. Unknown
// fields are kept: what a NameNode says of a DataNode goes back whole.
package hdfspb

//go:generate go -C ../../../tools run ./protogen -root ../hadoop/pb hdfspb/hdfs.proto hdfspb/data.proto hdfspb/acl.proto hdfspb/ha.proto
