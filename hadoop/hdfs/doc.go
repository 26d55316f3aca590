// Package hdfs is a client of HDFS: paths come in, and RPC calls to the NameNode
// and the block protocol of the DataNodes go out; there is no JVM. It is made for
// files that others read while they are written: what was flushed is acknowledged
// by every DataNode of the pipeline and seen by every reader that opens the file
// afterwards, and a file can be taken from a writer that is dead or only slow.
//
// Connections to DataNodes are protected as the configuration and the NameNode have
// it (dfs.data.transfer.protection, dfs.encrypt.data.transfer): a block token or an
// encryption key proves both ends. NameNodes that stand in for each other, one that
// is started again, and DataNodes that are, are waited for; what is not there then
// is told by ErrAway.
//
// What it does not do: repair a pipeline that lost a DataNode (the writer ends with
// an error, and what was not acknowledged is undecided), append to a closed file,
// erasure coded or encrypted files, snapshots, links, and tell DataNodes at which
// level to protect a connection where that depends on the NameNode's port
// (dfs.namenode.send.qop.enabled): there the strongest common one is taken.
//
// Protocols: org.apache.hadoop.hdfs.protocol.ClientProtocol 1, ClientDatanodeProtocol
// 1, data transfer version 28, unchanged from Hadoop 2.10 to 3.5.
//
// Errors begin with the path and are found by errors.Is as fs.ErrNotExist,
// fs.ErrExist, fs.ErrPermission, or as the Exceptions of this package.
package hdfs
