package hdfs

import (
	"io/fs"
	"path"
	"time"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
)

// FileInfo is what the NameNode knows of a file or directory.
//
// The size of a file that is being written leaves out its open block; a Reader
// sees all of it.
type FileInfo struct {
	name   string
	status *hdfspb.FileStatus
}

var _ fs.FileInfo = FileInfo{}

// Name is the last element of the path.
func (i FileInfo) Name() string { return i.name }

// Size is in bytes.
func (i FileInfo) Size() int64 { return int64(i.status.GetLength()) }

// ModTime has milliseconds.
func (i FileInfo) ModTime() time.Time { return time.UnixMilli(int64(i.status.GetModificationTime())) }

// IsDir says that it is a directory.
func (i FileInfo) IsDir() bool { return i.status.GetFileType() == hdfspb.FileType_DIRECTORY }

// Sys gives the record of the protocol, a *hdfspb.FileStatus.
func (i FileInfo) Sys() any { return i.status }

// Owner is a user's short name.
func (i FileInfo) Owner() string { return i.status.GetOwner() }

// Group is the owning group.
func (i FileInfo) Group() string { return i.status.GetGroup() }

// BlockSize is in bytes; 0 for a directory.
func (i FileInfo) BlockSize() int64 { return int64(i.status.GetBlockSize()) }

// Replication is how many replicas each block shall have.
func (i FileInfo) Replication() int { return int(i.status.GetReplication()) }

// Mode has the type, the permission and the sticky bit.
func (i FileInfo) Mode() fs.FileMode {
	p := i.status.GetPermission().GetPerm()
	m := fs.FileMode(p & 0o777)
	if p&sticky != 0 {
		m |= fs.ModeSticky
	}
	switch i.status.GetFileType() {
	case hdfspb.FileType_DIRECTORY:
		m |= fs.ModeDir
	case hdfspb.FileType_SYMLINK:
		m |= fs.ModeSymlink
	}
	return m
}

const sticky = 0o1000

func permission(m fs.FileMode) *hdfspb.FsPermission {
	p := uint32(m.Perm())
	if m&fs.ModeSticky != 0 {
		p |= sticky
	}
	return &hdfspb.FsPermission{Perm: &p}
}

func info(name string, s *hdfspb.FileStatus) FileInfo {
	return FileInfo{name: path.Base(name), status: s}
}
