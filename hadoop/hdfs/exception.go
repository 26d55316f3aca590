package hdfs

import "github.com/muster-project/muster/hadoop/rpc"

// Exceptions of HDFS, for errors.Is.
const (
	FileNotFound       rpc.Exception = "java.io.FileNotFoundException"
	FileAlreadyExists  rpc.Exception = "org.apache.hadoop.fs.FileAlreadyExistsException"
	ParentNotDirectory rpc.Exception = "org.apache.hadoop.fs.ParentNotDirectoryException"
	PathIsNotDirectory rpc.Exception = "org.apache.hadoop.fs.PathIsNotDirectoryException"
	InvalidPath        rpc.Exception = "org.apache.hadoop.fs.InvalidPathException"
	UnresolvedPath     rpc.Exception = "org.apache.hadoop.fs.UnresolvedLinkException"
	// AlreadyBeingCreated: another client has the file open for writing.
	AlreadyBeingCreated rpc.Exception = "org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException"
	// RecoveryInProgress: the file is being taken from its writer.
	RecoveryInProgress rpc.Exception = "org.apache.hadoop.hdfs.protocol.RecoveryInProgressException"
	// LeaseExpired: the file is no longer ours to write; somebody took it, or removed it.
	LeaseExpired     rpc.Exception = "org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException"
	NotReplicatedYet rpc.Exception = "org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException"
	// SafeMode: the NameNode has just started, or an administrator froze it.
	SafeMode         rpc.Exception = "org.apache.hadoop.hdfs.server.namenode.SafeModeException"
	NSQuotaExceeded  rpc.Exception = "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException"
	DSQuotaExceeded  rpc.Exception = "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException"
	TypeQuota        rpc.Exception = "org.apache.hadoop.hdfs.protocol.QuotaByStorageTypeExceededException"
	TokenExpired     rpc.Exception = rpc.InvalidToken
	ReplicaNotFound  rpc.Exception = "org.apache.hadoop.hdfs.server.datanode.ReplicaNotFoundException"
	UnknownCrypto    rpc.Exception = "org.apache.hadoop.hdfs.UnknownCryptoProtocolVersionException"
	SnapshotInTheWay rpc.Exception = "org.apache.hadoop.hdfs.protocol.SnapshotException"
)
