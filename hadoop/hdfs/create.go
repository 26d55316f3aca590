package hdfs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
	"github.com/muster-project/muster/hadoop/rpc"
)

// Options are how a file is made. Zero values are those of the configuration.
type Options struct {
	Mode        fs.FileMode // permission bits, exactly; whatever the umask is
	Replication int
	BlockSize   int64 // made a multiple of 512, at least 1 MiB
}

// Bits of the create call.
const (
	flagCreate     = 1    // and never replace
	flagReplicated = 0x80 // also where files are erasure coded, which knows no flush; old NameNodes ignore it
)

// minBlock is the least block size that NameNodes take by default.
const minBlock = 1 << 20

// Create makes a new file in a directory that exists. Of many that create one
// path at once, exactly one wins; the others get fs.ErrExist.
//
// ctx bounds this call, not what is written later.
func (c *Client) Create(ctx context.Context, path string, o Options) (*Writer, error) {
	clean, err := check(ctx, path)
	if err != nil {
		return nil, err
	}
	w := &Writer{client: c, path: path, src: clean, holder: holder()}
	size := o.BlockSize
	if size == 0 {
		size = c.conf.Size("dfs.blocksize", 128<<20)
	}
	size = (max(size, minBlock) + chunk - 1) / chunk * chunk
	replication := o.Replication
	if replication == 0 {
		replication = int(c.conf.Int("dfs.replication", 3))
	}
	req := &hdfspb.CreateRequest{Src: &clean, Masked: permission(o.Mode), ClientName: &w.holder,
		CreateFlag: proto.Uint32(flagCreate | flagReplicated), CreateParent: proto.Bool(false),
		Replication: proto.Uint32(uint32(replication)), BlockSize: proto.Uint64(uint64(size))}
	var r hdfspb.FileStatusResponse
	err = c.call(ctx, "create", req, &r)
	if w.ours(err) {
		err = c.call(ctx, "getFileInfo", &hdfspb.SrcRequest{Src: &clean}, &r)
	}
	switch {
	case errors.Is(err, RecoveryInProgress):
		err = fmt.Errorf("%w and is being closed: %w", fs.ErrExist, err)
	case err == nil && r.Fs == nil:
		err = errors.New("it was removed at once")
	case err == nil && r.Fs.FileEncryptionInfo != nil:
		err = errors.New("the directory is an encryption zone, in which this client cannot write")
	}
	if err != nil {
		return nil, problem(path, "cannot create", err)
	}
	w.file, w.size = r.Fs.GetFileId(), int64(r.Fs.GetBlockSize())
	if w.size < chunk { // it is not said by very old NameNodes
		w.size = size
	}
	return w, problem(path, "cannot create", c.keep(w))
}

// ours says that a create that is told to have failed did succeed: its answer
// was lost, and the file is there in the name that only this call used. The
// message of a loser names both, the one who asks and the one who has the file.
func (w *Writer) ours(err error) bool {
	re, ok := errors.AsType[*rpc.RemoteError](err)
	return ok && rpc.Exception(re.Class) == AlreadyBeingCreated &&
		strings.Contains(re.Message, w.holder+" is already the current lease holder")
}

// holder makes a name for the lease of one file. One each, so that a writer that
// failed lets its file go although others of the same process live on.
func holder() string {
	return "muster-" + rand.Text()
}
